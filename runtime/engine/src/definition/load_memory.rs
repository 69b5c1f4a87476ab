//! The `[memory]` of a checked tree.

use roster_model::message::Role;

use super::agent::{MemoryConfig, RecallConfig, Scope, WindowConfig, WorkingConfig, WorkingForm};
use super::table::Checker;
use super::view::View;

/// What a working memory begins as when the definition gives neither a template nor a schema.
pub const DEFAULT_TEMPLATE: &str = "# About the person\n- Name:\n- Language:\n- Place and time zone:\n- Work:\n- Preferences:\n- Plans and dates:\n- Open questions:\n";

/// The memory a definition asks for, if any.
pub(super) fn memory_of(root: View<'_, '_>) -> Option<MemoryConfig> {
    let Some(table) = root.table("memory") else {
        return Some(MemoryConfig::new(root.text("memory")?));
    };
    let last_messages = match table.flag("last_messages") {
        Some(_) => 0,
        None => table.count("last_messages").unwrap_or(WindowConfig::default().last_messages),
    };
    Some(MemoryConfig {
        config: table.table("config").map(|config| config.json(&[])).unwrap_or_default(),
        window: WindowConfig { last_messages, max_tokens: table.count("max_tokens") },
        recall: table.table("semantic_recall").map(recall_of),
        working: table.table("working_memory").map(working_of),
        generate_title: table.flag("generate_title").unwrap_or(false),
        ..MemoryConfig::new(table.text("factory")?)
    })
}

fn recall_of(table: View<'_, '_>) -> RecallConfig {
    let left_out = RecallConfig::default();
    let number = |table: View<'_, '_>, key| table.count(key).map(|n| n as usize);
    let both = number(table, "message_range");
    let range = |key, left_out| {
        let side = table.table("message_range").and_then(|range| number(range, key));
        side.or(both).unwrap_or(left_out)
    };
    RecallConfig {
        top_k: number(table, "top_k").unwrap_or(left_out.top_k),
        before: range("before", left_out.before),
        after: range("after", left_out.after),
        scope: scope_of(table),
        threshold: table.number("threshold").map_or(left_out.threshold, single),
        embedder: table.text("embedder").map(str::to_owned),
        roles: table.texts("roles").into_iter().filter_map(|(role, _)| Role::parse(role)).collect(),
        max_age: table.duration("max_age"),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a cosine between -1 and 1; vectors have single precision")]
fn single(number: f64) -> f32 {
    number as f32
}

fn working_of(table: View<'_, '_>) -> WorkingConfig {
    let form = match table.table("schema") {
        Some(schema) => WorkingForm::Schema(schema.json(&[])),
        None => WorkingForm::Template(table.text("template").unwrap_or(DEFAULT_TEMPLATE).to_owned()),
    };
    WorkingConfig { scope: scope_of(table), form, read_only: table.flag("read_only").unwrap_or(false) }
}

fn scope_of(table: View<'_, '_>) -> Scope {
    match table.text("scope") {
        Some("thread") => Scope::Thread,
        _ => Scope::Resource,
    }
}

/// What the shape of the keys cannot say: one form only.
pub(super) fn check_working_memory(root: View<'_, '_>, checker: &mut Checker<'_>) {
    let Some(table) = root.table("memory").and_then(|memory| memory.table("working_memory")) else { return };
    if let (Some(span), Some(_)) = (table.key_span("schema"), table.node("template")) {
        let message = "`memory.working_memory` has both `template` and `schema`";
        checker.error("conflict", span, message).help = Some("keep one of the two".to_owned());
    }
}

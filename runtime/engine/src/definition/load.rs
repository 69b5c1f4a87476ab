//! From a file's bytes to a checked definition.

use std::sync::Arc;

use indexmap::IndexMap;
use roster_model::id::{AgentId, ResourceId};
use roster_model::provider::{ModelSettings, ToolChoice};
use serde_json::Value;
use toml::de::DeValue;

use super::agent::{Definition, ModelChoice, ModelTable, OnDisconnect, OnProcessorError, ToolSettings, fingerprint_of};
use super::keys::{AGENT, TOOL_SETTINGS};
use super::load_memory::{check_working_memory, memory_of};
use super::orchestration::{check_orchestration, orchestration_of, stage_agents};
use super::positions::{Positions, SettingsPositions};
use super::problem::{Problem, keep_first};
use super::suggest::suggest;
use super::syntax;
use super::table::Checker;
use super::text::decode;
use super::view::View;

/// What became of one agent's file.
#[derive(Debug)]
pub struct Loaded {
    /// The definition; `None` when an error stands among the problems.
    pub definition: Option<Definition>,
    /// Where its names stand.
    pub positions: Positions,
    /// Everything that is wrong with the file, in its order.
    pub problems: Vec<Problem>,
}

/// Hands over the file that `instructions_file` names.
pub trait Instructions {
    /// The bytes of the file at `path`, a path below `agents/` that does not leave it by its letters.
    ///
    /// # Errors
    /// [`Unreadable`] says why not.
    fn read(&self, path: &str) -> Result<Vec<u8>, Unreadable>;
}

impl<F: Fn(&str) -> Result<Vec<u8>, Unreadable>> Instructions for F {
    fn read(&self, path: &str) -> Result<Vec<u8>, Unreadable> {
        self(path)
    }
}

/// Why a file could not be handed over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not there.
    #[error("does not exist")]
    Missing,
    /// A link leads out of `agents/`.
    #[error("leads out of the agents' folder through a link")]
    Outside,
    /// It is larger than a file may be.
    #[error("is larger than 4 MiB")]
    TooLarge,
    /// Something else, in the system's words.
    #[error("cannot be read: {0}")]
    Other(String),
}

/// Loads one agent's file: every problem of it in one pass. `file` is its path relative to the root.
#[must_use]
pub fn load_agent(file: &str, bytes: &[u8], instructions: &dyn Instructions) -> Loaded {
    let text = match decode(file, bytes) {
        Ok(text) => text,
        Err(problem) => {
            let positions = Positions { file: Arc::from(file), ..Positions::default() };
            return Loaded { definition: None, positions, problems: vec![*problem] };
        }
    };
    let mut parsed = syntax::parse(file, &text);
    let mut checker = Checker::new(file, &text, &AGENT, &mut parsed);
    checker.check(&parsed.root);
    let root = View(parsed.root.get_ref());
    let mut positions = positions(file, &text, root);
    let words = instructions_of(root, &mut checker, instructions, parsed.incomplete);
    unused_settings(root, &mut checker);
    check_working_memory(root, &mut checker);
    check_orchestration(root, &mut checker);
    let definition = if checker.is_clean() { words.and_then(|words| whole(root, file, &text, words)) } else { None };
    if definition.is_none() && !parsed.incomplete {
        positions.broken = broken(root, file, &text).map(Arc::new);
    }
    let mut problems = checker.problems;
    problems.sort_by_key(|problem| (problem.line, problem.column));
    keep_first(&mut problems, file);
    if let Some((id, _)) = &positions.id {
        for problem in &mut problems {
            problem.agent = Some(id.clone());
        }
    }
    Loaded { definition, positions, problems }
}

/// The system text, and the text of the file it came from.
struct Words {
    text: String,
    file: Option<String>,
}

fn instructions_of(
    root: View<'_, '_>,
    checker: &mut Checker<'_>,
    instructions: &dyn Instructions,
    incomplete: bool,
) -> Option<Words> {
    match (root.node("instructions"), root.node("instructions_file")) {
        (Some(_), Some(second)) => {
            let problem = checker.error("conflict", second.span(), "`instructions` and `instructions_file` stand both");
            problem.help = Some("keep one of the two".to_owned());
            None
        }
        (Some(node), None) => {
            let text = node.get_ref().as_str()?;
            if text.trim().is_empty() {
                let problem = checker.warning("empty", node.span(), "`instructions` is empty");
                problem.help = Some("say in a sentence what the agent is to do".to_owned());
            }
            Some(Words { text: text.to_owned(), file: None })
        }
        (None, Some(node)) => instructions_file(node, checker, instructions),
        (None, None) => {
            if !incomplete {
                let problem = checker.error("missing_key", 0..0, "`instructions` is missing");
                problem.help = Some(
                    "add instructions = \"…\": what the agent is to do; or instructions_file = \"….md\"".to_owned(),
                );
            }
            None
        }
    }
}

fn instructions_file(
    node: &super::table::Node<'_>,
    checker: &mut Checker<'_>,
    instructions: &dyn Instructions,
) -> Option<Words> {
    let path = node.get_ref().as_str()?;
    if (super::keys::FILE_BELOW.check)(path).is_err() {
        return None;
    }
    let bytes = match instructions.read(path) {
        Ok(bytes) => bytes,
        Err(reason) => {
            let code = if reason == Unreadable::Missing { "file_missing" } else { "file_unreadable" };
            let problem = checker.error(code, node.span(), format!("`{path}` {reason}"));
            problem.help = Some("the path is taken from agents/".to_owned());
            return None;
        }
    };
    match decode(&format!("agents/{path}"), &bytes) {
        // Never meant: most often an editor that has truncated the file and not written it yet.
        Ok(text) if text.trim().is_empty() => {
            let problem = checker.error("empty", node.span(), format!("`{path}` is empty"));
            problem.help = Some("write there what the agent is to do".to_owned());
            None
        }
        Ok(text) => Some(Words { text: text.clone(), file: Some(text) }),
        Err(problem) => {
            checker.problems.push(*problem);
            None
        }
    }
}

/// Settings of a tool that the agent does not have.
fn unused_settings(root: View<'_, '_>, checker: &mut Checker<'_>) {
    let Some(settings) = root.table("tool_settings") else { return };
    let tools: Vec<&str> = root.texts("tools").into_iter().map(|(name, _)| name).collect();
    for (name, span, _) in settings.entries() {
        let granted = tools.iter().any(|tool| match tool.strip_suffix("/*") {
            Some(server) => name.strip_prefix(server).is_some_and(|rest| rest.starts_with('/')) || *tool == name,
            None => *tool == name,
        });
        if !granted {
            let help = match suggest(name, tools.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "write the name as it stands in `tools`".to_owned(),
            };
            let message = format!("settings for `{name}`, which is not among `tools`");
            checker.warning("unused_settings", span, message).help = Some(help);
        }
    }
}

fn positions(file: &str, text: &str, root: View<'_, '_>) -> Positions {
    let model = match root.node("model").map(|node| (node.get_ref(), node.span())) {
        Some((DeValue::Array(_), _)) => root.texts("model").into_iter().map(|(_, span)| span).collect(),
        Some((_, span)) => vec![span],
        None => Vec::new(),
    };
    let memory_factory = match root.table("memory") {
        Some(memory) => memory.span("factory"),
        None => root.span("memory"),
    };
    let recall = root.table("memory").and_then(|memory| memory.table("semantic_recall"));
    let working = root.table("memory").and_then(|memory| memory.table("working_memory"));
    let spans = |key| root.texts(key).into_iter().map(|(_, span)| span).collect();
    Positions {
        file: Arc::from(file),
        source: Arc::from(text),
        id: root.text("id").map(str::to_owned).zip(root.span("id")),
        model,
        memory_factory,
        embedder: recall.and_then(|recall| recall.span("embedder")),
        working_schema: working.and_then(|working| working.span("schema")),
        output_schema: root.key_span("output_schema"),
        tools: spans("tools"),
        agents: legal_agents(root).map(|(_, span)| span).collect(),
        stages: stage_agents(root),
        processors: spans("processors"),
        tool_settings: root.table("tool_settings").map(settings_positions).unwrap_or_default(),
        broken: None,
    }
}

/// The agents it names; an id that is none is a problem of the file.
fn legal_agents<'m>(root: View<'m, '_>) -> impl Iterator<Item = (AgentId, std::ops::Range<usize>)> + 'm {
    root.texts("agents").into_iter().filter_map(|(name, span)| Some((AgentId::new(name).ok()?, span)))
}

fn settings_positions(settings: View<'_, '_>) -> Vec<SettingsPositions> {
    let of_one = |(name, span, node): (&str, _, &super::table::Node<'_>)| SettingsPositions {
        name: name.to_owned(),
        span,
        keys: node.get_ref().as_table().map(keys_of).unwrap_or_default(),
    };
    settings.entries().map(of_one).collect()
}

fn keys_of(table: &toml::de::DeTable<'_>) -> Vec<(String, std::ops::Range<usize>)> {
    View(table).entries().map(|(key, _, value)| (key.to_owned(), value.span())).collect()
}

/// Only of a tree without errors; `None` would be a hole in the checker, never a person's mistake.
fn whole(root: View<'_, '_>, file: &str, text: &str, words: Words) -> Option<Definition> {
    let id = AgentId::new(root.text("id")?).ok()?;
    let resource = ResourceId::new(root.text("resource").unwrap_or(DEFAULT_RESOURCE)).ok()?;
    Some(build(root, id, resource, model_of(root)?, file, text, words))
}

/// Of a tree with errors; what was refused is left out. Only its names mean anything.
fn broken(root: View<'_, '_>, file: &str, text: &str) -> Option<Definition> {
    let id = root.text("id").and_then(|id| AgentId::new(id).ok());
    let id = id.map_or_else(|| AgentId::new("nameless"), Ok).ok()?;
    let resource = ResourceId::new(DEFAULT_RESOURCE).ok()?;
    let words = Words { text: String::new(), file: None };
    Some(build(root, id, resource, model_of(root).unwrap_or_default(), file, text, words))
}

fn build(
    root: View<'_, '_>,
    id: AgentId,
    resource: ResourceId,
    model: Vec<ModelChoice>,
    file: &str,
    text: &str,
    words: Words,
) -> Definition {
    Definition {
        name: root.text("name").map_or_else(|| id.to_string(), str::to_owned),
        description: root.text("description").unwrap_or_default().to_owned(),
        model,
        model_settings: root.table("model_settings").map(settings_of).unwrap_or_default(),
        memory: memory_of(root),
        resource,
        tools: root.texts("tools").into_iter().map(|(name, _)| name.to_owned()).collect(),
        tool_settings: root.table("tool_settings").map(tool_settings_of).unwrap_or_default(),
        agents: legal_agents(root).map(|(id, _)| id).collect(),
        orchestration: orchestration_of(root),
        processors: root.texts("processors").into_iter().map(|(name, _)| name.to_owned()).collect(),
        on_processor_error: match root.text("on_processor_error") {
            Some("pass") => OnProcessorError::Pass,
            _ => OnProcessorError::Fail,
        },
        output_schema: root.table("output_schema").map(|schema| Value::Object(schema.json(&[]))),
        max_steps: root.count("max_steps").unwrap_or(5),
        enabled: root.flag("enabled").unwrap_or(true),
        on_disconnect: match root.text("on_disconnect") {
            Some("finish") => OnDisconnect::Finish,
            _ => OnDisconnect::Cancel,
        },
        fingerprint: fingerprint_of(text, words.file.as_deref()),
        instructions: words.text,
        file: file.to_owned(),
        id,
    }
}

/// The owner of threads that nobody owns.
pub const DEFAULT_RESOURCE: &str = "ai-chat";

fn model_of(root: View<'_, '_>) -> Option<Vec<ModelChoice>> {
    let named = |name: &str| ModelChoice::Named(name.to_owned());
    Some(match root.node("model").map(toml::Spanned::get_ref) {
        None => vec![named("default")],
        Some(DeValue::Array(_)) => root.texts("model").into_iter().map(|(name, _)| named(name)).collect(),
        Some(DeValue::Table(table)) => {
            let table = View(table);
            vec![ModelChoice::Table(ModelTable {
                id: table.text("id")?.to_owned(),
                base_url: table.text("base_url")?.to_owned(),
                api_key_env: table.text("api_key_env").map(str::to_owned),
                dialect: table.text("dialect").unwrap_or("openai").to_owned(),
            })]
        }
        Some(value) => vec![named(value.as_str()?)],
    })
}

fn settings_of(table: View<'_, '_>) -> ModelSettings {
    ModelSettings {
        temperature: table.number("temperature"),
        top_p: table.number("top_p"),
        top_k: table.count("top_k"),
        max_output_tokens: table.count("max_output_tokens"),
        stop: table.texts("stop").into_iter().map(|(text, _)| text.to_owned()).collect(),
        seed: table.integer("seed"),
        presence_penalty: table.number("presence_penalty"),
        frequency_penalty: table.number("frequency_penalty"),
        reasoning_effort: table.text("reasoning_effort").map(str::to_owned),
        tool_choice: table.text("tool_choice").map(|choice| match choice {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            "required" => ToolChoice::Required,
            name => ToolChoice::Named(name.to_owned()),
        }),
        max_retries: table.count("max_retries"),
        timeout: table.duration("timeout"),
        provider_options: table.table("provider_options").map(|options| options.json(&[])).unwrap_or_default(),
    }
}

fn tool_settings_of(settings: View<'_, '_>) -> IndexMap<String, ToolSettings> {
    let ours: Vec<&str> = TOOL_SETTINGS.keys.iter().map(|key| key.name).collect();
    let of_one = |table: View<'_, '_>| ToolSettings {
        timeout: table.duration("timeout"),
        concurrency: table.count("concurrency"),
        approval: table.text("approval") == Some("always"),
        own: table.json(&ours),
    };
    let entries = settings.entries();
    entries.filter_map(|(name, _, node)| Some((name.to_owned(), of_one(View(node.get_ref().as_table()?))))).collect()
}

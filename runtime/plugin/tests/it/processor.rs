//! Processors of plugins, in both modes.

use std::sync::Arc;

use roster_model::id::{AgentId, ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::message::{Part, Role, ToolResult};
use roster_model::processor::{Hooks, Piece, Processor, ProcessorContext, ProcessorError, Stage};
use roster_plugin::bridge::processor::processor;
use roster_plugin::settings::Isolation;
use serde_json::{Value, json};

use crate::shipped::built;
use crate::world::World;

pub(crate) fn context() -> ProcessorContext {
    let key = ThreadKey { resource: ResourceId::new("user:a").unwrap(), thread: ThreadId::new("t").unwrap() };
    ProcessorContext { agent: AgentId::new("clerk").unwrap(), turn: TurnId::new("turn").unwrap(), key }
}

fn of(library: &str, isolation: Isolation, id: &str) -> (World, Arc<dyn Processor>) {
    let world = built(library, isolation);
    let processor = processor(&world.plugin(), id);
    (world, processor)
}

/// What a stream's client reads of these pieces.
async fn streamed(processor: &dyn Processor, pieces: &[&str]) -> String {
    let (mut state, mut out) = (Value::Null, String::new());
    for (text, last) in pieces.iter().map(|text| (*text, false)).chain([("", true)]) {
        let piece = Piece { text: text.to_owned(), state, last };
        let passed = processor.piece(piece, context()).await.expect("passes");
        out.push_str(&passed.text);
        state = passed.state;
    }
    out
}

async fn masks_what_is_private(isolation: Isolation) {
    let (_world, guard) = of("pii_guard", isolation, "mask");
    assert_eq!(guard.hooks(), Hooks { input: true, chunk: true, output: true });
    let result = ToolResult {
        call_id: "c".into(),
        name: "mail".into(),
        output: json!({ "from": "ann@mail.com" }),
        is_error: false,
        duration_ms: 3,
    };
    let rows = vec![
        (Role::User, vec![Part::text("我的手机号是13800138000")]),
        (Role::Assistant, vec![Part::ToolResult(result.clone()), Part::text("4111 1111 1111 1111")]),
    ];
    let given = guard.messages(Stage::Input, rows, context()).await.expect("passes");
    let masked = ToolResult { output: json!({ "from": "[email]" }), ..result };
    let expected = [
        (Role::User, vec![Part::text("我的手机号是[phone]")]),
        (Role::Assistant, vec![Part::ToolResult(masked), Part::text("[card]")]),
    ];
    assert_eq!(given, expected);
    assert_eq!(streamed(guard.as_ref(), &["to ann@", "mail.c", "om, now"]).await, "to [email], now");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guard_masks_in_process() {
    masks_what_is_private(Isolation::InProcess).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guard_masks_in_a_process_of_its_own() {
    masks_what_is_private(Isolation::Process).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_blocked_with_the_plugins_reason() {
    let (_world, mask) = of("kinds", Isolation::InProcess, "mask");
    let rows = vec![(Role::User, vec![Part::text("a forbidden word")])];
    let blocked = mask.messages(Stage::Input, rows, context()).await.expect_err("blocked");
    assert_eq!(blocked, ProcessorError::Blocked("that word is forbidden".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_processor_that_is_not_there_asks_for_everything_and_fails() {
    let (_world, nobody) = of("kinds", Isolation::InProcess, "nobody");
    assert_eq!(nobody.hooks(), Hooks { input: true, chunk: true, output: true });
    let rows = vec![(Role::User, vec![Part::text("hello")])];
    assert!(matches!(nobody.messages(Stage::Input, rows, context()).await, Err(ProcessorError::Failed(_))));
}

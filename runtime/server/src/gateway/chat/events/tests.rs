//! Frames of single events.

use roster_model::message::ToolResult;
use serde_json::json;

use super::*;

fn events() -> ChatEvents {
    let id = |text: &str| (MessageId::new(text).expect("legal"), TurnId::new(text).expect("legal"));
    let (message, turn) = id("m");
    ChatEvents {
        conversation: ThreadId::new("c\"1").expect("legal"),
        message,
        turn,
        said: false,
        tools: ClientTools::default(),
    }
}

fn check(event: TurnEvent, expected: &str) {
    let mut out = Frames::default();
    events().event(event, &mut out);
    assert_eq!(out.text(), expected);
}

fn result(is_error: bool) -> TurnEvent {
    let output = if is_error { json!("no such city") } else { json!({"b": 1, "a": null}) };
    TurnEvent::ToolFinished(ToolResult { call_id: "1".into(), name: "f".into(), output, is_error, duration_ms: 12 })
}

/// The last frame, where no answer is stored.
const DONE: &str =
    "data: {\"type\":\"done\",\"content\":\"\",\"metadata\":{\"conversationId\":\"c\\\"1\",\"turnId\":\"m\",";

#[test]
fn frames_byte_for_byte() {
    check(
        TurnEvent::Text("a\n\"b\"\r\u{2028}".into()),
        "data: {\"type\":\"text\",\"content\":\"a\\n\\\"b\\\"\\r\u{2028}\"}\n\n",
    );
    check(TurnEvent::Reasoning("hm".into()), "data: {\"type\":\"thinking\",\"content\":\"hm\"}\n\n");
    let arguments = json!({"z": 1, "a": [2]}).as_object().expect("object").clone();
    check(
        TurnEvent::ToolCalled { id: "1".into(), name: "f".into(), arguments, approval: false },
        "data: {\"type\":\"tool_call\",\"content\":\"\",\"metadata\":{\"id\":\"1\",\"name\":\"f\",\"arguments\":{\"z\":1,\"a\":[2]}}}\n\n",
    );
    check(
        result(false),
        "data: {\"type\":\"tool_result\",\"content\":\"\",\"metadata\":{\"id\":\"1\",\"name\":\"f\",\"result\":{\"b\":1,\"a\":null},\"duration\":12}}\n\n",
    );
    check(
        result(true),
        "data: {\"type\":\"tool_result\",\"content\":\"\",\"metadata\":{\"id\":\"1\",\"name\":\"f\",\"error\":\"no such city\",\"duration\":12}}\n\n",
    );
    check(TurnEvent::ToolStarted { id: "1".into(), name: "f".into() }, "");
    let finished = TurnEvent::Finished { reason: FinishReason::ToolCalls, usage: Usage::default() };
    check(finished, &format!("{DONE}\"finishReason\":\"tool-calls\",\"usage\":{{}}}}}}\n\n"));
}

#[test]
fn a_turn_without_a_last_event_is_told_as_failed_and_done() {
    let mut out = Frames::default();
    events().broken_off(&mut out);
    let error =
        "data: {\"type\":\"error\",\"content\":\"the turn broke off\",\"metadata\":{\"code\":\"internal\"}}\n\n";
    assert_eq!(out.text(), format!("{error}{DONE}\"finishReason\":\"error\",\"usage\":{{}}}}}}\n\n"));
}

/// M6: `messageId` names a stored row or is not there.
#[test]
fn done_names_only_a_row_that_is_stored() {
    let done = |events: &mut ChatEvents, event| {
        let mut out = Frames::default();
        events.event(event, &mut out);
        let text = out.text();
        let last = text.trim_end().rsplit("data: ").next().expect("a frame").to_owned();
        let done: Value = serde_json::from_str(&last).expect("JSON");
        done["metadata"].get("messageId").cloned()
    };
    let finished = || TurnEvent::Finished { reason: FinishReason::Stop, usage: Usage::default() };
    let mut told = events();
    told.event(TurnEvent::Text("x".into()), &mut Frames::default());
    assert_eq!(done(&mut told, finished()), Some(json!("m")));
    assert_eq!(done(&mut events(), finished()), None, "an empty answer is not stored");
    assert_eq!(done(&mut told, TurnEvent::Failed(Failure::cancelled())), None);
    let mut stored = Failure::cancelled();
    stored.row = Some(MessageId::new("row").expect("legal"));
    assert_eq!(done(&mut told, TurnEvent::Failed(stored)), Some(json!("row")));
}

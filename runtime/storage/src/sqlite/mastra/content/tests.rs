use roster_model::message::{FileData, Part, Role, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

use super::{Content, read};

fn content(value: &Value) -> Content {
    read(&value.to_string(), Role::Assistant, true).expect("legal")
}

fn parts(parts: &Value) -> Vec<Part> {
    let content = content(&json!({"format": 2, "parts": parts}));
    assert!(!content.unread, "{content:?}");
    content.parts
}

fn call(id: &str, name: &str, arguments: Value) -> Part {
    let Value::Object(arguments) = arguments else { panic!("no object") };
    Part::ToolCall(ToolCall { id: id.into(), name: name.into(), arguments, malformed: None })
}

fn result(id: &str, name: &str, output: Value, is_error: bool) -> Part {
    Part::ToolResult(ToolResult { call_id: id.into(), name: name.into(), output, is_error, duration_ms: 0 })
}

#[test]
fn every_known_part_is_read() {
    assert_eq!(
        parts(&json!([
            {"type": "step-start", "createdAt": 1, "model": "fake/fake-model"},
            {"type": "reasoning", "reasoning": "hm", "details": [{"type": "text", "text": "hm"}]},
            {"type": "reasoning", "reasoning": "", "details": [{"type": "text", "text": "in pieces"}]},
            {"type": "reasoning", "reasoning": "", "details": []},
            {"type": "tool-invocation", "toolInvocation": {"state": "result", "toolCallId": "c1", "toolName": "weather",
                "args": {"city": "Oslo"}, "result": {"degrees": 3}}, "createdAt": 1},
            {"type": "tool-invocation", "toolInvocation": {"state": "call", "toolCallId": "c2", "toolName": "danger", "args": {}}},
            {"type": "tool-invocation", "toolInvocation": {"state": "partial-call", "toolCallId": "c3", "toolName": "danger"}},
            {"type": "tool-invocation", "toolInvocation": {"state": "result", "toolCallId": "c4", "toolName": "danger",
                "args": {}, "result": {"error": true, "message": "no such path"}}},
            {"type": "text", "text": "done", "createdAt": 1},
            {"type": "file", "data": "aGk=", "mimeType": "text/plain"},
            {"type": "file", "data": "https://example.com/a.png", "mimeType": "image/png", "filename": "a.png"},
            {"type": "error", "error": {"name": "APICallError", "message": "overloaded"}},
        ])),
        [
            Part::Reasoning { text: "hm".into(), opaque: None },
            Part::Reasoning { text: "in pieces".into(), opaque: None },
            call("c1", "weather", json!({"city": "Oslo"})),
            result("c1", "weather", json!({"degrees": 3}), false),
            call("c2", "danger", json!({})),
            call("c3", "danger", json!({})),
            call("c4", "danger", json!({})),
            result("c4", "danger", json!("no such path"), true),
            Part::text("done"),
            Part::File { media_type: "text/plain".into(), data: FileData::Base64("aGk=".into()), name: None },
            Part::File {
                media_type: "image/png".into(),
                data: FileData::Url("https://example.com/a.png".into()),
                name: Some("a.png".into()),
            },
            Part::Error { code: "APICallError".into(), message: "overloaded".into() },
        ]
    );
}

#[test]
fn parts_of_the_form_to_come_are_read() {
    assert_eq!(
        parts(&json!([
            {"type": "tool-weather", "toolCallId": "c1", "state": "output-available", "input": {"city": "Oslo"}, "output": 3},
            {"type": "dynamic-tool", "toolName": "t", "toolCallId": "c2", "state": "output-error", "input": "{\"a\":", "errorText": "no"},
            {"type": "file", "url": "data:text/plain;base64,aGk=", "mediaType": "text/plain"},
        ])),
        [
            call("c1", "weather", json!({"city": "Oslo"})),
            result("c1", "weather", json!(3), false),
            Part::ToolCall(ToolCall {
                id: "c2".into(),
                name: "t".into(),
                arguments: Map::new(),
                malformed: Some("{\"a\":".into()),
            }),
            result("c2", "t", json!("no"), true),
            Part::File {
                media_type: "text/plain".into(),
                data: FileData::Url("data:text/plain;base64,aGk=".into()),
                name: None,
            },
        ]
    );
}

#[test]
fn what_is_not_known_stays_in_the_metadata() {
    let source = json!({"type": "source", "source": {"url": "https://example.com"}});
    let content = content(&json!({
        "format": 2,
        "parts": [source, {"type": "text", "text": "see"}, {"type": "text"}, {"type": "tool-invocation", "toolInvocation": {}}],
        "content": "see",
        "annotations": [{"rating": 5}],
        "experimental_attachments": [],
        "metadata": {"modelId": "fake-model"},
    }));
    assert_eq!(content.parts, [Part::text("see")]);
    assert!(content.unread);
    assert_eq!(
        Value::Object(content.metadata),
        json!({
            "modelId": "fake-model",
            "unreadContent": {"annotations": [{"rating": 5}]},
            "unreadParts": [source, {"type": "text"}, {"type": "tool-invocation", "toolInvocation": {}}],
        })
    );
}

#[test]
fn older_fields_stand_in_for_missing_parts() {
    let content = content(&json!({
        "format": 2,
        "parts": [],
        "content": "Oslo has 3 degrees",
        "toolInvocations": [{"state": "result", "toolCallId": "c1", "toolName": "weather", "args": {}, "result": 3}],
        "experimental_attachments": [{"url": "https://example.com/a.png", "contentType": "image/png", "name": "a.png"}],
    }));
    assert!(!content.unread, "{content:?}");
    assert_eq!(content.parts.len(), 4, "{content:?}");
    assert_eq!(content.parts[2], Part::text("Oslo has 3 degrees"));
    // They repeat the parts where there are any.
    let both = json!({
        "format": 2,
        "parts": [{"type": "tool-invocation", "toolInvocation": {"state": "call", "toolCallId": "c1", "toolName": "t", "args": {}}},
                  {"type": "text", "text": "x"}],
        "content": "x",
        "toolInvocations": [{"state": "call", "toolCallId": "c1", "toolName": "t", "args": {}}],
    });
    assert_eq!(super::read(&both.to_string(), Role::Assistant, true).expect("legal").parts.len(), 2);
}

#[test]
fn only_an_assistant_holds_calls() {
    let text = json!({"format": 2, "parts": [{"type": "tool-invocation",
        "toolInvocation": {"state": "call", "toolCallId": "c1", "toolName": "t", "args": {}}}]});
    let content = read(&text.to_string(), Role::User, true).expect("legal");
    assert!(content.parts.is_empty() && content.unread, "{content:?}");
}

#[test]
fn the_oldest_form_is_a_text_or_a_list() {
    let old = |text: &str| read(text, Role::Assistant, false).expect("legal").parts;
    assert_eq!(old("hello {"), [Part::text("hello {")]);
    assert_eq!(old("[1, 2]"), [Part::text("[1, 2]")]);
    assert_eq!(old("{\"a\":1}"), [Part::text("{\"a\":1}")]);
    assert_eq!(
        old(r#"[{"type":"text","text":"a"},{"type":"tool-call","toolCallId":"c","toolName":"t","args":{"x":1}}]"#),
        [Part::text("a"), call("c", "t", json!({"x": 1}))]
    );
    assert_eq!(
        old(r#"[{"type":"tool-result","toolCallId":"c","toolName":"t","result":7,"isError":true}]"#),
        [result("c", "t", json!(7), true)]
    );
}

#[test]
fn damaged_content_says_why() {
    for (text, why) in [
        ("{\"format\":2,\"parts\":[", "no JSON"),
        ("7", "no object with `parts`"),
        ("{\"format\":9,\"parts\":[]}", "format 9"),
        ("{\"format\":2,\"parts\":\"x\"}", "no list"),
    ] {
        let damage = read(text, Role::Assistant, true).expect_err(text);
        assert!(damage.contains(why), "{text}: {damage}");
    }
}

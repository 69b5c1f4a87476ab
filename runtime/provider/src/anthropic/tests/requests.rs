//! Request bodies, field for field and in order.

use std::sync::Arc;

use roster_model::message::{FileData, ToolCall};
use roster_model::provider::{Completion, ModelSettings, PromptMessage, ProviderErrorKind, ToolChoice, UserPart};
use serde_json::{Value, json};

use crate::anthropic::request::encode;
use crate::tests::{call, completion, hello, object, result, user, with_tools};

fn body(completion: &Completion) -> Value {
    serde_json::from_slice(&encode(completion, true).expect("encoded")).expect("json")
}

/// Compares also the order of fields, which a tree's equality ignores.
fn check(completion: &Completion, golden: &str) {
    let expected: Value = serde_json::from_str(golden).expect("golden");
    assert_eq!(body(completion).to_string(), expected.to_string());
}

fn signed(text: &str, after: &Value) -> (String, Option<Value>) {
    (text.to_owned(), Some(json!({"anthropic": {"signature": "c2ln"}, "after": after})))
}

fn of_model(model: &str) -> Completion {
    Completion { model: model.to_owned(), ..hello() }
}

#[test]
fn a_plain_question() {
    check(&of_model("claude-sonnet-4-5"), include_str!("../../../tests/golden/anthropic/request-plain.json"));
}

#[test]
fn a_conversation_with_tools_and_thinking() {
    let broken = ToolCall { malformed: Some("{\"box\":".to_owned()), ..call("c2", json!({})) };
    let redacted = (String::new(), Some(json!({"anthropic": {"redacted": "EmwK"}})));
    let foreign = ("of another".to_owned(), Some(json!({"openai-responses": {}})));
    let messages = vec![
        PromptMessage::System("Be brief.\nLine two: \"quoted\", 北京 😀 {{name}}".to_owned()),
        PromptMessage::System("More.".to_owned()),
        user("Weigh boxes 1 and 2."),
        PromptMessage::Assistant {
            text: "Let me see.".to_owned(),
            reasoning: vec![
                redacted,
                signed("hm", &json!({"text": false, "calls": 0})),
                foreign,
                signed("between", &json!({"text": true, "calls": 1})),
                signed("led to nothing", &json!({"text": true, "calls": 2})),
            ],
            calls: vec![call("c1", json!({"box": 1, "a": [true, null, "x"]})), broken],
        },
        PromptMessage::Tool(vec![
            result("c1", json!({"kg": 2.5}), false),
            result("c2", json!("the arguments were no JSON object"), true),
        ]),
        user("And now?"),
        PromptMessage::Assistant { text: "2.5 kg.".to_owned(), reasoning: Vec::new(), calls: Vec::new() },
        PromptMessage::User(vec![UserPart::Text("one".to_owned()), UserPart::Text("two".to_owned())]),
    ];
    check(&with_tools(completion(messages)), include_str!("../../../tests/golden/anthropic/request-tools.json"));
}

#[test]
fn every_setting() {
    let mut completion = with_tools(of_model("claude-sonnet-4-5"));
    completion.settings = ModelSettings {
        temperature: Some(0.2),
        top_p: Some(0.9),
        top_k: Some(40),
        max_output_tokens: Some(256),
        stop: vec!["END".to_owned(), "\n\n".to_owned()],
        seed: Some(-7),
        presence_penalty: Some(0.5),
        frequency_penalty: Some(-0.5),
        reasoning_effort: Some("low".to_owned()),
        tool_choice: Some(ToolChoice::Named("weigh".to_owned())),
        max_retries: Some(9),
        timeout: Some(std::time::Duration::from_secs(9)),
        provider_options: object(json!({
            "temperature": 0.3, "metadata": {"user_id": "u-1"}, "cache_control": {"type": "ephemeral"},
            "model": "evil", "messages": [], "stream": false, "tools": [], "system": "evil",
        })),
    };
    check(&completion, include_str!("../../../tests/golden/anthropic/request-settings.json"));
}

#[test]
fn files_of_all_kinds() {
    let file = |media_type: &str, data: FileData| UserPart::File { media_type: media_type.to_owned(), data };
    let url = |url: &str| FileData::Url(url.to_owned());
    let bytes = || FileData::Base64("QUJD".to_owned());
    let parts = vec![
        UserPart::Text("look".to_owned()),
        file("image/png", url("https://example.com/a.png")),
        file("image/jpeg", bytes()),
        file("image/gif", url("data:image/gif;base64,QUJD")),
        file("application/pdf", bytes()),
        file("application/pdf", url("https://example.com/a.pdf")),
        file("text/markdown", url("data:text/markdown;base64,IyDljJc=")),
    ];
    let completion = completion(vec![PromptMessage::User(parts)]);
    check(&completion, include_str!("../../../tests/golden/anthropic/request-files.json"));
}

#[test]
fn files_that_cannot_be_carried_are_refused() {
    for (media_type, data, words) in [
        ("audio/mpeg", FileData::Base64("QUJD".to_owned()), "cannot be sent to this provider"),
        ("text/plain", FileData::Url("https://example.com/a.txt".to_owned()), "send its bytes"),
        ("text/plain", FileData::Base64("/w==".to_owned()), "no base64 of UTF-8"),
        ("text/plain", FileData::Base64("%".to_owned()), "no base64 of UTF-8"),
    ] {
        let part = UserPart::File { media_type: media_type.to_owned(), data };
        let error = encode(&completion(vec![PromptMessage::User(vec![part])]), true).expect_err("refused");
        assert_eq!(error.kind, ProviderErrorKind::BadRequest);
        assert!(error.message.contains(words) && error.message.contains(media_type), "{error}");
    }
}

#[test]
fn every_choice_of_tools() {
    for (choice, expected) in [
        (ToolChoice::Auto, json!({"type": "auto"})),
        (ToolChoice::None, json!({"type": "none"})),
        (ToolChoice::Required, json!({"type": "any"})),
        (ToolChoice::Named("weigh".to_owned()), json!({"type": "tool", "name": "weigh"})),
    ] {
        let mut completion = with_tools(hello());
        completion.settings.tool_choice = Some(choice);
        assert_eq!(body(&completion)["tool_choice"], expected);
    }
}

#[test]
fn a_number_of_tokens_is_always_asked_for() {
    for (model, tokens) in [
        ("claude-opus-5-5", 32_000),
        ("claude-haiku-4-5-20251001", 32_000),
        ("claude-3-7-sonnet-latest", 32_000),
        ("claude-3-5-haiku-20241022", 8192),
        ("claude-3-haiku-20240307", 4096),
        ("kimi-k2", 8192),
    ] {
        assert_eq!(body(&of_model(model))["max_tokens"], json!(tokens), "{model}");
    }
    let mut completion = hello();
    completion.settings.max_output_tokens = Some(77);
    assert_eq!(body(&completion)["max_tokens"], json!(77));
}

fn thinking(model: &str, change: impl FnOnce(&mut Completion)) -> Value {
    let mut completion = with_tools(of_model(model));
    completion.settings.temperature = Some(0.5);
    completion.settings.reasoning_effort = Some("medium".to_owned());
    change(&mut completion);
    let body = body(&completion);
    assert_eq!(body.get("temperature").is_none(), body.get("thinking").is_some(), "{body}");
    json!([body["thinking"], body["output_config"]["effort"]])
}

#[test]
fn models_are_asked_to_think_in_the_form_of_their_age() {
    for model in ["claude-opus-4-6", "claude-sonnet-5", "claude-opus-5-5-20260901"] {
        assert_eq!(thinking(model, |_| {}), json!([{"type": "adaptive"}, "medium"]), "{model}");
    }
    for model in ["claude-sonnet-4-5-20250929", "claude-opus-4-20250514", "claude-3-7-sonnet-latest"] {
        assert_eq!(thinking(model, |_| {}), json!([{"type": "enabled", "budget_tokens": 8192}, null]), "{model}");
    }
    let old = "claude-sonnet-4-5";
    let fewer = thinking(old, |completion| completion.settings.max_output_tokens = Some(4000));
    assert_eq!(fewer[0]["budget_tokens"], json!(2000));
    let nothing = json!([null, null]);
    assert_eq!(thinking(old, |completion| completion.settings.max_output_tokens = Some(2000)), nothing);
    assert_eq!(thinking(old, |completion| completion.settings.tool_choice = Some(ToolChoice::Required)), nothing);
    assert_eq!(thinking(old, |completion| completion.settings.reasoning_effort = Some("none".to_owned())), nothing);
}

#[test]
fn no_budget_for_thinking_after_a_call_without_any() {
    let turn = |reasoning| {
        vec![
            user("weigh"),
            PromptMessage::Assistant { text: String::new(), reasoning, calls: vec![call("c", json!({}))] },
            PromptMessage::Tool(vec![result("c", json!(1), false)]),
        ]
    };
    let without = thinking("claude-sonnet-4-5", |completion| completion.messages = turn(Vec::new()));
    assert_eq!(without[0], Value::Null);
    let with = thinking("claude-sonnet-4-5", |completion| {
        completion.messages = turn(vec![signed("hm", &json!({}))]);
    });
    assert_eq!(with[0]["type"], json!("enabled"));
    let newer = thinking("claude-sonnet-5", |completion| completion.messages = turn(Vec::new()));
    assert_eq!(newer[0]["type"], json!("adaptive"));
}

#[test]
fn a_schema_of_the_answer() {
    let open = json!({"type": "object", "properties": {"kg": {"type": "number"}}});
    let mut closed = open.clone();
    closed["additionalProperties"] = json!(false);
    let asked = |model: &str, schema: &Value| {
        body(&Completion { output_schema: Some(Arc::new(schema.clone())), ..of_model(model) })
    };
    let kept = asked("claude-sonnet-4-5", &closed);
    assert_eq!(kept["output_config"], json!({"format": {"type": "json_schema", "schema": closed}}));
    assert_eq!(kept.get("system"), None);
    for (model, schema) in [("claude-sonnet-4-5", &open), ("claude-3-7-sonnet-latest", &closed)] {
        let told = asked(model, schema);
        assert_eq!(told.get("output_config"), None);
        assert!(told["system"][0]["text"].as_str().expect("told").contains(&schema.to_string()), "{told}");
    }
}

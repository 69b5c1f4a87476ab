//! Request bodies, field for field and in order.

use std::sync::Arc;

use roster_model::message::{FileData, ToolCall};
use roster_model::provider::{Completion, ModelSettings, PromptMessage, ProviderErrorKind, ToolChoice, UserPart};
use roster_testkit::scripted::strict_fault;
use serde_json::{Value, json};

use crate::openai::request::encode;
use crate::tests::{call, completion, hello, object, result, user, with_tools};

fn body(completion: &Completion, stream: bool) -> Value {
    serde_json::from_slice(&encode(completion, stream).expect("encoded")).expect("json")
}

/// Compares also the order of fields, which a tree's equality ignores.
fn check(completion: &Completion, golden: &str) {
    let expected: Value = serde_json::from_str(golden).expect("golden");
    let written = String::from_utf8(encode(completion, true).expect("encoded")).expect("text");
    assert_eq!(written, expected.to_string());
    assert_eq!(strict_fault(Some(&expected)), None);
}

#[test]
fn a_plain_question() {
    check(&hello(), include_str!("../../../tests/golden/openai/request-plain.json"));
}

#[test]
fn a_conversation_with_tools() {
    let broken = ToolCall { malformed: Some("{\"box\":".to_owned()), ..call("c2", json!({})) };
    let messages = vec![
        PromptMessage::System("Be brief.\nLine two: \"quoted\", 北京 😀 {{name}}".to_owned()),
        user("Weigh boxes 1 and 2."),
        PromptMessage::Assistant {
            text: String::new(),
            reasoning: vec![("hm".to_owned(), None)],
            calls: vec![call("c1", json!({"box": 1, "a": [true, null, "x"]})), broken],
        },
        PromptMessage::Tool(vec![
            result("c1", json!({"kg": 2.5}), false),
            result("c2", json!("the arguments were no JSON object"), true),
        ]),
        PromptMessage::Assistant { text: "2.5 kg.".to_owned(), reasoning: Vec::new(), calls: Vec::new() },
        PromptMessage::User(vec![UserPart::Text("one".to_owned()), UserPart::Text("two".to_owned())]),
    ];
    check(&with_tools(completion(messages)), include_str!("../../../tests/golden/openai/request-tools.json"));
}

#[test]
fn every_setting() {
    let mut completion = with_tools(hello());
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
            "temperature": 0.3, "user": "u-1", "chat_template_kwargs": {"enable_thinking": false},
            "model": "evil", "messages": [], "stream": false, "tools": [],
        })),
    };
    check(&completion, include_str!("../../../tests/golden/openai/request-settings.json"));
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
        file("audio/mpeg", bytes()),
        file("audio/x-wav", bytes()),
        file("application/pdf", bytes()),
        file("text/plain", url("data:text/plain;base64,QUJD")),
    ];
    let completion = completion(vec![PromptMessage::User(parts)]);
    check(&completion, include_str!("../../../tests/golden/openai/request-files.json"));
}

#[test]
fn a_file_by_address_that_is_no_image_is_refused() {
    let data = FileData::Url("https://example.com/a.pdf".to_owned());
    let part = UserPart::File { media_type: "application/pdf".to_owned(), data };
    let error = encode(&completion(vec![PromptMessage::User(vec![part])]), true).expect_err("refused");
    assert_eq!(error.kind, ProviderErrorKind::BadRequest);
    assert!(error.message.contains("`application/pdf`"), "{error}");
}

#[test]
fn no_field_stands_twice_and_tokens_are_asked_for_in_streams_only() {
    let mut completion = hello();
    completion.settings.max_output_tokens = Some(5);
    completion.settings.tool_choice = Some(ToolChoice::Required);
    completion.settings.provider_options =
        object(json!({"max_completion_tokens": 9, "stream_options": {"x": 1}, "tools": [{"type": "web_search"}]}));
    let written = String::from_utf8(encode(&completion, true).expect("encoded")).expect("text");
    assert_eq!(written.matches("stream_options").count(), 1, "{written}");
    assert!(!written.contains("max_tokens") && !written.contains("tool_choice"), "{written}");
    assert!(written.contains(r#""tools":[{"type":"web_search"}]"#), "{written}");
    let whole = body(&hello(), false);
    assert_eq!((&whole["stream"], whole.get("stream_options")), (&json!(false), None));
}

#[test]
fn every_choice_of_tools() {
    for (choice, expected) in [
        (ToolChoice::Auto, json!("auto")),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("required")),
        (ToolChoice::Named("weigh".to_owned()), json!({"type": "function", "function": {"name": "weigh"}})),
    ] {
        let mut completion = with_tools(hello());
        completion.settings.tool_choice = Some(choice);
        assert_eq!(body(&completion, true)["tool_choice"], expected);
    }
}

#[test]
fn a_schema_of_the_answer() {
    let mut completion = hello();
    let schema = json!({"type": "object", "properties": {"kg": {"type": "number"}}, "required": ["kg"],
        "additionalProperties": false});
    completion.output_schema = Some(Arc::new(schema.clone()));
    assert_eq!(
        body(&completion, true)["response_format"],
        json!({"type": "json_schema", "json_schema": {"name": "answer", "strict": true, "schema": schema}})
    );
    completion.settings.provider_options = object(json!({"response_format": {"type": "json_object"}}));
    assert_eq!(body(&completion, true)["response_format"], json!({"type": "json_object"}), "an option replaces it");
}

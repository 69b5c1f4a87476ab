//! Request bodies, field for field and in order.

use std::sync::Arc;

use roster_model::message::{FileData, ToolCall};
use roster_model::provider::{Completion, ModelSettings, PromptMessage, ToolChoice, UserPart};
use serde_json::{Value, json};

use crate::responses::request::encode;
use crate::tests::{call, completion, hello, object, result, user, with_tools};

fn body(completion: &Completion, stream: bool) -> Value {
    serde_json::from_slice(&encode(completion, stream).expect("encoded")).expect("json")
}

/// Compares also the order of fields, which a tree's equality ignores.
fn check(completion: &Completion, golden: &str) {
    let expected: Value = serde_json::from_str(golden).expect("golden");
    assert_eq!(body(completion, true).to_string(), expected.to_string());
}

fn of_model(model: &str) -> Completion {
    Completion { model: model.to_owned(), ..hello() }
}

#[test]
fn a_plain_question() {
    check(&hello(), include_str!("../../../tests/golden/openai-responses/request-plain.json"));
    assert_eq!(body(&hello(), false)["stream"], json!(false));
}

#[test]
fn a_conversation_with_tools_and_reasoning() {
    let item = |id: &str| json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAA"});
    let kept = |id: &str, text: bool, calls: u32| {
        (String::new(), Some(json!({"openai-responses": item(id), "after": {"text": text, "calls": calls}})))
    };
    let broken = ToolCall { malformed: Some("{\"box\":".to_owned()), ..call("c2", json!({})) };
    let messages = vec![
        PromptMessage::System("Be brief.\nLine two: \"quoted\", 北京 😀 {{name}}".to_owned()),
        user("Weigh boxes 1 and 2."),
        PromptMessage::Assistant {
            text: "Let me see.".to_owned(),
            reasoning: vec![
                kept("rs_1", false, 0),
                ("of another".to_owned(), Some(json!({"anthropic": {"signature": "x"}}))),
                kept("rs_2", true, 1),
                kept("rs_3", true, 2),
            ],
            calls: vec![call("c1", json!({"box": 1, "a": [true, null, "x"]})), broken],
        },
        PromptMessage::Tool(vec![
            result("c1", json!({"kg": 2.5}), false),
            result("c2", json!("the arguments were no JSON object"), true),
        ]),
        PromptMessage::Assistant { text: "2.5 kg.".to_owned(), reasoning: Vec::new(), calls: Vec::new() },
        PromptMessage::User(vec![UserPart::Text("one".to_owned()), UserPart::Text("two".to_owned())]),
    ];
    check(&with_tools(completion(messages)), include_str!("../../../tests/golden/openai-responses/request-tools.json"));
}

#[test]
fn every_setting() {
    let mut completion = with_tools(of_model("gpt-5.1"));
    completion.settings = ModelSettings {
        temperature: Some(0.2),
        top_p: Some(0.9),
        top_k: Some(40),
        max_output_tokens: Some(256),
        stop: vec!["END".to_owned()],
        seed: Some(-7),
        presence_penalty: Some(0.5),
        frequency_penalty: Some(-0.5),
        reasoning_effort: Some("low".to_owned()),
        tool_choice: Some(ToolChoice::Named("weigh".to_owned())),
        max_retries: Some(9),
        timeout: Some(std::time::Duration::from_secs(9)),
        provider_options: object(json!({
            "temperature": 0.3, "reasoning": {"summary": "auto"}, "text": {"verbosity": "low"}, "user": "u-1",
            "model": "evil", "input": [], "stream": false, "tools": [],
        })),
    };
    check(&completion, include_str!("../../../tests/golden/openai-responses/request-settings.json"));
}

#[test]
fn encrypted_reasoning_is_asked_for_where_there_is_reasoning() {
    let include = |model: &str| body(&of_model(model), true).get("include").is_some();
    for model in ["o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5.1-codex", "openai/gpt-6"] {
        assert!(include(model), "{model}");
    }
    for model in ["gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "gpt-oss-20b", "omni", "m"] {
        assert!(!include(model), "{model}");
    }
    let mut asked = of_model("gpt-oss-20b");
    asked.settings.reasoning_effort = Some("high".to_owned());
    assert_eq!(body(&asked, true)["include"], json!(["reasoning.encrypted_content"]));
    asked.settings.provider_options = object(json!({"include": []}));
    assert_eq!(body(&asked, true)["include"], json!([]), "an option replaces it");
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
        file("application/pdf", bytes()),
        file("application/pdf", url("https://example.com/a.pdf")),
    ];
    assert_eq!(
        body(&completion(vec![PromptMessage::User(parts)]), true)["input"][0]["content"],
        json!([
            {"type": "input_text", "text": "look"},
            {"type": "input_image", "image_url": "https://example.com/a.png"},
            {"type": "input_image", "image_url": "data:image/jpeg;base64,QUJD"},
            {"type": "input_file", "filename": "file.pdf", "file_data": "data:application/pdf;base64,QUJD"},
            {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        ])
    );
}

#[test]
fn every_choice_of_tools() {
    for (choice, expected) in [
        (ToolChoice::Auto, json!("auto")),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("required")),
        (ToolChoice::Named("weigh".to_owned()), json!({"type": "function", "name": "weigh"})),
    ] {
        let mut completion = with_tools(hello());
        completion.settings.tool_choice = Some(choice);
        assert_eq!(body(&completion, true)["tool_choice"], expected);
    }
}

#[test]
fn a_schema_of_the_answer() {
    let schema = json!({"type": "object", "properties": {"kg": {"type": "number"}}});
    let mut completion = hello();
    completion.output_schema = Some(Arc::new(schema.clone()));
    completion.settings.provider_options = object(json!({"text": {"verbosity": "low"}}));
    assert_eq!(
        body(&completion, true)["text"],
        json!({
            "format": {"type": "json_schema", "name": "answer", "strict": false, "schema": schema},
            "verbosity": "low",
        })
    );
}

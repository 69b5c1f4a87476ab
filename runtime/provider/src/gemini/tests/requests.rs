//! Request bodies, field for field and in order.

use std::sync::Arc;

use reqwest::Url;
use roster_model::message::{FileData, ToolCall};
use roster_model::provider::{Completion, ModelSettings, PromptMessage, ToolChoice, UserPart};
use serde_json::{Value, json};

use crate::config::Dialect;
use crate::gemini::request::encode;
use crate::tests::{call, completion, hello, object, result, user, with_tools};

fn body(completion: &Completion) -> Value {
    serde_json::from_slice(&encode(completion).expect("encoded")).expect("json")
}

/// Compares also the order of fields, which a tree's equality ignores.
fn check(completion: &Completion, golden: &str) {
    let expected: Value = serde_json::from_str(golden).expect("golden");
    assert_eq!(body(completion).to_string(), expected.to_string());
}

fn of_model(model: &str) -> Completion {
    Completion { model: model.to_owned(), ..hello() }
}

#[test]
fn the_model_stands_in_the_address() {
    let base = Url::parse("https://g.example/v1beta/?key=k").expect("URL");
    for (stream, model, expected) in [
        (
            true,
            "gemini-2.5-flash",
            "https://g.example/v1beta/models/gemini-2.5-flash:streamGenerateContent?key=k&alt=sse",
        ),
        (false, "gemini-2.5-flash", "https://g.example/v1beta/models/gemini-2.5-flash:generateContent?key=k"),
        (false, "tunedModels/mine", "https://g.example/v1beta/tunedModels/mine:generateContent?key=k"),
        (false, "a?b#c", "https://g.example/v1beta/models/a%3Fb%23c:generateContent?key=k"),
    ] {
        assert_eq!(Dialect::Gemini.wire(stream).url(&base, model).as_str(), expected);
    }
}

#[test]
fn a_plain_question() {
    check(&hello(), include_str!("../../../tests/golden/gemini/request-plain.json"));
}

#[test]
fn a_conversation_with_tools_and_signatures() {
    let signed =
        |text: &str, data: Value, after: Value| (text.to_owned(), Some(json!({"gemini": data, "after": after})));
    let broken = ToolCall { malformed: Some("{\"box\":".to_owned()), ..call("c2", json!({})) };
    let messages = vec![
        PromptMessage::System("Be brief.\nLine two: \"quoted\", 北京 😀 {{name}}".to_owned()),
        PromptMessage::System("More.".to_owned()),
        user("Weigh boxes 1 and 2."),
        PromptMessage::Assistant {
            text: "Let me see.".to_owned(),
            reasoning: vec![
                signed("hm", json!({"signature": "dGV4dA=="}), json!({"text": true, "calls": 0})),
                signed("", json!({"signature": "Y2FsbA==", "of": "call"}), json!({"text": true, "calls": 0})),
                ("of another".to_owned(), Some(json!({"anthropic": {"signature": "x"}}))),
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
    check(&with_tools(completion(messages)), include_str!("../../../tests/golden/gemini/request-tools.json"));
}

#[test]
fn every_setting() {
    let mut completion = with_tools(of_model("gemini-2.5-pro"));
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
            "generationConfig": {"temperature": 0.3, "mediaResolution": "MEDIA_RESOLUTION_LOW"},
            "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
            "contents": [], "tools": [], "systemInstruction": {},
        })),
    };
    check(&completion, include_str!("../../../tests/golden/gemini/request-settings.json"));
}

#[test]
fn files_of_all_kinds() {
    let file = |media_type: &str, data: FileData| UserPart::File { media_type: media_type.to_owned(), data };
    let parts = vec![
        UserPart::Text("look".to_owned()),
        file("image/png", FileData::Base64("QUJD".to_owned())),
        file("image/gif", FileData::Url("data:image/gif;base64,QUJD".to_owned())),
        file("application/pdf", FileData::Url("https://example.com/a.pdf".to_owned())),
    ];
    assert_eq!(
        body(&completion(vec![PromptMessage::User(parts)]))["contents"][0]["parts"],
        json!([
            {"text": "look"},
            {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
            {"inlineData": {"mimeType": "image/gif", "data": "QUJD"}},
            {"fileData": {"mimeType": "application/pdf", "fileUri": "https://example.com/a.pdf"}},
        ])
    );
}

#[test]
fn every_choice_of_tools() {
    for (choice, expected) in [
        (ToolChoice::Auto, json!({"mode": "AUTO"})),
        (ToolChoice::None, json!({"mode": "NONE"})),
        (ToolChoice::Required, json!({"mode": "ANY"})),
        (ToolChoice::Named("weigh".to_owned()), json!({"mode": "ANY", "allowedFunctionNames": ["weigh"]})),
    ] {
        let mut completion = with_tools(hello());
        completion.settings.tool_choice = Some(choice);
        assert_eq!(body(&completion)["toolConfig"], json!({"functionCallingConfig": expected}));
    }
}

#[test]
fn models_are_asked_to_think_in_the_form_of_their_age() {
    let asked = |model: &str, effort: &str| {
        let mut completion = of_model(model);
        completion.settings.reasoning_effort = Some(effort.to_owned());
        body(&completion)["generationConfig"]["thinkingConfig"].clone()
    };
    let budget = |tokens: u32| json!({"thinkingBudget": tokens, "includeThoughts": tokens > 0});
    for (effort, tokens) in [("none", 0), ("minimal", 512), ("low", 2048), ("medium", 8192), ("high", 24_576)] {
        assert_eq!(asked("gemini-2.5-flash", effort), budget(tokens));
    }
    assert_eq!(asked("gemini-3.1-pro-preview", "high"), json!({"thinkingLevel": "high", "includeThoughts": true}));
    assert_eq!(asked("gemini-flash-latest", "none"), json!({"thinkingLevel": "minimal", "includeThoughts": false}));
}

/// Newer models refuse calls of the turn that nobody signed, as those of another provider.
#[test]
fn the_first_call_of_a_step_is_signed_for_models_that_want_it() {
    let calls = vec![call("c1", json!({"box": 1})), call("c2", json!({"box": 2}))];
    let said = PromptMessage::Assistant { text: String::new(), reasoning: Vec::new(), calls };
    let results = PromptMessage::Tool(vec![result("c1", json!(1), false), result("c2", json!(2), false)]);
    let signatures = |model: &str| {
        let completion = with_tools(Completion {
            model: model.to_owned(),
            ..completion(vec![user("weigh"), said.clone(), results.clone()])
        });
        let parts = body(&completion)["contents"][1]["parts"].clone();
        [parts[0]["thoughtSignature"].clone(), parts[1]["thoughtSignature"].clone()]
    };
    assert_eq!(signatures("gemini-2.5-flash"), [Value::Null, Value::Null]);
    assert_eq!(signatures("gemini-3-flash"), [json!("skip_thought_signature_validator"), Value::Null]);
}

#[test]
fn a_schema_of_the_answer() {
    let schema = json!({"type": "object", "properties": {"kg": {"type": "number"}}});
    let asked =
        |completion: Completion| body(&Completion { output_schema: Some(Arc::new(schema.clone())), ..completion });
    let form = json!({"responseMimeType": "application/json", "responseJsonSchema": schema});
    assert_eq!(asked(of_model("gemini-2.5-flash"))["generationConfig"], form);
    assert_eq!(asked(with_tools(of_model("gemini-3-flash")))["generationConfig"], form);
    let told = asked(with_tools(of_model("gemini-2.5-flash")));
    assert_eq!(told.get("generationConfig"), None, "older models cannot have both");
    assert!(told["systemInstruction"].to_string().contains("JSON Schema"), "{told}");
}

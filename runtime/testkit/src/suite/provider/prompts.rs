//! What may be asked: the strict server takes all of it.

use std::sync::Arc;

use roster_model::message::FileData;
use roster_model::provider::{Completion, ModelSettings, PromptMessage, ToolChoice, UserPart};
use serde_json::json;

use super::{Subject, call, hear, result, user, weigh};

pub(super) async fn all(subject: &Subject<'_>) {
    let closed = json!({"type": "object", "properties": {"kg": {"type": "number"}}, "required": ["kg"],
        "additionalProperties": false});
    let open = json!({"type": "object", "properties": {"kg": {"type": "number"}}});
    for completion in [
        history(subject),
        Completion { settings: every_setting(), ..subject.hello() },
        Completion { settings: every_setting(), tools: weigh(), ..subject.hello() },
        Completion { settings: thinking(None), ..history(subject) },
        Completion { settings: thinking(Some(ToolChoice::Required)), tools: weigh(), ..subject.hello() },
        Completion { settings: thinking(Some(ToolChoice::Named("weigh".into()))), tools: weigh(), ..subject.hello() },
        Completion { settings: thinking(Some(ToolChoice::None)), ..subject.hello() },
        Completion { output_schema: Some(Arc::new(closed.clone())), ..subject.hello() },
        Completion { output_schema: Some(Arc::new(open)), ..history(subject) },
        Completion { output_schema: Some(Arc::new(closed)), ..history(subject) },
        subject.completion(vec![PromptMessage::User(vec![image(), UserPart::Text("What is it?".to_owned())])]),
    ] {
        let (_server, provider) = subject.server().await;
        let label = format!("{completion:?}");
        let heard = hear(&*provider, completion).await;
        assert_eq!(heard.error.map(|error| error.message), None, "{label}");
        assert!(heard.text.starts_with("echo: "), "{label}: {}", heard.text);
    }
}

fn image() -> UserPart {
    UserPart::File { media_type: "image/png".to_owned(), data: FileData::Base64("iVBORw0KGgo=".to_owned()) }
}

/// Two questions, calls with results of every shape, made by a model of another provider.
fn history(subject: &Subject<'_>) -> Completion {
    let foreign = vec![("hm".to_owned(), Some(json!({"elsewhere": {"signature": "x"}, "after": {"calls": 0}})))];
    let calls = vec![call(Some("c1"), "weigh", r#"{"box":1}"#), call(Some("c2"), "weigh", "{}")];
    let mut refused = result(&calls[1], json!("no such box"));
    refused.is_error = true;
    let results = vec![result(&calls[0], json!([1, "two", null])), refused];
    let messages = vec![
        PromptMessage::System("Be brief.".to_owned()),
        PromptMessage::System("It is Monday.".to_owned()),
        user("Weigh."),
        PromptMessage::Assistant { text: String::new(), reasoning: foreign.clone(), calls },
        PromptMessage::Tool(results),
        user("And now?"),
        PromptMessage::Assistant { text: "Nothing.".to_owned(), reasoning: foreign, calls: Vec::new() },
        user("Thanks."),
    ];
    Completion { tools: weigh(), ..subject.completion(messages) }
}

fn every_setting() -> ModelSettings {
    ModelSettings {
        temperature: Some(0.2),
        top_p: Some(0.9),
        top_k: Some(40),
        max_output_tokens: Some(4000),
        stop: vec!["END".to_owned()],
        seed: Some(7),
        presence_penalty: Some(0.5),
        frequency_penalty: Some(-0.5),
        tool_choice: Some(ToolChoice::Auto),
        ..ModelSettings::default()
    }
}

fn thinking(tool_choice: Option<ToolChoice>) -> ModelSettings {
    ModelSettings { reasoning_effort: Some("medium".to_owned()), tool_choice, ..every_setting() }
}

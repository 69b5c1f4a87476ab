//! `model/1`.

use std::sync::Arc;

use futures_util::StreamExt;
use roster_model::message::{FileData, ToolCall, ToolResult};
use roster_model::provider::{Completion, ModelSettings, OfferedTool, PromptMessage, ProviderError, UserPart};
use roster_plugin::bridge::model::provider;
use serde_json::json;

use super::Transcript;
use crate::world::World;

fn asked(messages: Vec<PromptMessage>) -> Completion {
    let tool = OfferedTool {
        name: "kinds_echo".to_owned(),
        description: "Answers with its arguments".to_owned(),
        input_schema: Arc::new(json!({"type": "object"})),
    };
    Completion {
        model: "parrot".to_owned(),
        messages,
        tools: vec![tool].into(),
        output_schema: None,
        settings: ModelSettings::default(),
        attempts: Arc::default(),
    }
}

fn user(text: &str) -> PromptMessage {
    PromptMessage::User(vec![UserPart::Text(text.to_owned())])
}

/// A question, an answer with thinking and a call, and what the call gave.
fn history() -> Vec<PromptMessage> {
    let call = ToolCall {
        id: "c1".to_owned(),
        name: "kinds_echo".to_owned(),
        arguments: json!({"a": 1}).as_object().cloned().expect("an object"),
        malformed: None,
    };
    let result = ToolResult {
        call_id: "c1".to_owned(),
        name: "kinds_echo".to_owned(),
        output: json!({"a": 1}),
        is_error: false,
        duration_ms: 7,
    };
    vec![
        PromptMessage::System("Repeat.".to_owned()),
        user("go"),
        PromptMessage::Assistant {
            text: "going".to_owned(),
            reasoning: vec![("why not".to_owned(), Some(json!({"sig": "x"}))), ("indeed".to_owned(), None)],
            calls: vec![call],
        },
        PromptMessage::Tool(vec![result]),
    ]
}

async fn complete(world: &World, log: &mut Transcript, what: &str, completion: Completion) {
    let provider = provider(&world.plugin(), "parrot").expect("it has this model");
    let told = |error: ProviderError| (error.kind, error.message, error.status, error.retry_after);
    let stream = match provider.complete(completion).await {
        Ok(stream) => stream,
        Err(error) => return log.say(what, &told(error)),
    };
    let deltas: Vec<_> = stream.map(|item| item.map_err(told)).collect().await;
    log.say(what, &deltas);
}

pub(super) async fn all(world: &World, log: &mut Transcript) {
    let plugin = world.plugin();
    log.say("named", &provider(&plugin, "parrot").map(|provider| provider.name().to_owned()));
    log.say("no model of this name", &provider(&plugin, "echo").map(|provider| provider.name().to_owned()));
    for text in ["hello big world", "", "ü 北京 😀", "call kinds_echo {\"a\":\"ü\"}"] {
        complete(world, log, &format!("asked {text:?}"), asked(vec![user(text)])).await;
    }
    complete(world, log, "asked with a history", asked(history())).await;
    let picture = UserPart::File { media_type: "image/png".to_owned(), data: FileData::Base64("AA==".to_owned()) };
    let seen = vec![PromptMessage::User(vec![picture, UserPart::Text("a picture".to_owned())])];
    complete(world, log, "asked with a file", asked(seen)).await;
    complete(world, log, "50 words", asked(vec![user(&"word ".repeat(50))])).await;
    for code in [
        "provider_key_missing",
        "provider_unreachable",
        "provider_timeout",
        "provider_auth",
        "provider_rate_limited",
        "provider_overloaded",
        "provider_not_found",
        "provider_bad_request",
        "context_length_exceeded",
        "content_filter",
        "plugin_crashed",
        "whatever",
    ] {
        complete(world, log, &format!("fails with {code}"), asked(vec![user(&format!("fail {code}"))])).await;
    }
    let unknown = Completion { model: "nobody".to_owned(), ..asked(vec![user("hello")]) };
    complete(world, log, "a model that is not there", unknown).await;
}

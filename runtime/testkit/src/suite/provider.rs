//! What every model provider over HTTP must do, whatever its dialect: run against the strict scripted server.

mod failures;
mod prompts;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use roster_model::message::{ToolCall, ToolResult};
use roster_model::provider::{
    Completion, Delta, ModelSettings, OfferedTool, PromptMessage, Provider, ProviderError, StopReason, Usage, UserPart,
};
use serde_json::{Map, Value, json};

use crate::scripted::{Gate, Reply, ScriptedServer, ServerDialect};

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(20);

/// A provider of one dialect, in the two ways of asking.
pub struct Subject<'a> {
    /// What the server it is made for speaks.
    pub dialect: ServerDialect,
    /// A model name of this dialect.
    pub model: &'a str,
    /// Whether it asks for streams.
    pub streams: bool,
    /// Makes one for this address; its waits between attempts must be short or none.
    pub make: &'a dyn Fn(&str) -> Arc<dyn Provider>,
}

/// All of it.
///
/// # Panics
/// When a rule is broken.
pub async fn all(subject: &Subject<'_>) {
    answers(subject).await;
    calls_go_round(subject).await;
    prompts::all(subject).await;
    failures::all(subject).await;
    if subject.streams {
        leaving_closes_the_connection(subject).await;
    }
}

impl Subject<'_> {
    async fn server(&self) -> (ScriptedServer, Arc<dyn Provider>) {
        let server = ScriptedServer::builder().strict().start().await;
        let provider = (self.make)(&server.base_url());
        (server, provider)
    }

    fn completion(&self, messages: Vec<PromptMessage>) -> Completion {
        let settings = ModelSettings::default();
        Completion {
            model: self.model.to_owned(),
            messages,
            tools: Arc::default(),
            output_schema: None,
            settings,
            attempts: Arc::default(),
        }
    }

    fn hello(&self) -> Completion {
        self.completion(vec![user("hello")])
    }
}

fn user(text: &str) -> PromptMessage {
    PromptMessage::User(vec![UserPart::Text(text.to_owned())])
}

fn weigh() -> Arc<[OfferedTool]> {
    let schema = json!({"type": "object", "properties": {"box": {"type": "integer"}}, "required": ["box"]});
    Arc::from([OfferedTool {
        name: "weigh".to_owned(),
        description: "Weighs a box.".to_owned(),
        input_schema: Arc::new(schema),
    }])
}

/// What an answer came to.
#[derive(Debug, Default)]
struct Heard {
    text: String,
    reasoning: Vec<(String, Option<Value>)>,
    calls: Vec<(Option<String>, String, String)>,
    end: Option<(StopReason, Usage, Option<String>)>,
    error: Option<ProviderError>,
}

async fn hear(provider: &dyn Provider, completion: Completion) -> Heard {
    let mut heard = Heard::default();
    let mut stream = match tokio::time::timeout(LIMIT, provider.complete(completion)).await.expect("in time") {
        Ok(stream) => stream,
        Err(error) => return Heard { error: Some(error), ..heard },
    };
    while let Some(delta) = tokio::time::timeout(LIMIT, stream.next()).await.expect("in time") {
        assert!(heard.end.is_none() && heard.error.is_none(), "something came after the end");
        match delta {
            Ok(Delta::Text(text)) => heard.text.push_str(&text),
            Ok(Delta::Reasoning(text)) => match heard.reasoning.last_mut() {
                Some((words, None)) => words.push_str(&text),
                _ => heard.reasoning.push((text, None)),
            },
            Ok(Delta::ReasoningOpaque(value)) => match heard.reasoning.last_mut() {
                Some((_, opaque @ None)) => *opaque = Some(value),
                _ => heard.reasoning.push((String::new(), Some(value))),
            },
            Ok(Delta::ToolCall { index, id, name }) => {
                assert_eq!(index, heard.calls.len(), "calls are numbered in the order they begin");
                heard.calls.push((id, name, String::new()));
            }
            Ok(Delta::ToolArguments { index, fragment }) => heard.calls[index].2.push_str(&fragment),
            Ok(Delta::End { reason, usage, model }) => heard.end = Some((reason, usage, model)),
            Err(error) => heard.error = Some(error),
        }
    }
    heard
}

async fn answers(subject: &Subject<'_>) {
    let (server, provider) = subject.server().await;
    server.push(Reply::text("北京 is a city 😀").reasoning("Let me see").usage(11, 5).model("m-2"));
    let heard = hear(&*provider, subject.hello()).await;
    assert_eq!(heard.error.map(|error| error.message), None);
    assert_eq!(heard.text, "北京 is a city 😀");
    assert_eq!(heard.reasoning.first().map(|(words, _)| words.as_str()), Some("Let me see"));
    let (reason, usage, model) = heard.end.expect("an end");
    assert_eq!((reason, model.as_deref()), (StopReason::Stop, Some("m-2")));
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (Some(11), Some(5), Some(16)));
    let request = &server.requests()[0];
    assert_eq!(ServerDialect::of(request.path()), subject.dialect);
    assert_eq!((request.method(), request.last_user_text().as_str()), ("POST", "hello"));
    // A clean end lets the connection be used again.
    hear(&*provider, subject.hello()).await;
    assert_eq!(server.requests()[1].connection(), 1);
}

/// Three calls at once stay three; their results and the thinking before them go back in a form the server takes.
async fn calls_go_round(subject: &Subject<'_>) {
    let (server, provider) = subject.server().await;
    let arguments = [r#"{"box":1}"#, r#"{"box":2}"#, r#"{"box":3}"#];
    let calls =
        [("call_a", "weigh", arguments[0]), ("call_b", "weigh", arguments[1]), ("call_c", "weigh", arguments[2])];
    server.push(Reply::tool_calls(calls).reasoning("three boxes").and_text("Let me weigh."));
    server.push(Reply::text("done"));
    let mut completion = Completion { tools: weigh(), ..subject.hello() };
    let heard = hear(&*provider, completion.clone()).await;
    assert_eq!(heard.error.map(|error| error.message), None);
    assert_eq!(heard.end.expect("an end").0, StopReason::ToolCalls);
    let asked: Vec<&str> = heard.calls.iter().map(|(_, _, arguments)| arguments.as_str()).collect();
    assert_eq!(asked, arguments);
    let calls: Vec<ToolCall> =
        heard.calls.iter().map(|(id, name, arguments)| call(id.as_deref(), name, arguments)).collect();
    let results = calls.iter().map(|call| result(call, json!({"kg": 2.5}))).collect();
    completion.messages.push(PromptMessage::Assistant { text: heard.text, reasoning: heard.reasoning, calls });
    completion.messages.push(PromptMessage::Tool(results));
    let heard = hear(&*provider, completion).await;
    assert_eq!((heard.error.map(|error| error.message), heard.text.as_str()), (None, "done"));
}

fn call(id: Option<&str>, name: &str, arguments: &str) -> ToolCall {
    let arguments: Map<String, Value> = serde_json::from_str(arguments).expect("an object");
    ToolCall { id: id.expect("an id").to_owned(), name: name.to_owned(), arguments, malformed: None }
}

fn result(call: &ToolCall, output: Value) -> ToolResult {
    ToolResult { call_id: call.id.clone(), name: call.name.clone(), output, is_error: false, duration_ms: 1 }
}

async fn leaving_closes_the_connection(subject: &Subject<'_>) {
    let (server, provider) = subject.server().await;
    let gate = Gate::new();
    server.push(Reply::text("one two three").hold_end(&gate));
    let mut stream = provider.complete(subject.hello()).await.expect("begun");
    assert!(matches!(stream.next().await, Some(Ok(Delta::Text(_)))));
    gate.reached().await;
    drop(stream);
    tokio::time::timeout(LIMIT, server.requests()[0].closed()).await.expect("closed");
}

//! What the tests of this room share.

mod conformance;
pub(crate) mod goldens;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use roster_model::BoxFuture;
use roster_model::message::{ToolCall, ToolResult};
use roster_model::provider::{
    Completion, Delta, DeltaStream, ModelSettings, OfferedTool, PromptMessage, Provider, ProviderError, UserPart,
};
use roster_model::time::Timestamp;
use roster_testkit::clock::TestClock;
use roster_testkit::ids::TestIds;
use roster_testkit::scripted::ScriptedServer;
use serde_json::{Map, Value, json};

use crate::call::HttpProvider;
use crate::client::{ClientOptions, HttpClient};
use crate::config::{Dialect, Key, ProviderConfig, assemble};
use crate::retry::Pace;

/// 2030-01-01T00:00:00Z.
pub(crate) const NOW: i64 = 1_893_456_000_000;

/// Notes the waits and does not wait.
#[derive(Default)]
pub(crate) struct NotedPace {
    pub(crate) waits: Mutex<Vec<Duration>>,
}

impl Pace for NotedPace {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(NOW)
    }

    fn chance(&self) -> f64 {
        0.5
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        self.waits.lock().expect("lock").push(wait);
        Box::pin(std::future::ready(()))
    }
}

impl NotedPace {
    pub(crate) fn seconds(&self) -> Vec<f64> {
        self.waits.lock().expect("lock").iter().map(Duration::as_secs_f64).collect()
    }
}

pub(crate) fn client() -> HttpClient {
    HttpClient::new(ClientOptions::new(Arc::new(TestClock::default()), Arc::new(TestIds::default())))
}

pub(crate) const KEY: &str = "sk-very-secret-0123456789";

/// A provider `test` of the scripted server, with a key, and the pace it keeps.
pub(crate) fn provider_at(base_url: &str) -> (HttpProvider, Arc<NotedPace>) {
    provider_with(base_url, |_| {})
}

pub(crate) fn provider_with(
    base_url: &str,
    change: impl FnOnce(&mut ProviderConfig),
) -> (HttpProvider, Arc<NotedPace>) {
    let mut config = ProviderConfig::new("test", Dialect::OpenAi, base_url);
    config.key = Key::Value(format!(" {KEY}\n"));
    change(&mut config);
    let pace = Arc::new(NotedPace::default());
    let provider = assemble(config, &client()).expect("provider").with_pace(Arc::<NotedPace>::clone(&pace));
    (provider, pace)
}

pub(crate) fn provider_of(server: &ScriptedServer) -> (HttpProvider, Arc<NotedPace>) {
    provider_at(&server.base_url())
}

pub(crate) fn user(text: &str) -> PromptMessage {
    PromptMessage::User(vec![UserPart::Text(text.to_owned())])
}

pub(crate) fn completion(messages: Vec<PromptMessage>) -> Completion {
    Completion {
        model: "m".to_owned(),
        messages,
        tools: Arc::from([]),
        output_schema: None,
        settings: ModelSettings::default(),
        attempts: Arc::default(),
    }
}

pub(crate) fn hello() -> Completion {
    completion(vec![user("hello")])
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("no object: {other}"),
    }
}

pub(crate) fn call(id: &str, arguments: Value) -> ToolCall {
    ToolCall { id: id.to_owned(), name: "weigh".to_owned(), arguments: object(arguments), malformed: None }
}

pub(crate) fn result(id: &str, output: Value, is_error: bool) -> ToolResult {
    ToolResult { call_id: id.to_owned(), name: "weigh".to_owned(), output, is_error, duration_ms: 3 }
}

pub(crate) fn with_tools(mut completion: Completion) -> Completion {
    completion.tools = Arc::from([OfferedTool {
        name: "weigh".to_owned(),
        description: "Weighs a box.".to_owned(),
        input_schema: Arc::new(
            json!({"type": "object", "properties": {"box": {"type": "integer"}}, "required": ["box"]}),
        ),
    }]);
    completion
}

/// Everything a provider answers: the deltas, then the error if there is one.
pub(crate) async fn all(provider: &dyn Provider, completion: Completion) -> (Vec<Delta>, Option<ProviderError>) {
    match provider.complete(completion).await {
        Ok(stream) => drain(stream).await,
        Err(error) => (Vec::new(), Some(error)),
    }
}

pub(crate) async fn drain(mut stream: DeltaStream) -> (Vec<Delta>, Option<ProviderError>) {
    let mut deltas = Vec::new();
    while let Some(delta) = stream.next().await {
        match delta {
            Ok(delta) => deltas.push(delta),
            Err(error) => {
                assert!(stream.next().await.is_none(), "something came after {error}");
                return (deltas, Some(error));
            }
        }
    }
    (deltas, None)
}

/// The words of all text deltas.
pub(crate) fn text(deltas: &[Delta]) -> String {
    deltas.iter().filter_map(|delta| if let Delta::Text(text) = delta { Some(text.as_str()) } else { None }).collect()
}

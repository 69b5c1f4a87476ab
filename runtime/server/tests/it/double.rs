//! Doubles: a model that says what a test tells it, a tool, a memory factory, a store nobody may touch.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt, stream};
use roster_engine::definition::{MemoryConfig, ModelChoice};
use roster_engine::memory::{FactoryError, Memory, MemoryFactory};
use roster_engine::registry::{BoundModel, ModelSource, NameFault};
use roster_model::BoxFuture;
use roster_model::embedder::{EmbedError, Embedder};
use roster_model::housekeeping::SessionStore;
use roster_model::message::ToolResult;
use roster_model::provider::{
    Circuit, Completion, Delta, DeltaStream, PromptMessage, Provider, ProviderError, ProviderErrorKind, StopReason,
    Usage, UserPart,
};
use roster_model::tool::{SettingsError, Tool, ToolContext, ToolError, ToolMaker, ToolSpec};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, watch};

/// One thing the model does.
#[derive(Clone)]
pub(crate) enum Say {
    Delta(Delta),
    Fail(ProviderError),
    /// Waits until the test opens the gate.
    Wait(Arc<Notify>),
    Panic,
}

pub(crate) fn words(text: &str) -> Say {
    Say::Delta(Delta::Text(text.to_owned()))
}

pub(crate) fn end(reason: StopReason) -> Say {
    let usage = Usage { input_tokens: Some(7), output_tokens: Some(3), total_tokens: Some(10), ..Usage::default() };
    Say::Delta(Delta::End { reason, usage, model: None })
}

pub(crate) fn stop() -> Say {
    end(StopReason::Stop)
}

pub(crate) fn fail(kind: ProviderErrorKind) -> Say {
    Say::Fail(ProviderError::new(kind, format!("the model failed: {}", kind.code())))
}

pub(crate) fn call(name: &str, arguments: &str) -> Vec<Say> {
    vec![
        Say::Delta(Delta::ToolCall { index: 0, id: Some("call_of_the_provider".into()), name: name.into() }),
        Say::Delta(Delta::ToolArguments { index: 0, fragment: arguments.into() }),
        end(StopReason::ToolCalls),
    ]
}

/// Plays its script, then echoes; records what it was asked.
pub(crate) struct Model {
    script: Mutex<VecDeque<Vec<Say>>>,
    asked: Mutex<Vec<Completion>>,
    key_missing: Mutex<bool>,
    left_alone: Mutex<bool>,
    cut: watch::Sender<usize>,
}

struct Watched {
    inner: DeltaStream,
    ended: bool,
    cut: watch::Sender<usize>,
}

impl Stream for Watched {
    type Item = Result<Delta, ProviderError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.inner.as_mut().poll_next(context);
        if let Poll::Ready(Some(Ok(Delta::End { .. }) | Err(_)) | None) = &polled {
            self.ended = true;
        }
        polled
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.ended {
            self.cut.send_modify(|cut| *cut += 1);
        }
    }
}

impl Default for Model {
    fn default() -> Self {
        Self {
            script: Mutex::default(),
            asked: Mutex::default(),
            key_missing: Mutex::default(),
            left_alone: Mutex::default(),
            cut: watch::Sender::new(0),
        }
    }
}

impl Model {
    pub(crate) fn say(&self, said: impl IntoIterator<Item = Say>) {
        self.script.lock().unwrap().push_back(said.into_iter().collect());
    }

    pub(crate) fn asked(&self) -> Vec<Completion> {
        self.asked.lock().unwrap().clone()
    }

    /// The newest prompt in short: `system: … | user: … | assistant: …`.
    pub(crate) fn prompt(&self) -> String {
        self.asked().last().map(|asked| short(&asked.messages)).unwrap_or_default()
    }

    pub(crate) fn lose_key(&self) {
        *self.key_missing.lock().unwrap() = true;
    }

    /// From now on it is left alone.
    pub(crate) fn leave_alone(&self) {
        *self.left_alone.lock().unwrap() = true;
    }

    /// Waits until so many calls were given up before their end.
    pub(crate) async fn cut(&self, count: usize) {
        let mut cut = self.cut.subscribe();
        cut.wait_for(|seen| *seen >= count).await.expect("the sender is ours");
    }
}

fn short(messages: &[PromptMessage]) -> String {
    let one = |message: &PromptMessage| match message {
        PromptMessage::System(text) => format!("system: {text}"),
        PromptMessage::User(parts) => format!("user: {}", parts.iter().map(user_part).collect::<String>()),
        PromptMessage::Assistant { text, calls, .. } => {
            let calls: String = calls.iter().map(|call| format!("[{}]", call.name)).collect();
            format!("assistant: {text}{calls}")
        }
        PromptMessage::Tool(results) => format!("tool: {}", results.iter().map(output).collect::<String>()),
    };
    messages.iter().map(one).collect::<Vec<_>>().join(" | ")
}

fn user_part(part: &UserPart) -> String {
    match part {
        UserPart::Text(text) => text.clone(),
        UserPart::File { media_type, .. } => format!("<{media_type}>"),
    }
}

fn output(result: &ToolResult) -> String {
    result.output.to_string()
}

fn echo(completion: &Completion) -> Vec<Say> {
    let newest = completion.messages.iter().rev().find_map(|message| match message {
        PromptMessage::User(parts) => Some(parts.iter().map(user_part).collect::<String>()),
        _ => None,
    });
    vec![words("echo: "), words(&newest.unwrap_or_default()), stop()]
}

impl Provider for Model {
    fn name(&self) -> &str {
        "stub"
    }

    fn ready(&self) -> Result<(), ProviderError> {
        if *self.key_missing.lock().unwrap() {
            return Err(ProviderError::new(ProviderErrorKind::KeyMissing, "the variable `STUB_KEY` is not set"));
        }
        Ok(())
    }

    fn circuit(&self) -> Circuit {
        if *self.left_alone.lock().unwrap() { Circuit::Open } else { Circuit::Closed }
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<DeltaStream, ProviderError>> {
        let scripted = self.script.lock().unwrap().pop_front();
        let said = scripted.unwrap_or_else(|| echo(&completion));
        self.asked.lock().unwrap().push(completion);
        let steps = stream::iter(said).filter_map(|say| async move {
            match say {
                Say::Delta(delta) => Some(Ok(delta)),
                Say::Fail(error) => Some(Err(error)),
                Say::Wait(gate) => {
                    gate.notified().await;
                    None
                }
                Say::Panic => panic!("the model crashes on purpose"),
            }
        });
        let watched = Watched { inner: Box::pin(steps), ended: false, cut: self.cut.clone() };
        Box::pin(async move { Ok(Box::pin(watched) as DeltaStream) })
    }
}

pub(crate) struct Models(pub(crate) Arc<Model>);

impl ModelSource for Models {
    fn resolve(&self, choice: &ModelChoice) -> Result<BoundModel, NameFault> {
        match choice {
            ModelChoice::Named(name) if name.starts_with("nobody/") => {
                Err(NameFault { code: "unknown_provider", message: "unknown provider `nobody`".into(), help: None })
            }
            _ => {
                let provider = Arc::clone(&self.0) as Arc<dyn Provider>;
                Ok(BoundModel { name: "stub/echo".into(), provider, model: "echo".into() })
            }
        }
    }
}

/// `add {a, b}`; fails for 13.
pub(crate) struct Add(ToolSpec);

impl Tool for Add {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, arguments: Map<String, Value>, _: ToolContext) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let number = |name: &str| arguments.get(name).and_then(Value::as_i64).unwrap_or_default();
            match number("a") {
                13 => Err(ToolError { code: "unlucky", message: "13 is not added".into() }),
                a => Ok(json!({"sum": a + number("b")})),
            }
        })
    }
}

pub(crate) struct AddMaker;

impl ToolMaker for AddMaker {
    fn make(&self, _: &Map<String, Value>) -> Result<Arc<dyn Tool>, SettingsError> {
        let properties = json!({"a": {"type": "integer"}, "b": {"type": "integer"}});
        let input_schema = json!({"type": "object", "properties": properties, "required": ["a", "b"]});
        Ok(Arc::new(Add(ToolSpec { name: "add".into(), description: "Adds.".into(), input_schema })))
    }
}

pub(crate) struct Factory(pub(crate) Arc<dyn SessionStore>);

impl MemoryFactory for Factory {
    fn create(&self, config: &MemoryConfig) -> Result<Memory, FactoryError> {
        Ok(Memory::new(Arc::clone(&self.0), config))
    }
}

/// A text as its counts of letters: texts of the same letters are near.
pub(crate) struct Letters;

impl Embedder for Letters {
    fn space(&self) -> &str {
        "letters-26"
    }

    fn dimensions(&self) -> usize {
        26
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        let vectors = texts.iter().map(|text| {
            let mut counts = [0.0_f32; 26];
            for letter in text.bytes().filter(u8::is_ascii_alphabetic) {
                counts[usize::from(letter.to_ascii_lowercase() - b'a')] += 1.0;
            }
            let length = counts.iter().map(|count| count * count).sum::<f32>().sqrt().max(1.0);
            counts.iter().map(|count| count / length).collect()
        });
        Box::pin(std::future::ready(Ok(vectors.collect())))
    }
}

//! A model that says what a test tells it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use roster_model::BoxFuture;
use roster_model::provider::{
    Circuit, Completion, Delta, DeltaStream, FailedAttempt, PromptMessage, Provider, ProviderError, ProviderErrorKind,
    StopReason, Usage, UserPart,
};
use tokio::sync::Notify;

/// One thing a scripted model does.
pub enum Say {
    Delta(Delta),
    Fail(ProviderError),
    /// The provider failed like this and asked again by itself.
    Again(ProviderErrorKind),
    /// Waits until the test opens the gate.
    Wait(Arc<Notify>),
}

pub fn text(words: &str) -> Vec<Say> {
    vec![Say::Delta(Delta::Text(words.into())), end(StopReason::Stop)]
}

pub fn end(reason: StopReason) -> Say {
    let usage = Usage { input_tokens: Some(7), output_tokens: Some(3), total_tokens: Some(10), ..Usage::default() };
    Say::Delta(Delta::End { reason, usage, model: None })
}

/// Calls, each with id, name and the text of its arguments.
pub fn calls(calls: &[(&str, &str, &str)]) -> Vec<Say> {
    let mut said = Vec::new();
    for (index, (id, name, arguments)) in calls.iter().enumerate() {
        let id = (!id.is_empty()).then(|| (*id).to_owned());
        said.push(Say::Delta(Delta::ToolCall { index, id, name: (*name).into() }));
        said.push(Say::Delta(Delta::ToolArguments { index, fragment: (*arguments).into() }));
    }
    said.push(end(StopReason::ToolCalls));
    said
}

type Fallback = Box<dyn Fn(&Completion) -> Vec<Say> + Send + Sync>;

/// A model that plays a script and records what it was asked.
#[derive(Default)]
pub struct Model {
    script: Mutex<VecDeque<Vec<Say>>>,
    fallback: Mutex<Option<Fallback>>,
    pub asked: Mutex<Vec<Completion>>,
    /// How its circuit stands; closed unless a test says otherwise.
    pub circuit: Mutex<Option<Circuit>>,
    /// Streams dropped before their end.
    pub cut: Arc<AtomicUsize>,
    pub cut_notice: Arc<Notify>,
}

struct Watched {
    inner: DeltaStream,
    ended: bool,
    cut: Arc<AtomicUsize>,
    notice: Arc<Notify>,
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
            self.cut.fetch_add(1, Ordering::SeqCst);
            self.notice.notify_one();
        }
    }
}

impl Model {
    pub fn say(&self, said: Vec<Say>) {
        self.script.lock().unwrap().push_back(said);
    }

    pub fn always(&self, fallback: impl Fn(&Completion) -> Vec<Say> + Send + Sync + 'static) {
        *self.fallback.lock().unwrap() = Some(Box::new(fallback));
    }

    /// The prompts so far, in short: `system | user: q | assistant: a`.
    pub fn prompts(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|asked| short(&asked.messages)).collect()
    }
}

pub fn short(messages: &[PromptMessage]) -> String {
    let one = |message: &PromptMessage| match message {
        PromptMessage::System(text) => format!("system: {text}"),
        PromptMessage::User(parts) => {
            let words = parts.iter().map(|part| match part {
                UserPart::Text(text) => text.clone(),
                UserPart::File { .. } => "<file>".to_owned(),
            });
            format!("user: {}", words.collect::<String>())
        }
        PromptMessage::Assistant { text, calls, .. } if calls.is_empty() => format!("assistant: {text}"),
        PromptMessage::Assistant { text, calls, .. } => {
            let ids: Vec<_> = calls.iter().map(|call| format!("{}:{}", call.name, call.id)).collect();
            format!("assistant: {text}[{}]", ids.join(","))
        }
        PromptMessage::Tool(results) => {
            let all: Vec<_> = results.iter().map(|result| format!("{}={}", result.call_id, result.output)).collect();
            format!("tool: {}", all.join(","))
        }
    };
    messages.iter().map(one).collect::<Vec<_>>().join(" | ")
}

impl Provider for Model {
    fn name(&self) -> &str {
        "stub"
    }

    fn circuit(&self) -> Circuit {
        self.circuit.lock().unwrap().unwrap_or(Circuit::Closed)
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<DeltaStream, ProviderError>> {
        let scripted = self.script.lock().unwrap().pop_front();
        let said = scripted.unwrap_or_else(|| match &*self.fallback.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(fallback) => fallback(&completion),
            None => text("ok"),
        });
        for say in &said {
            if let Say::Again(kind) = say {
                completion.attempts.note(FailedAttempt { kind: *kind, waited: Duration::ZERO });
            }
        }
        self.asked.lock().unwrap().push(completion);
        let steps = stream::iter(said).filter_map(|say| async move {
            match say {
                Say::Delta(delta) => Some(Ok(delta)),
                Say::Fail(error) => Some(Err(error)),
                Say::Again(_) => None,
                Say::Wait(gate) => {
                    gate.notified().await;
                    None
                }
            }
        });
        let watched = Watched {
            inner: Box::pin(steps),
            ended: false,
            cut: Arc::clone(&self.cut),
            notice: Arc::clone(&self.cut_notice),
        };
        Box::pin(async move { Ok(Box::pin(watched) as DeltaStream) })
    }
}

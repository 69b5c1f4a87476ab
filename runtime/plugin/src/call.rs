//! One call as who asked sees it: pieces as they come, one end, given up at its deadline or when it is dropped.

mod slot;

pub(crate) use slot::{Place, Slot};

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use roster_abi::code::{CANCEL_CALLER, CANCEL_DEADLINE, E_TOO_LARGE, ENC_JSON};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::plugin::{Generation, Plugin};

/// Why a call gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// The plugin's own code, or one of the host's: `plugin_crashed`, `plugin_timeout`, `plugin_bad_output`,
    /// `plugin_restarted`, `plugin_unavailable`.
    pub code: String,
    /// For people; from a plugin, for a tool also for the model.
    pub message: String,
    /// Whether the same call may succeed a moment later.
    pub retryable: bool,
    /// The output was there, and larger than the operator allows.
    pub(crate) too_large: bool,
}

impl CallError {
    /// An error of the host's.
    pub(crate) fn host(code: &str, message: impl Into<String>, retryable: bool) -> Self {
        Self { code: code.to_owned(), message: message.into(), retryable, too_large: false }
    }

    /// What the plugin said.
    pub(crate) fn told(status: i32, error: &[u8]) -> Self {
        let told = crate::status::told(status, error);
        let too_large = status == E_TOO_LARGE;
        Self { code: told.code, message: told.message, retryable: told.retryable, too_large }
    }
}

/// Bytes and what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// `ENC_*` of `roster_abi::code`.
    pub encoding: u32,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// How deep a plugin's JSON may nest; the parser's own limit.
const SHOWN: usize = 200;

impl Payload {
    /// JSON.
    #[must_use]
    pub fn json(value: &impl serde::Serialize) -> Self {
        // Values of ours have string keys and finite numbers.
        Self { encoding: ENC_JSON, bytes: serde_json::to_vec(value).unwrap_or_default() }
    }

    /// Reads JSON into what it should be.
    ///
    /// # Errors
    /// `plugin_bad_output` with the first 200 bytes.
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, CallError> {
        let bad = |why: String| {
            let shown = String::from_utf8_lossy(self.bytes.get(..self.bytes.len().min(SHOWN)).unwrap_or_default());
            CallError::host("plugin_bad_output", format!("{why}; it begins with: {shown}"), false)
        };
        if self.encoding != ENC_JSON {
            return Err(bad(format!("the output is no JSON but encoding {}", self.encoding)));
        }
        serde_json::from_slice(&self.bytes).map_err(|error| bad(format!("the output cannot be read ({error})")))
    }
}

/// What a call brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// How far it is; JSON.
    Progress(Vec<u8>),
    /// A piece of the answer, in order.
    Chunk(Payload),
    /// The end, last.
    Done(Result<Payload, CallError>),
}

/// A call under way. Dropping it cancels the call.
pub struct Call {
    pub(crate) id: u64,
    pub(crate) slot: Arc<Slot>,
    pub(crate) plugin: Arc<Plugin>,
    pub(crate) generation: Arc<Generation>,
    pub(crate) deadline: Instant,
    pub(crate) began: Instant,
    /// Made when the call is waited for.
    pub(crate) sleep: Option<Pin<Box<Sleep>>>,
    pub(crate) over: bool,
}

impl Call {
    /// The next event; after [`Event::Done`] nothing may be asked any more.
    pub async fn next(&mut self) -> Event {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The end, whatever comes before.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn end(mut self) -> Result<Payload, CallError> {
        loop {
            if let Event::Done(outcome) = self.next().await {
                return outcome;
            }
        }
    }

    /// As [`Call::next`].
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        if let Poll::Ready(event) = self.slot.poll(context) {
            match &event {
                Event::Chunk(chunk) => self.generation.credit(self.id, chunk.bytes.len()),
                Event::Done(outcome) => {
                    self.over = true;
                    self.plugin.finished(&self.generation, outcome, self.began.elapsed());
                }
                Event::Progress(_) => {}
            }
            return Poll::Ready(event);
        }
        let deadline = self.deadline;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.give_up(CANCEL_DEADLINE);
        let waited = deadline.saturating_duration_since(self.began);
        let message = format!("plugin `{}` did not answer within {} ms", self.plugin.key(), waited.as_millis());
        let outcome = Err(CallError::host("plugin_timeout", message, true));
        self.plugin.finished(&self.generation, &outcome, self.began.elapsed());
        Poll::Ready(Event::Done(outcome))
    }

    fn give_up(&mut self, reason: u32) {
        self.over = true;
        self.plugin.orphan(&self.generation, self.id, Arc::clone(&self.slot), reason);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.over {
            self.give_up(CANCEL_CALLER);
            self.plugin.counters.error("cancelled");
        }
    }
}

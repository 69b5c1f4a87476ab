//! Model providers: the socket every dialect is plugged into.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_core::Stream;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::BoxFuture;
use crate::message::{FileData, ToolCall, ToolResult};

/// A message as a provider is given it. Made only by the transcript reader and the turn's context; always legal.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptMessage {
    /// Instructions.
    System(String),
    /// What the person said.
    User(Vec<UserPart>),
    /// What the model said in one step.
    Assistant {
        /// Words; empty when it only called tools.
        text: String,
        /// Thinking that the provider wants back, with its opaque part.
        reasoning: Vec<(String, Option<Value>)>,
        /// Calls; each has exactly one result in the `Tool` message that follows.
        calls: Vec<ToolCall>,
    },
    /// Results of the calls before, one each, in the order of the calls.
    Tool(Vec<ToolResult>),
}

/// A piece of a user's message.
#[derive(Debug, Clone, PartialEq)]
pub enum UserPart {
    /// Words.
    Text(String),
    /// An image or another file.
    File {
        /// Media type.
        media_type: String,
        /// Bytes or address.
        data: FileData,
    },
}

/// A tool as the model is offered it.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTool {
    /// Legal for every provider: `[A-Za-z0-9_-]`, at most 64.
    pub name: String,
    /// For the model.
    pub description: String,
    /// JSON Schema of the arguments; agents that use the same tool share it.
    pub input_schema: Arc<Value>,
}

/// Whether the model may, must or must not call tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it sees fit.
    Auto,
    /// None.
    None,
    /// At least one.
    Required,
    /// This one, by the name offered.
    Named(String),
}

/// Settings of a model call. `None` leaves it to the provider.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelSettings {
    /// Randomness.
    pub temperature: Option<f64>,
    /// Nucleus.
    pub top_p: Option<f64>,
    /// Candidates.
    pub top_k: Option<u32>,
    /// Most tokens to write.
    pub max_output_tokens: Option<u32>,
    /// Texts that end the answer.
    pub stop: Vec<String>,
    /// For repeatable sampling.
    pub seed: Option<i64>,
    /// Against topics already there.
    pub presence_penalty: Option<f64>,
    /// Against words already there.
    pub frequency_penalty: Option<f64>,
    /// `low`, `medium`, `high` or what the provider knows.
    pub reasoning_effort: Option<String>,
    /// Tools: may, must, must not.
    pub tool_choice: Option<ToolChoice>,
    /// How often a failed call is tried again before a token went out; `None`: 2.
    pub max_retries: Option<u32>,
    /// For one model call, from request to last token.
    pub timeout: Option<Duration>,
    /// Passed through into the request's body as they are.
    pub provider_options: Map<String, Value>,
}

/// One model call.
#[derive(Debug, Clone)]
pub struct Completion {
    /// The provider's own name of the model: what stands after the first `/`.
    pub model: String,
    /// What is said so far.
    pub messages: Vec<PromptMessage>,
    /// Tools offered; fixed at registration.
    pub tools: Arc<[OfferedTool]>,
    /// JSON Schema that the answer's text should be a JSON document of. Dialects ask the provider to keep to it; only
    /// who reads the answer can know whether it did.
    pub output_schema: Option<Arc<Value>>,
    /// Settings.
    pub settings: ModelSettings,
    /// Where the provider notes the attempts it makes again; kept by who asks.
    pub attempts: Arc<Attempts>,
}

/// The attempts of one call that failed and were made again, for traces and metrics.
#[derive(Debug, Default)]
pub struct Attempts(Mutex<Vec<FailedAttempt>>);

/// An attempt that failed and was made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedAttempt {
    /// Why it failed.
    pub kind: ProviderErrorKind,
    /// How long was waited before the next.
    pub waited: Duration,
}

impl Attempts {
    /// Notes one.
    pub fn note(&self, failed: FailedAttempt) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(failed);
    }

    /// All so far, in order.
    #[must_use]
    pub fn failed(&self) -> Vec<FailedAttempt> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whether a provider is asked at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Circuit {
    /// As usual.
    Closed,
    /// One call is under way to find out whether it is well again; all others fail at once.
    HalfOpen,
    /// Left alone for a while after failures in a row; calls fail at once.
    Open,
}

impl Circuit {
    /// The word in traces and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::HalfOpen => "half_open",
            Self::Open => "open",
        }
    }
}

/// Tokens counted by the provider. `None`: not told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub input_tokens: Option<u64>,
    /// Tokens of the answer, reasoning included.
    pub output_tokens: Option<u64>,
    /// Both, as told or added up.
    pub total_tokens: Option<u64>,
    /// Tokens of the prompt that came from the provider's cache.
    pub cached_input_tokens: Option<u64>,
    /// Tokens of the answer spent on reasoning.
    pub reasoning_tokens: Option<u64>,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// It was done.
    Stop,
    /// `max_output_tokens` or the context was used up.
    Length,
    /// It wants tools run.
    ToolCalls,
    /// The provider's filter.
    ContentFilter,
}

/// A piece of a model's answer as it arrives.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Words.
    Text(String),
    /// Thinking.
    Reasoning(String),
    /// What the provider wants back with the thinking so far, unchanged.
    ReasoningOpaque(Value),
    /// A tool call begins.
    ToolCall {
        /// 0, 1, 2 … in the order the calls began; given by the dialect, never taken from the wire.
        index: usize,
        /// The provider's id, if it gave one. The turn makes it unique in the thread.
        id: Option<String>,
        /// The name.
        name: String,
    },
    /// A piece of a call's arguments: JSON text, cut anywhere.
    ToolArguments {
        /// Which call.
        index: usize,
        /// The piece.
        fragment: String,
    },
    /// The end, exactly once and last. A stream that ends without one is an error the dialect reports itself.
    End {
        /// Why it stopped.
        reason: StopReason,
        /// Tokens.
        usage: Usage,
        /// The model that answered, where told.
        model: Option<String>,
    },
}

/// A model's answer as it arrives. Dropping it closes the connection. After an `Err` nothing more comes; an error may
/// carry the usage known so far.
pub type DeltaStream = Pin<Box<dyn Stream<Item = Result<Delta, ProviderError>> + Send>>;

/// What kind of failure a provider had; decides retry and status code, in one place each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderErrorKind {
    /// The variable that should hold the key is not set. Ours to fix.
    KeyMissing,
    /// No connection.
    Connect,
    /// No answer in time.
    Timeout,
    /// 401, 403.
    Auth,
    /// 429.
    RateLimited,
    /// 503, 529 and in-band overload.
    Overloaded,
    /// 5xx.
    Server,
    /// 404: no such model or address.
    NotFound,
    /// 400 and other refusals of the request.
    BadRequest,
    /// The prompt is too long for the model.
    ContextLength,
    /// Refused by a filter.
    ContentFilter,
    /// The answer broke off before its end.
    Truncated,
    /// An answer that cannot be read.
    Protocol,
    /// An answer with nothing in it.
    Empty,
}

impl ProviderErrorKind {
    /// Machine code shown to clients.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::KeyMissing => "provider_key_missing",
            Self::Connect => "provider_unreachable",
            Self::Timeout => "provider_timeout",
            Self::Auth => "provider_auth",
            Self::RateLimited => "provider_rate_limited",
            Self::Overloaded => "provider_overloaded",
            Self::Server => "provider_error",
            Self::NotFound => "provider_not_found",
            Self::BadRequest => "provider_bad_request",
            Self::ContextLength => "context_length_exceeded",
            Self::ContentFilter => "content_filter",
            Self::Truncated => "provider_truncated",
            Self::Protocol => "provider_protocol",
            Self::Empty => "provider_empty_answer",
        }
    }

    /// The kind that has this code.
    #[must_use]
    pub fn of_code(code: &str) -> Option<Self> {
        let all = [
            Self::KeyMissing,
            Self::Connect,
            Self::Timeout,
            Self::Auth,
            Self::RateLimited,
            Self::Overloaded,
            Self::Server,
            Self::NotFound,
            Self::BadRequest,
            Self::ContextLength,
            Self::ContentFilter,
            Self::Truncated,
            Self::Protocol,
            Self::Empty,
        ];
        all.into_iter().find(|kind| kind.code() == code)
    }

    /// Whether the same call may succeed a moment later.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::Connect
                | Self::Timeout
                | Self::RateLimited
                | Self::Overloaded
                | Self::Server
                | Self::Truncated
                | Self::Protocol
                | Self::Empty
        )
    }
}

/// A provider's failure.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// What kind.
    pub kind: ProviderErrorKind,
    /// For people: what failed, with the provider's own short reason; no key, no address with credentials.
    pub message: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// Tokens known to be used before the failure.
    pub usage: Usage,
}

impl ProviderError {
    /// A failure of this kind with this message.
    #[must_use]
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after: None, usage: Usage::default() }
    }
}

/// A provider of models. One object serves all models of the provider.
pub trait Provider: Send + Sync + 'static {
    /// The provider's key in the configuration: `openai`, `demo`.
    fn name(&self) -> &str;
    /// Whether a call could be made at all: its key is there. Asked before a turn stores anything.
    ///
    /// # Errors
    /// `KeyMissing` naming the variable.
    fn ready(&self) -> Result<(), ProviderError> {
        Ok(())
    }
    /// Whether it is asked as usual, or left alone after failures in a row.
    fn circuit(&self) -> Circuit {
        Circuit::Closed
    }
    /// Asks the model. Retries before the first delta are the provider's own business (its one retry policy); after a
    /// delta was yielded nothing is retried. Dropping the future or the stream cancels the call.
    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<DeltaStream, ProviderError>>;
}

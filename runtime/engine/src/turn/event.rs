//! What happens in a turn, in order.

use std::time::Duration;

use roster_model::id::{MessageId, ThreadKey, TurnId};
use roster_model::message::ToolResult;
use roster_model::provider::{ProviderError, ProviderErrorKind, StopReason, Usage};
use roster_model::storage::{StoreError, StoreErrorKind};
use serde::Serialize;
use serde_json::{Map, Value};

/// An event of a turn. The first is `Started` or `Failed`; the last is `Finished` or `Failed`, exactly one of them.
#[derive(Debug, Clone)]
pub enum TurnEvent {
    /// The question is stored (where there is memory); the model is asked next.
    Started {
        /// The turn.
        turn: TurnId,
        /// Owner and thread; of an agent without memory nothing is stored under it.
        key: ThreadKey,
        /// The id the assistant's message has or will have.
        message: MessageId,
    },
    /// Words.
    Text(String),
    /// Thinking.
    Reasoning(String),
    /// The model begins to write a call.
    ToolStarted {
        /// The call's id, unique in the thread.
        id: String,
        /// The name the model used.
        name: String,
    },
    /// A piece of the call's arguments: JSON text, cut anywhere.
    ToolArguments {
        /// The call's id.
        id: String,
        /// The piece.
        fragment: String,
    },
    /// The call is whole; it runs next, or waits for a person.
    ToolCalled {
        /// The call's id.
        id: String,
        /// The name the model used.
        name: String,
        /// The arguments; empty when they were malformed.
        arguments: Map<String, Value>,
        /// True when a person must approve it first.
        approval: bool,
    },
    /// The call has its result. Calls of one step finish in any order.
    ToolFinished(ToolResult),
    /// A model call and its tools are over.
    StepFinished {
        /// Why the model stopped.
        reason: StopReason,
        /// Its tokens.
        usage: Usage,
    },
    /// The answer is whole and, where there is memory, durable.
    Finished {
        /// Why it ended.
        reason: FinishReason,
        /// Tokens of all steps.
        usage: Usage,
    },
    /// The turn failed; what was said so far is stored and marked.
    Failed(Failure),
}

/// Why a turn ended. The words are those of the doors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    /// The model was done.
    Stop,
    /// Out of tokens.
    Length,
    /// `max_steps` was reached while the model still called tools.
    ToolCalls,
    /// The provider's filter.
    ContentFilter,
    /// It failed.
    Error,
    /// It was cancelled.
    Interrupted,
    /// Calls wait for a person; the turn can go on.
    Suspended,
    /// Calls of the client's own tools went out; the turn goes on with their results.
    #[serde(rename = "tool-calls")]
    ClientCalls,
}

impl FinishReason {
    /// Whether the turn can go on.
    pub(super) fn waits(self) -> bool {
        matches!(self, Self::Suspended | Self::ClientCalls)
    }

    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls | Self::ClientCalls => "tool-calls",
            Self::ContentFilter => "content-filter",
            Self::Error => "error",
            Self::Interrupted => "interrupted",
            Self::Suspended => "suspended",
        }
    }
}

impl From<StopReason> for FinishReason {
    fn from(reason: StopReason) -> Self {
        match reason {
            StopReason::Stop => Self::Stop,
            StopReason::Length => Self::Length,
            StopReason::ToolCalls => Self::ToolCalls,
            StopReason::ContentFilter => Self::ContentFilter,
        }
    }
}

/// Whose fault a failure is; decides the status code, in one place (`server`'s `http/error`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The model provider's.
    Provider(ProviderErrorKind),
    /// The store's.
    Store(StoreErrorKind),
    /// `turn_timeout` passed.
    Timeout,
    /// The client left, someone cancelled, or the runtime is stopping.
    Cancelled,
    /// A sub-agent tree used up its budget of model calls.
    Budget,
    /// A processor ended the turn on purpose.
    Blocked,
    /// A processor failed, and the definition lets nothing pass it unseen.
    Processor,
    /// Ours.
    Internal,
}

/// A failure as clients may see it.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// Machine code.
    pub code: &'static str,
    /// For people; no path, SQL, secret or stack.
    pub message: String,
    /// How long to wait before trying again, where known.
    pub retry_after: Option<Duration>,
    /// Tokens used before it failed.
    pub usage: Usage,
    /// `error`, or `interrupted` for a cancelled turn.
    pub reason: FinishReason,
    /// The assistant's row that holds what was said so far; `None` when none was stored.
    pub row: Option<MessageId>,
    /// True when the question is stored: asking again stores it again.
    pub question_stored: bool,
}

impl Failure {
    /// Whether operators want to read of it: not when the client left, and not when a decision came too late.
    pub(super) fn is_news(&self) -> bool {
        self.kind != FailureKind::Cancelled && !self.is_late()
    }

    /// Whether a decision or results came when nothing waited for them any more: no turn went on, so none failed.
    pub(super) fn is_late(&self) -> bool {
        matches!(self.code, "turn_not_suspended" | "turn_not_found" | "results_not_awaited" | "call_decided")
    }

    /// A failure of this kind.
    #[must_use]
    pub fn new(kind: FailureKind, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            code,
            message: message.into(),
            retry_after: None,
            usage: Usage::default(),
            reason: FinishReason::Error,
            row: None,
            question_stored: false,
        }
    }

    /// A cancelled turn.
    #[must_use]
    pub fn cancelled() -> Self {
        let mut failure = Self::new(FailureKind::Cancelled, "cancelled", "the turn was cancelled");
        failure.reason = FinishReason::Interrupted;
        failure
    }

    /// Whether the thread was deleted under the turn.
    pub(super) fn is_of_deleted(&self) -> bool {
        self.kind == FailureKind::Store(StoreErrorKind::NotFound)
    }
}

impl From<ProviderError> for Failure {
    fn from(error: ProviderError) -> Self {
        let mut failure = Self::new(FailureKind::Provider(error.kind), error.kind.code(), error.message);
        failure.retry_after = error.retry_after;
        failure.usage = error.usage;
        failure
    }
}

impl From<&StoreError> for Failure {
    /// The store's own words stay in the log: they may hold paths.
    fn from(error: &StoreError) -> Self {
        let (code, message) = match error.kind {
            StoreErrorKind::NotFound => ("thread_deleted", "the conversation was deleted while it was being answered"),
            StoreErrorKind::Conflict => ("message_conflict", "a message with this id is already in the conversation"),
            StoreErrorKind::Unavailable => ("sessions_unavailable", "the sessions store cannot be used at the moment"),
            StoreErrorKind::Full => ("storage_full", "not saved: the disk of the sessions store is full"),
            StoreErrorKind::Busy => ("busy", "too much is waiting for the sessions store; try again"),
            StoreErrorKind::Elsewhere => (
                "thread_elsewhere",
                "the agent keeps its conversations elsewhere now, and this one stays where it is: begin another one",
            ),
            StoreErrorKind::Unsupported => ("not_supported", "the memory that keeps this conversation cannot do that"),
            StoreErrorKind::Invalid | StoreErrorKind::Internal => ("internal", "not saved: the sessions store failed"),
        };
        Self::new(FailureKind::Store(error.kind), code, message)
    }
}

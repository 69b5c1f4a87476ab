//! Turns that wait: for a person, who must approve calls of tools, or for their client, which runs tools of its own.
//!
//! Such a turn's assistant row has the status [`MessageStatus::Suspended`] or [`MessageStatus::Awaiting`] and holds the
//! calls that wait: those without a result. Nothing else is kept of it, so it outlives its process.

use std::time::Duration;

use serde_json::Value;

use crate::id::{ResourceId, ThreadKey, TurnId};
use crate::message::{Message, MessageStatus, Part, Seq, StoredMessage, ToolCall, ToolResult};
use crate::storage::StoreResult;
use crate::time::Timestamp;

/// How long a call waits; after that it can only be asked for again.
pub const EXPIRES_AFTER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// What a model is told of a call nobody decided about before the conversation went on.
pub const NOT_DECIDED: &str =
    "This call needs a person's approval, which was not given before the conversation went on. It was not run.";

/// What a model is told of a call of the client's own tool whose result never came.
pub const NO_RESULT: &str = "The conversation went on without a result of this call.";

/// A turn that waits, or did once.
#[derive(Debug, Clone, PartialEq)]
pub struct SuspendedTurn {
    /// Owner and thread.
    pub key: ThreadKey,
    /// The turn.
    pub turn: TurnId,
    /// Its assistant row as it is now; its date is the moment it was suspended, as long as it is.
    pub row: StoredMessage,
}

impl SuspendedTurn {
    /// Whether it still waits: it was not decided, overtaken by a new message, or left for [`EXPIRES_AFTER`].
    #[must_use]
    pub fn waits(&self, now: Timestamp) -> bool {
        self.row.message.status.is_waiting() && !is_expired(self.row.message.created_at, now)
    }

    /// The calls that wait.
    #[must_use]
    pub fn calls(&self) -> Vec<&ToolCall> {
        open_calls(&self.row.message.parts)
    }
}

/// A turn that goes on; its row says `running` from now on.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumedTurn {
    /// The turn.
    pub turn: SuspendedTurn,
    /// The seq of its question, where that is still there.
    pub question: Option<Seq>,
}

/// Whether what was suspended then can no longer be decided.
#[must_use]
pub fn is_expired(suspended: Timestamp, now: Timestamp) -> bool {
    let most = i64::try_from(EXPIRES_AFTER.as_millis()).unwrap_or(i64::MAX);
    now.millis().saturating_sub(suspended.millis()) >= most
}

/// The calls of a row that have no result.
#[must_use]
pub fn open_calls(parts: &[Part]) -> Vec<&ToolCall> {
    let answered = |id: &str| parts.iter().any(|part| matches!(part, Part::ToolResult(result) if result.call_id == id));
    let calls = parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) if !answered(&call.id) => Some(call),
        _ => None,
    });
    calls.collect()
}

impl Message {
    /// The message when nobody goes on with its turn: one that runs or waits is interrupted, and the model is told of
    /// the calls that waited what became of them.
    pub fn abandon(&mut self) {
        if self.status.is_waiting() {
            let why = if self.status == MessageStatus::Suspended { NOT_DECIDED } else { NO_RESULT };
            let refused = |call: &ToolCall| {
                Part::ToolResult(ToolResult {
                    call_id: call.id.clone(),
                    name: call.name.clone(),
                    output: Value::from(why),
                    is_error: true,
                    duration_ms: 0,
                })
            };
            let results: Vec<Part> = open_calls(&self.parts).into_iter().map(refused).collect();
            self.parts.extend(results);
        }
        if !self.status.is_ended() {
            self.status = MessageStatus::Interrupted;
        }
    }
}

/// Turns that wait. A row saved with a status that [waits](MessageStatus::is_waiting) makes its turn one; a new turn in
/// the same thread overtakes it: the row is [abandoned](Message::abandon) in the transaction that stores the question.
pub trait SuspensionStore: Send + Sync + 'static {
    /// A turn of this owner that waits or once did.
    fn suspended_turn<'a>(
        &'a self,
        resource: &'a ResourceId,
        turn: &'a TurnId,
    ) -> StoreResult<'a, Option<SuspendedTurn>>;
    /// The turns of this owner that wait for a person, the newest first, at most `limit`.
    fn suspended_turns<'a>(&'a self, resource: &'a ResourceId, limit: usize) -> StoreResult<'a, Vec<SuspendedTurn>>;
    /// Takes the thread again for a turn that waits, and marks its row `running`. `NotFound` when no turn of this owner
    /// ever waited under this id; `Conflict` when it does not wait any more, or another turn has the thread.
    fn resume_turn<'a>(&'a self, resource: &'a ResourceId, turn: &'a TurnId) -> StoreResult<'a, ResumedTurn>;
}

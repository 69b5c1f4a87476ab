//! Turns that wait for a person, in JSON; for their owners and for operators.

use roster_model::id::{AgentId, MessageId, ResourceId, ThreadId, TurnId};
use roster_model::message::ToolCall;
use roster_model::suspension::{EXPIRES_AFTER, SuspendedTurn};
use roster_model::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

/// `{"turns": […]}`.
#[derive(Serialize)]
pub(crate) struct WaitingTurns<'a> {
    turns: Vec<WaitingTurn<'a>>,
}

/// One of them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WaitingTurn<'a> {
    id: &'a TurnId,
    status: &'static str,
    /// Only for operators: an owner knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<&'a ResourceId>,
    conversation_id: &'a ThreadId,
    message_id: &'a MessageId,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a AgentId>,
    suspended_at: Timestamp,
    expires_at: Timestamp,
    calls: Vec<WaitingCall<'a>>,
}

/// A call that waits.
#[derive(Serialize)]
pub(crate) struct WaitingCall<'a> {
    id: &'a str,
    name: &'a str,
    arguments: &'a Map<String, Value>,
}

impl<'a> From<&'a ToolCall> for WaitingCall<'a> {
    fn from(call: &'a ToolCall) -> Self {
        Self { id: &call.id, name: &call.name, arguments: &call.arguments }
    }
}

impl<'a> WaitingTurns<'a> {
    /// An owner's own.
    pub(crate) fn of_owner(turns: &'a [SuspendedTurn]) -> Self {
        Self { turns: turns.iter().map(|turn| WaitingTurn::new(turn, false)).collect() }
    }

    /// Those of all owners.
    pub(crate) fn of_all(turns: &'a [SuspendedTurn]) -> Self {
        Self { turns: turns.iter().map(|turn| WaitingTurn::new(turn, true)).collect() }
    }
}

impl<'a> WaitingTurn<'a> {
    fn new(turn: &'a SuspendedTurn, with_owner: bool) -> Self {
        let message = &turn.row.message;
        let lasts = i64::try_from(EXPIRES_AFTER.as_millis()).unwrap_or(i64::MAX);
        Self {
            id: &turn.turn,
            status: "suspended",
            resource: with_owner.then_some(&turn.key.resource),
            conversation_id: &turn.key.thread,
            message_id: &message.id,
            agent: message.origin.as_ref().map(|origin| &origin.agent),
            suspended_at: message.created_at,
            expires_at: Timestamp::from_millis(message.created_at.millis().saturating_add(lasts)),
            calls: turn.calls().into_iter().map(WaitingCall::from).collect(),
        }
    }
}

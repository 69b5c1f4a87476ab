//! What came of a decision, in one piece.

use axum::response::Response;
use http::StatusCode;
use roster_engine::turn::{Declined, FinishReason, TurnEvent, TurnStream};
use roster_model::id::{MessageId, ThreadId, TurnId};
use roster_model::message::ToolResult;
use roster_model::provider::Usage;
use roster_model::suspension::SuspendedTurn;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::http::error::ApiError;
use crate::http::json;
use crate::http::usage::WireUsage;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Decided<'a> {
    turn_id: &'a TurnId,
    conversation_id: &'a ThreadId,
    message_id: &'a MessageId,
    finish_reason: FinishReason,
    /// What was said since the decision.
    content: String,
    tool_calls: Vec<Call>,
    usage: WireUsage,
}

/// A call that was decided, that waits still, or that the model made since.
#[derive(Serialize)]
struct Call {
    id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Map<String, Value>>,
    /// True while it waits for a person.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    approval: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    /// Milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<u64>,
}

/// A turn without a last event.
pub(crate) fn broken_off() -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the turn broke off")
}

/// Waits for the whole turn.
///
/// # Errors
/// The turn's failure.
pub(crate) async fn answer(mut turn: TurnStream) -> Result<Response, ApiError> {
    let (mut content, mut calls) = (String::new(), Vec::new());
    loop {
        match turn.next().await {
            Some(TurnEvent::Text(piece)) => content.push_str(&piece),
            Some(TurnEvent::ToolCalled { id, name, arguments, approval }) => {
                let arguments = Some(arguments);
                calls.push(Call { id, name, arguments, approval, result: None, error: None, duration: None });
            }
            Some(TurnEvent::ToolFinished(result)) => finish(&mut calls, result),
            Some(TurnEvent::Finished { reason, usage }) => {
                return Ok(json::ok(&Decided {
                    turn_id: &turn.turn,
                    conversation_id: &turn.key.thread,
                    message_id: &turn.message,
                    finish_reason: reason,
                    content,
                    tool_calls: calls,
                    usage: usage.into(),
                }));
            }
            Some(TurnEvent::Failed(failure)) => return Err(failure.into()),
            Some(_) => {}
            None => return Err(broken_off()),
        }
    }
}

/// What came of declining calls of a turn that nobody goes on with.
pub(crate) fn ended(waiting: &SuspendedTurn, declined: Declined) -> Response {
    let mut calls = Vec::new();
    declined.results.into_iter().for_each(|result| finish(&mut calls, result));
    json::ok(&Decided {
        turn_id: &waiting.turn,
        conversation_id: &waiting.key.thread,
        message_id: &waiting.row.message.id,
        finish_reason: if declined.waits { FinishReason::Suspended } else { FinishReason::Interrupted },
        content: String::new(),
        tool_calls: calls,
        usage: Usage::default().into(),
    })
}

fn finish(calls: &mut Vec<Call>, result: ToolResult) {
    let ToolResult { call_id: id, name, output, is_error, duration_ms } = result;
    let (result, error) = if is_error { (None, Some(output)) } else { (Some(output), None) };
    let duration = Some(duration_ms);
    match calls.iter_mut().find(|call| call.id == id) {
        Some(call) => (call.result, call.error, call.duration) = (result, error, duration),
        // Called before the turn was suspended.
        None => calls.push(Call { id, name, arguments: None, approval: false, result, error, duration }),
    }
}

//! The answer in one piece.

use axum::response::Response;
use http::StatusCode;
use roster_engine::turn::{FinishReason, TurnEvent, TurnStream};
use roster_model::provider::Usage;
use serde::Serialize;

use super::Head;
use super::suspended::{Suspended, Waiting};
use super::usage::{WireUsage, finish_reason};
use crate::http::error::ApiError;
use crate::http::json;

#[derive(Serialize)]
struct Completion<'a> {
    id: &'a str,
    object: &'static str,
    created: i64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    /// `null` when it is not known.
    usage: Option<WireUsage>,
    /// Of a turn that waits for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    roster: Option<Suspended<'a>>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    message: Message<'a>,
    logprobs: Option<()>,
    finish_reason: Option<&'static str>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
    refusal: Option<()>,
    #[serde(skip_serializing_if = "str::is_empty")]
    reasoning_content: &'a str,
}

/// A turn without a last event.
pub(super) fn broken_off() -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the turn broke off")
}

/// Waits for the whole turn. Half an answer is never handed on: a failure is a status.
///
/// # Errors
/// The turn's failure.
pub(super) async fn answer(mut turn: TurnStream, head: Head) -> Result<Response, ApiError> {
    let (mut text, mut thinking) = (String::new(), String::new());
    let mut stored = false;
    let mut waiting = Vec::new();
    loop {
        let event = turn.next().await;
        waiting.extend(event.as_ref().and_then(Waiting::of));
        match event {
            Some(TurnEvent::Text(piece)) => text.push_str(&piece),
            Some(TurnEvent::Reasoning(piece)) => thinking.push_str(&piece),
            Some(TurnEvent::Finished { reason, usage }) => {
                let message =
                    Message { role: "assistant", content: &text, refusal: None, reasoning_content: &thinking };
                return Ok(completion(&head, message, reason, usage, &waiting));
            }
            Some(TurnEvent::Failed(failure)) => return Err(ApiError::from(failure).question_stored(stored)),
            Some(TurnEvent::Started { .. }) => stored = head.remembers,
            Some(_) => {}
            None => return Err(broken_off().question_stored(stored)),
        }
    }
}

fn completion(head: &Head, message: Message<'_>, reason: FinishReason, usage: Usage, waiting: &[Waiting]) -> Response {
    let choice = Choice { index: 0, message, logprobs: None, finish_reason: finish_reason(reason) };
    json::ok(&Completion {
        id: &head.id,
        object: "chat.completion",
        created: head.created,
        model: &head.model,
        choices: [choice],
        usage: WireUsage::of(usage),
        roster: Suspended::new(&head.turn, waiting),
    })
}

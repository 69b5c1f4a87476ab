//! The answer in one piece.

use axum::response::Response;
use http::StatusCode;
use roster_engine::turn::{ClientTools, FinishReason, TurnEvent, TurnStream};
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
    /// `null` when there are only calls.
    content: Option<&'a str>,
    refusal: Option<()>,
    #[serde(skip_serializing_if = "str::is_empty")]
    reasoning_content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call>,
}

/// A call of a tool that the client runs.
#[derive(Serialize)]
struct Call {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function,
}

#[derive(Serialize)]
struct Function {
    name: String,
    /// JSON as the model wrote it.
    arguments: String,
}

/// Collects the calls of the client's tools from a turn's events.
fn collect(calls: &mut Vec<Call>, event: &TurnEvent, tools: &ClientTools) {
    match event {
        TurnEvent::ToolStarted { id, name } if tools.has(name) => {
            let function = Function { name: name.clone(), arguments: String::new() };
            calls.push(Call { id: id.clone(), kind: "function", function });
        }
        TurnEvent::ToolArguments { id, fragment } => {
            if let Some(call) = calls.iter_mut().find(|call| call.id == *id) {
                call.function.arguments.push_str(fragment);
            }
        }
        TurnEvent::ToolCalled { id, .. } => {
            if let Some(call) = calls.iter_mut().find(|call| call.id == *id && call.function.arguments.is_empty()) {
                call.function.arguments.push_str("{}");
            }
        }
        // What was answered here does not go out.
        TurnEvent::ToolFinished(result) => calls.retain(|call| call.id != result.call_id),
        _ => {}
    }
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
    let (mut waiting, mut tool_calls) = (Vec::new(), Vec::new());
    loop {
        let event = turn.next().await;
        waiting.extend(event.as_ref().and_then(Waiting::of));
        event.iter().for_each(|event| collect(&mut tool_calls, event, &head.tools));
        match event {
            Some(TurnEvent::Text(piece)) => text.push_str(&piece),
            Some(TurnEvent::Reasoning(piece)) => thinking.push_str(&piece),
            Some(TurnEvent::Finished { reason, usage }) => {
                let content = (!text.is_empty() || tool_calls.is_empty()).then_some(text.as_str());
                let message =
                    Message { role: "assistant", content, refusal: None, reasoning_content: &thinking, tool_calls };
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

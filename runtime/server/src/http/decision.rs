//! A person's decision about a turn that waits: what it says, whether there is something to decide, and the turn that
//! goes on. For owners and for operators.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use roster_engine::turn::{self, ClientTools, Input, TurnEvent, TurnRequest, TurnStream, Verdict};
use roster_model::message::{MessageStatus, Part};
use roster_model::provider::ModelSettings;
use roster_model::suspension::SuspendedTurn;

use crate::app::App;
use crate::http::error::ApiError;
use crate::http::{agent, decided};

/// Bytes of a reason; the model reads it.
const LONGEST_REASON: usize = 4_000;

/// What came of it.
pub(crate) enum Outcome {
    /// The turn goes on; the event it began with was taken from the stream.
    GoesOn(TurnStream, Box<TurnEvent>),
    /// Nobody can go on with it: its calls were declined, and that is all.
    Ended(Response),
}

/// No turn of this id waits.
pub(crate) fn no_turn() -> ApiError {
    ApiError::not_found("turn_not_found", "no turn of this id waits for approval").param("id")
}

fn conflict(code: &'static str, message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::CONFLICT, code, message)
}

/// Decides. `owner_named`: somebody said whose conversation it is.
///
/// # Errors
/// 400 for a reason that is too long, 404 and 409 when there is nothing to decide, and what made the turn fail at once.
pub(crate) async fn decide(
    app: &App,
    waiting: &SuspendedTurn,
    verdict: Verdict,
    owner_named: bool,
) -> Result<Outcome, ApiError> {
    if verdict.reason.as_ref().is_some_and(|reason| reason.len() > LONGEST_REASON) {
        let message = format!("`reason` is longer than {LONGEST_REASON} bytes");
        return Err(ApiError::invalid(message).param("reason"));
    }
    check(app, waiting, verdict.call.as_deref())?;
    let request = match request(app, waiting, owner_named) {
        Ok(request) => request,
        // A call can be refused whoever made it: what cannot go on need not wait until it expires.
        Err(_) if !verdict.approved => {
            let store = Arc::clone(&app.store);
            let declined = turn::decline_for_good(&app.services, store, waiting.clone(), verdict).await?;
            return Ok(Outcome::Ended(decided::ended(waiting, declined)));
        }
        Err(error) => return Err(error),
    };
    let mut turn = turn::resume(&app.services, request, waiting, verdict)?;
    match turn.next().await {
        Some(TurnEvent::Failed(failure)) => Err(failure.into()),
        Some(first) => Ok(Outcome::GoesOn(turn, Box::new(first))),
        None => Err(decided::broken_off()),
    }
}

/// The agent goes on as it is now.
fn request(app: &App, waiting: &SuspendedTurn, owner_named: bool) -> Result<TurnRequest, ApiError> {
    let snapshot = app.registry.snapshot();
    let Some(origin) = &waiting.row.message.origin else { return Err(no_turn()) };
    let Ok(agent) = agent::find(&snapshot, origin.agent.as_str()) else {
        let message = format!("agent `{}` does not serve now: decline, or approve when it serves again", origin.agent);
        return Err(conflict("turn_not_resumable", message));
    };
    if agent.memory.is_none() {
        let message = format!("agent `{}` has no memory any more: the turn cannot go on", origin.agent);
        return Err(conflict("turn_not_resumable", message));
    }
    Ok(TurnRequest {
        agent,
        snapshot,
        key: waiting.key.clone(),
        owner_named,
        stored: true,
        input: Input::default(),
        tools: ClientTools::default(),
        settings: ModelSettings::default(),
    })
}

/// Whether there is something to decide; the store looks once more when the turn takes its thread.
fn check(app: &App, waiting: &SuspendedTurn, call: Option<&str>) -> Result<(), ApiError> {
    if let Some(id) = call {
        let is_it = |part: &Part| matches!(part, Part::ToolCall(call) if call.id == id);
        if !waiting.row.message.parts.iter().any(is_it) {
            let message = "the turn has no call of this id";
            return Err(ApiError::not_found("call_not_found", message).param("callId"));
        }
        let suspended = waiting.row.message.status == MessageStatus::Suspended;
        if suspended && !waiting.calls().iter().any(|call| call.id == id) {
            return Err(conflict("call_decided", "this call does not wait any more").param("callId"));
        }
    }
    let status = waiting.row.message.status;
    if status == MessageStatus::Suspended && waiting.waits(app.services.clock.now()) {
        return Ok(());
    }
    Err(match status {
        MessageStatus::Suspended => conflict(
            "approval_expired",
            "the turn has waited too long: ask again in its conversation, and decide about the new call",
        ),
        status => {
            let message = format!("the turn does not wait for approval any more: it is {}", status.as_str());
            conflict("turn_not_suspended", message)
        }
    })
}

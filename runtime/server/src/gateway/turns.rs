//! `/api/turns`: turns that wait for a person, and the person's decision.

mod whole;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::header::{ACCEPT, HeaderMap};
use http::{StatusCode, header::HeaderValue};
use roster_engine::turn::{self, ClientTools, Input, TurnEvent, TurnRequest, Verdict};
use roster_model::id::TurnId;
use roster_model::message::{MessageStatus, Part};
use roster_model::provider::ModelSettings;
use roster_model::suspension::SuspendedTurn;
use serde::Deserialize;

use super::chat::ChatEvents;
use super::{CHAT, agent, owner};
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::identity::Identity;
use crate::http::json::{self, OptionalJson};
use crate::http::path::IdText;
use crate::http::query::Params;
use crate::http::route::Route;
use crate::http::sse;
use crate::http::waiting::WaitingTurns;

/// The three routes.
pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/turns", CHAT, list),
        Route::post("/api/turns/{id}/approve", CHAT, approve),
        Route::post("/api/turns/{id}/decline", CHAT, decline),
    ]
}

/// Turns a list holds when nothing else is asked, and at most.
const LISTED: (usize, usize) = (100, 1_000);
/// Bytes of a reason; the model reads it.
const LONGEST_REASON: usize = 4_000;

async fn list(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    params: Params,
) -> Result<Response, ApiError> {
    if params.text("status").is_some_and(|status| status != "suspended") {
        return Err(ApiError::invalid("`status` must be `suspended`: other turns are not listed").param("status"));
    }
    let limit = params.number("limit", 1, LISTED.1)?.unwrap_or(LISTED.0);
    let turns = app.store.suspended_turns(&owner(&identity, params.text("resource"))?, limit).await?;
    Ok(json::ok(&WaitingTurns::of_owner(&turns)))
}

// Strict: a misspelt `callId` would agree to every call that waits.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Decision {
    #[serde(rename = "callId")]
    call: Option<String>,
    reason: Option<String>,
    resource: Option<String>,
}

async fn approve(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    IdText(id): IdText,
    params: Params,
    headers: HeaderMap,
    OptionalJson(body): OptionalJson<Decision>,
) -> Result<Response, ApiError> {
    decide(&app, &identity, &id, &params, &headers, body, true).await
}

async fn decline(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    IdText(id): IdText,
    params: Params,
    headers: HeaderMap,
    OptionalJson(body): OptionalJson<Decision>,
) -> Result<Response, ApiError> {
    decide(&app, &identity, &id, &params, &headers, body, false).await
}

async fn decide(
    app: &Arc<App>,
    identity: &Identity,
    id: &str,
    params: &Params,
    headers: &HeaderMap,
    body: Decision,
    approved: bool,
) -> Result<Response, ApiError> {
    if body.reason.as_ref().is_some_and(|reason| reason.len() > LONGEST_REASON) {
        let message = format!("`reason` is longer than {LONGEST_REASON} bytes");
        return Err(ApiError::invalid(message).param("reason"));
    }
    let proposed = body.resource.as_deref().or(params.text("resource"));
    let resource = owner(identity, proposed)?;
    let turn = TurnId::new(id).map_err(|_| no_turn())?;
    let waiting = app.store.suspended_turn(&resource, &turn).await?.ok_or_else(no_turn)?;
    check(app, &waiting, body.call.as_deref())?;
    let snapshot = app.registry.snapshot();
    let Some(origin) = &waiting.row.message.origin else { return Err(no_turn()) };
    let request = TurnRequest {
        agent: agent::find(&snapshot, origin.agent.as_str())?,
        snapshot,
        key: waiting.key.clone(),
        owner_named: identity.names_owner(proposed),
        stored: true,
        input: Input::default(),
        tools: ClientTools::default(),
        settings: ModelSettings::default(),
    };
    if request.agent.memory.is_none() {
        let message = format!("agent `{}` has no memory any more: the turn cannot go on", origin.agent);
        return Err(ApiError::new(StatusCode::CONFLICT, "turn_not_resumable", message));
    }
    let verdict = Verdict { call: body.call, approved, reason: body.reason };
    let mut turn = turn::resume(&app.services, request, &waiting, verdict)?;
    match turn.next().await {
        Some(TurnEvent::Failed(failure)) => Err(failure.into()),
        Some(first) if wants_events(headers) => {
            let events = ChatEvents::new(&turn, ClientTools::default());
            Ok(sse::stream(turn, events, vec![first]))
        }
        Some(_) => whole::answer(turn).await,
        None => Err(whole::broken_off()),
    }
}

fn no_turn() -> ApiError {
    ApiError::not_found("turn_not_found", "no turn of this id waits for approval").param("id")
}

fn conflict(code: &'static str, message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::CONFLICT, code, message)
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

/// Whether the client asked for a stream.
fn wants_events(headers: &HeaderMap) -> bool {
    let names = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains("text/event-stream"));
    headers.get_all(ACCEPT).iter().any(names)
}

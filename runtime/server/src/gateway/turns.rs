//! `/api/turns`: turns that wait for a person, and the person's decision.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::header::HeaderValue;
use http::header::{ACCEPT, HeaderMap};
use roster_engine::turn::{ClientTools, Verdict};
use roster_model::id::TurnId;
use serde::Deserialize;

use super::chat::ChatEvents;
use super::{CHAT, owner};
use crate::app::App;
use crate::http::decided;
use crate::http::decision::{self, Outcome, no_turn};
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
    let proposed = body.resource.as_deref().or(params.text("resource"));
    let resource = owner(identity, proposed)?;
    let turn = TurnId::new(id).map_err(|_| no_turn())?;
    let waiting = app.store.suspended_turn(&resource, &turn).await?.ok_or_else(no_turn)?;
    let owner_named = identity.names_owner(proposed);
    let verdict = Verdict { call: body.call, approved, reason: body.reason };
    match decision::decide(app, &waiting, verdict, owner_named).await? {
        Outcome::GoesOn(turn, first) if wants_events(headers) => {
            let events = ChatEvents::new(&turn, ClientTools::default());
            Ok(sse::stream(turn, events, vec![*first]))
        }
        Outcome::GoesOn(turn, _) => decided::answer(turn).await,
        Outcome::Ended(answer) => Ok(answer),
    }
}

/// Whether the client asked for a stream.
fn wants_events(headers: &HeaderMap) -> bool {
    let names = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains("text/event-stream"));
    headers.get_all(ACCEPT).iter().any(names)
}

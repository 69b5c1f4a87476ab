//! Turns of all owners that wait for a person, and an operator's decision.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use roster_engine::definition::DEFAULT_RESOURCE;
use roster_engine::turn::Verdict;
use roster_model::id::TurnId;
use roster_model::suspension::SuspendedTurn;
use serde::Deserialize;

use crate::app::App;
use crate::http::decided;
use crate::http::decision::{self, Outcome, no_turn};
use crate::http::error::ApiError;
use crate::http::json::{self, OptionalJson};
use crate::http::path::IdText;
use crate::http::query::Params;
use crate::http::waiting::WaitingTurns;

/// Waiting turns in one answer when the request does not say how many, and at most.
const LISTED: (usize, usize) = (100, 1_000);

/// `GET /admin/turns`.
pub(super) async fn list(State(app): State<Arc<App>>, params: Params) -> Result<Response, ApiError> {
    if params.text("status").is_some_and(|status| status != "suspended") {
        return Err(ApiError::invalid("`status` must be `suspended`: other turns are not listed").param("status"));
    }
    let limit = params.number("limit", 1, LISTED.1)?.unwrap_or(LISTED.0);
    let turns = app.operator.all_suspended(limit).await?;
    Ok(json::ok(&WaitingTurns::of_all(&turns)))
}

// Strict: a misspelt `callId` would agree to every call that waits.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Decision {
    #[serde(rename = "callId")]
    call: Option<String>,
    reason: Option<String>,
}

/// `POST /admin/turns/{id}/approve`.
pub(super) async fn approve(
    State(app): State<Arc<App>>,
    IdText(id): IdText,
    OptionalJson(body): OptionalJson<Decision>,
) -> Result<Response, ApiError> {
    decide(&app, &id, body, true).await
}

/// `POST /admin/turns/{id}/decline`.
pub(super) async fn decline(
    State(app): State<Arc<App>>,
    IdText(id): IdText,
    OptionalJson(body): OptionalJson<Decision>,
) -> Result<Response, ApiError> {
    decide(&app, &id, body, false).await
}

async fn decide(app: &App, id: &str, body: Decision, approved: bool) -> Result<Response, ApiError> {
    let turn = TurnId::new(id).map_err(|_| no_turn())?;
    let waiting = app.operator.any_suspended(&turn).await?.ok_or_else(no_turn)?;
    let verdict = Verdict { call: body.call, approved, reason: body.reason };
    match decision::decide(app, &waiting, verdict, names_owner(app, &waiting)).await? {
        Outcome::GoesOn(turn, _) => decided::answer(turn).await,
        Outcome::Ended(answer) => Ok(answer),
    }
}

/// Whether the turn is of somebody. A default owner may be everybody's, and nobody knows any more who asked: then nothing
/// but its own conversation is looked up for it.
fn names_owner(app: &App, waiting: &SuspendedTurn) -> bool {
    let snapshot = app.registry.snapshot();
    let agent = waiting.row.message.origin.as_ref().and_then(|origin| snapshot.agent(&origin.agent));
    let owner = &waiting.key.resource;
    owner.as_str() != DEFAULT_RESOURCE && agent.is_some_and(|agent| agent.definition.resource != *owner)
}

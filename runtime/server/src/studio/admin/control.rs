//! Reading the registry and its past, and changing what is served.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use roster_engine::registry::{Control, ControlError};
use roster_model::id::AgentId;
use roster_model::ledger::LedgerEntry;
use roster_model::source::SourceState;
use serde::{Deserialize, Serialize};

use super::view::{AgentView, RegistryView};
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::json::{self, Json};
use crate::http::path::IdText;
use crate::http::query::Params;

/// Entries of a history when the request does not say how many.
const HISTORY: usize = 50;
/// The most entries of a history in one answer.
const LONGEST_HISTORY: usize = 1_000;

/// Who fulfils an operator's wishes.
///
/// # Errors
/// 503 where nobody does.
pub(super) fn control(app: &App) -> Result<&dyn Control, ApiError> {
    app.control.as_deref().ok_or_else(|| {
        let message = "this runtime reads its files only at start";
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_available", message)
    })
}

/// The agent a path names. What is no legal id names none.
fn agent(text: &str) -> Result<AgentId, ApiError> {
    AgentId::new(text).map_err(|_| {
        let shown: String = text.chars().take(64).collect();
        ApiError::not_found("agent_not_found", format!("there is no agent `{shown}`"))
    })
}

/// `GET /admin/registry`.
pub(super) async fn registry(State(app): State<Arc<App>>) -> Response {
    json::ok(&RegistryView::from(&*app.registry.snapshot()))
}

#[derive(Serialize)]
struct Servers {
    servers: Vec<SourceState>,
}

/// `GET /admin/mcp`: how each MCP server stands.
pub(super) async fn servers(State(app): State<Arc<App>>) -> Response {
    json::ok(&Servers { servers: app.servers.states() })
}

/// `GET /admin/providers`: how the providers of the models in use stand.
pub(super) async fn providers(State(app): State<Arc<App>>) -> Response {
    json::ok(&serde_json::json!({ "providers": app.registry.snapshot().providers() }))
}

/// `POST /admin/reload`: reads every file again and answers with the registry after it.
pub(super) async fn reload(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    let snapshot = control(&app)?.reload().await?;
    Ok(json::ok(&RegistryView::from(&*snapshot)))
}

#[derive(Serialize)]
struct History<'a> {
    id: &'a str,
    pinned: Option<&'a str>,
    /// Newest first.
    entries: Vec<LedgerEntry>,
}

/// `GET /admin/agents/{id}/history?limit=`.
pub(super) async fn history(
    State(app): State<Arc<App>>,
    IdText(id): IdText,
    params: Params,
) -> Result<Response, ApiError> {
    let limit = params.number("limit", 1, LONGEST_HISTORY)?.unwrap_or(HISTORY);
    let id = agent(&id)?;
    let entries = control(&app)?.history(&id, limit).await?;
    let snapshot = app.registry.snapshot();
    let pinned = snapshot.entry(&id).and_then(|entry| entry.pinned.as_deref());
    Ok(json::ok(&History { id: id.as_str(), pinned, entries }))
}

/// The version to serve; `null` unpins. It must be written: a body that names nothing is a mistake, not a wish.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pin {
    #[serde(deserialize_with = "Option::deserialize")]
    fingerprint: Option<String>,
}

/// `POST /admin/agents/{id}/pin`: answers with the agent's line of the registry after it.
pub(super) async fn pin(
    State(app): State<Arc<App>>,
    IdText(id): IdText,
    Json(Pin { fingerprint }): Json<Pin>,
) -> Result<Response, ApiError> {
    let id = agent(&id)?;
    let snapshot = control(&app)?.pin(&id, fingerprint).await?;
    let entry = snapshot.entry(&id).ok_or_else(|| ControlError::UnknownAgent(id.clone()))?;
    Ok(json::ok(&AgentView::from(entry)))
}

/// `GET /admin/plugins`.
pub(super) async fn plugins(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    Ok(json::ok(&serde_json::json!({ "plugins": control(&app)?.plugins() })))
}

/// `POST /admin/plugins/{key}/reload`: loads the plugin's library again and answers with how it stands after it.
pub(super) async fn reload_plugin(State(app): State<Arc<App>>, IdText(key): IdText) -> Result<Response, ApiError> {
    Ok(json::ok(&control(&app)?.reload_plugin(&key).await?))
}

//! What every writing route reads of a request: a body whose faults are told as `issues`, and the agent it names.

use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use http::StatusCode;
use roster_engine::registry::Agent;
use roster_model::id::AgentId;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::query::issue;
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::json::Json;
use crate::http::query::Params;

/// A body; what is wrong with it is told as its clients expect: `{"error", "issues":[{"field", "message"}]}`.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiError> {
        match Json::from_request(request, app).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(error) if error.status == StatusCode::BAD_REQUEST => {
                let whole = if error.code == "invalid_json" { "body" } else { "root" };
                Err(fault(error.param.as_deref().unwrap_or(whole), &error.message, error.code))
            }
            Err(error) => Err(error),
        }
    }
}

fn fault(field: &str, message: &str, code: &'static str) -> ApiError {
    let issues = json!([{"field": field, "message": message}]);
    ApiError::new(StatusCode::BAD_REQUEST, code, "Invalid request body").param(field).detail("issues", issues)
}

/// 400: a field of the body.
pub(super) fn bad(field: &str, message: &str) -> ApiError {
    fault(field, message, "invalid_request")
}

/// The agent of `agentId`.
pub(super) struct Asking {
    /// Its id.
    pub(super) id: AgentId,
    /// The agent, when it can serve: threads of a rejected or disabled one can still be looked after.
    pub(super) agent: Option<Arc<Agent>>,
}

/// The agent that `agentId` names.
///
/// # Errors
/// 400 when it is missing, 404 when there is none.
pub(super) fn agent(app: &App, params: &Params) -> Result<Asking, ApiError> {
    let Some(name) = params.text("agentId") else {
        return Err(issue("agentId", "Invalid input: expected the id of an agent"));
    };
    let unknown = || ApiError::not_found("agent_not_found", "Agent not found").param("agentId");
    let id = AgentId::new(name).map_err(|_| unknown())?;
    let snapshot = app.registry.snapshot();
    let agent = snapshot.entry(&id).ok_or_else(unknown)?.agent.clone();
    Ok(Asking { id, agent })
}

/// The same, for what needs a memory.
///
/// # Errors
/// 400 when the agent has none.
pub(super) fn remembering(app: &App, params: &Params) -> Result<Asking, ApiError> {
    let asking = agent(app, params)?;
    if asking.agent.as_ref().is_some_and(|agent| agent.memory.is_none()) {
        let message = format!("agent `{}` has no memory", asking.id);
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "no_memory", message).param("agentId"));
    }
    Ok(asking)
}

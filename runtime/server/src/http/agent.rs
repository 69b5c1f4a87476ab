//! Which agent a request's `model` means.

use std::sync::Arc;

use http::StatusCode;
use roster_engine::definition::Problem;
use roster_engine::registry::{Agent, AgentState, Entry, Snapshot};
use roster_model::id::AgentId;

use crate::http::error::ApiError;

/// The longest name repeated in a message.
const NAME_SHOWN: usize = 80;

/// The agent of this id, when it can be asked now.
///
/// # Errors
/// 404 for an unknown or disabled one and for one whose file is gone, 503 for one whose definition was rejected.
pub(crate) fn find(snapshot: &Snapshot, name: &str) -> Result<Arc<Agent>, ApiError> {
    let entry = AgentId::new(name).ok().and_then(|id| snapshot.entry(&id));
    match entry {
        Some(Entry { agent: Some(agent), .. }) => Ok(Arc::clone(agent)),
        Some(entry) if entry.gone => Err(file_missing(entry)),
        Some(entry) if entry.state == AgentState::Rejected => Err(rejected(entry)),
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> ApiError {
    let mut shown: String = name.chars().take(NAME_SHOWN).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    ApiError::not_found("model_not_found", format!("unknown model: {shown}")).param("model")
}

fn file_missing(entry: &Entry) -> ApiError {
    let message = format!("agent `{}` has no file any more", entry.id);
    ApiError::not_found("file_missing", message).param("model")
}

fn rejected(entry: &Entry) -> ApiError {
    let first = entry.problems.iter().find(|problem| problem.is_error()).or(entry.problems.first());
    let why = first.map_or("its definition has errors", |problem: &Problem| problem.message.as_str());
    let message = format!("agent `{}` was rejected: {why}", entry.id);
    let mut error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "agent_rejected", message);
    error.param = Some("model".to_owned());
    error.detail("agent", entry.id.as_str().into())
}

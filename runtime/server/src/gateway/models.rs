//! Which agents can be asked, in the plain and in the OpenAI form.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use roster_engine::registry::Agent;
use serde::Serialize;

use super::CHAT;
use crate::app::App;
use crate::http::agent;
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::path::IdText;
use crate::http::route::{Began, Route};

/// `/api/models`, `/v1/models`, `/v1/models/{id}`.
pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/models", CHAT, plain_list),
        Route::get("/v1/models", CHAT, openai_list),
        Route::get("/v1/models/{id}", CHAT, openai_one),
    ]
}

#[derive(Serialize)]
struct PlainModel<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    provider: &'a str,
}

fn provider(agent: &Agent) -> &str {
    agent.models.first().map_or("", |model| model.provider.name())
}

fn plain(agent: &Agent) -> PlainModel<'_> {
    let Agent { definition, .. } = agent;
    PlainModel {
        id: definition.id.as_str(),
        name: &definition.name,
        description: &definition.description,
        provider: provider(agent),
    }
}

async fn plain_list(State(app): State<Arc<App>>) -> Response {
    let snapshot = app.registry.snapshot();
    json::ok(&snapshot.serving().map(|agent| plain(agent)).collect::<Vec<_>>())
}

#[derive(Serialize)]
struct OpenAiModel<'a> {
    id: &'a str,
    object: &'static str,
    created: i64,
    owned_by: &'a str,
}

#[derive(Serialize)]
struct OpenAiList<'a> {
    object: &'static str,
    data: Vec<OpenAiModel<'a>>,
}

/// An agent has no date of making; the start of the runtime stands for it, so that two answers are alike.
fn openai(began: Began, agent: &Agent) -> OpenAiModel<'_> {
    let created = began.0.millis() / 1000;
    OpenAiModel { id: agent.definition.id.as_str(), object: "model", created, owned_by: provider(agent) }
}

async fn openai_list(State(app): State<Arc<App>>, Extension(began): Extension<Began>) -> Response {
    let snapshot = app.registry.snapshot();
    let data = snapshot.serving().map(|agent| openai(began, agent)).collect();
    json::ok(&OpenAiList { object: "list", data })
}

async fn openai_one(
    State(app): State<Arc<App>>,
    Extension(began): Extension<Began>,
    IdText(id): IdText,
) -> Result<Response, ApiError> {
    let agent = agent::find(&app.registry.snapshot(), &id)?;
    Ok(json::ok(&openai(began, &agent)))
}

//! `GET /admin/registry`: how every agent stands, with its problems.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use roster_engine::definition::Problem;
use roster_engine::registry::{Agent, AgentState, Entry};
use serde::Serialize;

use crate::app::{App, Scope};
use crate::http::identity::Access;
use crate::http::json;
use crate::http::route::Route;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::get("/admin/registry", Access::Needs(Scope::Admin), registry)]
}

#[derive(Serialize)]
struct RegistryView<'a> {
    generation: u64,
    agents: Vec<AgentView<'a>>,
    /// Files in `agents/` without a line.
    unregistered: Vec<&'a Problem>,
    /// The registry file's own.
    problems: Vec<&'a Problem>,
}

#[derive(Serialize)]
struct AgentView<'a> {
    id: &'a str,
    state: AgentState,
    /// In which generation the version served was first published; absent when none is.
    generation: Option<u64>,
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    models: Vec<&'a str>,
    memory: Option<&'a str>,
    tools: Vec<ToolView<'a>>,
    problems: &'a [Problem],
}

/// A tool's name as the definition writes it, and as the model is offered it.
#[derive(Serialize)]
struct ToolView<'a> {
    name: &'a str,
    offered: &'a str,
}

impl<'a> From<&'a Entry> for AgentView<'a> {
    fn from(entry: &'a Entry) -> Self {
        let agent = entry.agent.as_deref();
        let tools = |agent: &'a Agent| {
            agent.tools.iter().map(|tool| ToolView { name: &tool.written, offered: &tool.offered.name }).collect()
        };
        Self {
            id: entry.id.as_str(),
            state: entry.state,
            generation: agent.map(|agent| agent.generation),
            file: &entry.file,
            name: agent.map(|agent| agent.definition.name.as_str()),
            description: agent.map(|agent| agent.definition.description.as_str()),
            models: agent
                .map(|agent| agent.models.iter().map(|model| model.name.as_str()).collect())
                .unwrap_or_default(),
            memory: agent.and_then(|agent| agent.definition.memory.as_ref()).map(|memory| memory.factory.as_str()),
            tools: agent.map(tools).unwrap_or_default(),
            problems: &entry.problems,
        }
    }
}

async fn registry(State(app): State<Arc<App>>) -> Response {
    let snapshot = app.registry.snapshot();
    let (unregistered, problems) =
        snapshot.problems.iter().partition(|problem| problem.code.starts_with("unregistered"));
    let agents = snapshot.entries.iter().map(AgentView::from).collect();
    json::ok(&RegistryView { generation: snapshot.generation, agents, unregistered, problems })
}

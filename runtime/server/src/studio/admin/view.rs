//! The registry as operators see it, in JSON.

use roster_engine::definition::Problem;
use roster_engine::registry::{Agent, AgentState, Entry, Snapshot};
use serde::Serialize;

/// The whole registry.
#[derive(Serialize)]
pub(super) struct RegistryView<'a> {
    generation: u64,
    agents: Vec<AgentView<'a>>,
    /// Files in `agents/` without a line.
    unregistered: Vec<&'a Problem>,
    /// The registry file's own.
    problems: Vec<&'a Problem>,
}

/// One line of it.
#[derive(Serialize)]
pub(super) struct AgentView<'a> {
    id: &'a str,
    state: AgentState,
    /// In which generation the version served was first published; absent when none is.
    generation: Option<u64>,
    /// The version served.
    fingerprint: Option<&'a str>,
    /// The version an operator pinned.
    pinned: Option<&'a str>,
    file: &'a str,
    /// Present and true when the file is gone for good.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    gone: bool,
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

impl<'a> From<&'a Snapshot> for RegistryView<'a> {
    fn from(snapshot: &'a Snapshot) -> Self {
        let (unregistered, problems) =
            snapshot.problems.iter().partition(|problem| problem.code.starts_with("unregistered"));
        let agents = snapshot.entries.iter().map(AgentView::from).collect();
        Self { generation: snapshot.generation, agents, unregistered, problems }
    }
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
            fingerprint: agent.map(|agent| agent.definition.fingerprint.as_str()),
            pinned: entry.pinned.as_deref(),
            file: &entry.file,
            gone: entry.gone,
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

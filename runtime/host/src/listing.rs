//! The agents as `roster agents` lists them, from files or from the process that serves.

use roster_engine::definition::Problem;
use roster_engine::registry::{AgentState, Entry, Prepared, Snapshot};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Listing {
    /// The generation served; absent when nobody serves.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) generation: Option<u64>,
    /// One a line, in the order of the registry.
    pub(crate) agents: Vec<Row>,
    /// Files in `agents/` without a line.
    pub(crate) unregistered: Vec<String>,
    /// Problems of no single agent.
    pub(crate) problems: Vec<Value>,
}

/// An agent in the list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) id: String,
    /// `serving`, `serving_last_good`, `rejected`, `disabled`.
    pub(crate) state: String,
    /// In order of preference; empty when it is not served.
    pub(crate) models: Vec<String>,
    /// The factory's name; absent without memory.
    pub(crate) memory: Option<String>,
    pub(crate) tools: Vec<ToolRow>,
    pub(crate) file: String,
    /// The version served.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) fingerprint: Option<String>,
    /// The version an operator pinned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) pinned: Option<String>,
    pub(crate) problems: Vec<Value>,
}

/// A tool under both its names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolRow {
    /// As the definition writes it; of a sub-agent, its id.
    pub(crate) written: String,
    /// As the model sees it.
    pub(crate) offered: String,
}

impl Listing {
    /// What is served.
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let listing = Self::made(&snapshot.entries, &snapshot.problems);
        Self { generation: Some(snapshot.generation), ..listing }
    }

    /// What would be served.
    pub(crate) fn of_prepared(prepared: &Prepared) -> Self {
        Self::made(&prepared.entries, &prepared.problems)
    }

    fn made(entries: &[Entry], problems: &[Problem]) -> Self {
        let unregistered = problems.iter().filter(|problem| problem.code == "unregistered");
        Self {
            generation: None,
            agents: entries.iter().map(Row::of).collect(),
            unregistered: unregistered.map(|problem| problem.file.clone()).collect(),
            problems: problems.iter().map(|problem| json!(problem)).collect(),
        }
    }
}

impl Row {
    fn of(entry: &Entry) -> Self {
        let agent = entry.agent.as_deref();
        let tool =
            |(written, offered): (&str, &str)| ToolRow { written: written.to_owned(), offered: offered.to_owned() };
        let tools =
            agent.map(|agent| agent.tools.iter().map(|bound| tool((&bound.written, &bound.offered.name))).collect());
        let models = agent.map(|agent| agent.models.iter().map(|model| model.name.clone()).collect());
        Self {
            id: entry.id.to_string(),
            state: state(entry.state).to_owned(),
            models: models.unwrap_or_default(),
            memory: agent.and_then(|agent| agent.definition.memory.as_ref()).map(|memory| memory.factory.clone()),
            tools: tools.unwrap_or_default(),
            file: entry.file.clone(),
            fingerprint: agent.map(|agent| agent.definition.fingerprint.clone()),
            pinned: entry.pinned.clone(),
            problems: entry.problems.iter().map(|problem| json!(problem)).collect(),
        }
    }
}

fn state(state: AgentState) -> &'static str {
    match state {
        AgentState::Serving => "serving",
        AgentState::ServingLastGood => "serving_last_good",
        AgentState::Rejected => "rejected",
        AgentState::Disabled => "disabled",
    }
}

//! `roster agents`: what is registered, in which state.

mod table;
#[cfg(test)]
mod tests;

use std::path::Path;

use roster_engine::definition::Problem;
use roster_engine::registry::{AgentState, Entry};
use serde::Serialize;

use super::Format;
use crate::assemble;
use crate::error::{Exit, HostError};
use crate::{output, render};

/// Lists the agents as the files stand now, then what is wrong with them.
///
/// # Errors
/// [`HostError`] when there is no project or its `runtime.toml` cannot be used.
pub(super) fn run(root: Option<&Path>, format: Format) -> Result<Exit, HostError> {
    let mut project = assemble::read(root)?;
    let unregistered = project.files.unregistered.clone();
    let prepared = assemble::preview(&mut project)?;
    let rows: Vec<Row<'_>> = prepared.entries.iter().map(row).collect();
    match format {
        Format::Json => {
            let listing = Listing { agents: &rows, unregistered: &unregistered, problems: &prepared.problems };
            let text =
                serde_json::to_string_pretty(&listing).map_err(|error| HostError::Internal(error.to_string()))?;
            output::print(format_args!("{text}\n"))?;
        }
        Format::Text => {
            let of_agents = prepared.entries.iter().flat_map(|entry| &entry.problems);
            let problems: Vec<Problem> = prepared.problems.iter().chain(of_agents).cloned().collect();
            let below = render::to_text(&problems, &|file| project.source(file), output::stdout_style());
            let gap = if below.is_empty() { "" } else { "\n" };
            output::print(format_args!("{}{gap}{below}", table::of(&rows)))?;
        }
    }
    Ok(Exit::Good)
}

/// The JSON form.
#[derive(Serialize)]
struct Listing<'a> {
    agents: &'a [Row<'a>],
    /// Files in `agents/` without a line.
    unregistered: &'a [String],
    /// Problems of no single agent.
    problems: &'a [Problem],
}

/// An agent in the list.
#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    state: AgentState,
    /// In order of preference; empty when it is not served.
    models: Vec<&'a str>,
    /// The factory's name; absent without memory.
    memory: Option<&'a str>,
    tools: Vec<ToolRow<'a>>,
    file: &'a str,
    problems: &'a [Problem],
}

/// A tool under both its names.
#[derive(Serialize)]
struct ToolRow<'a> {
    /// As the definition writes it; of a sub-agent, its id.
    written: &'a str,
    /// As the model sees it.
    offered: &'a str,
}

fn row(entry: &Entry) -> Row<'_> {
    let agent = entry.agent.as_deref();
    let tools = agent.map(|agent| {
        agent.tools.iter().map(|tool| ToolRow { written: &tool.written, offered: &tool.offered.name }).collect()
    });
    Row {
        id: entry.id.as_str(),
        state: entry.state,
        models: agent.map(|agent| agent.models.iter().map(|model| model.name.as_str()).collect()).unwrap_or_default(),
        memory: agent.and_then(|agent| agent.definition.memory.as_ref()).map(|memory| memory.factory.as_str()),
        tools: tools.unwrap_or_default(),
        file: &entry.file,
        problems: &entry.problems,
    }
}

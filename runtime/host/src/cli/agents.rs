//! `roster agents`: what is registered, in which state; its history, and pins.

mod history;
mod table;
#[cfg(test)]
mod tests;

use std::path::Path;

use roster_engine::definition::Problem;
use serde_json::{Value, json};

use super::check::also_on_stdout;
use super::running::{self, broken};
use super::{AgentsCommand, Format};
use crate::assemble;
use crate::error::{Exit, HostError};
use crate::listing::Listing;
use crate::{output, render};

/// Lists the agents, or does what else is asked of one.
///
/// # Errors
/// [`HostError`] when there is no project, its `runtime.toml` cannot be used, or no runtime serves that could be asked.
pub(super) fn run(root: Option<&Path>, format: Format, what: Option<&AgentsCommand>) -> Result<Exit, HostError> {
    match what {
        None => list(root, format),
        Some(AgentsCommand::History { id }) => history::run(root, id, format),
        Some(AgentsCommand::Pin { id, fingerprint }) => pin(root, id, Some(fingerprint)),
        Some(AgentsCommand::Unpin { id }) => pin(root, id, None),
    }
}

/// As the runtime that serves this project says; without one, as the files stand now. Then what is wrong with them.
fn list(root: Option<&Path>, format: Format) -> Result<Exit, HostError> {
    let told = |error| also_on_stdout(error, format);
    let root = assemble::running_root(root).map_err(told)?;
    if let Some(answer) = running::ask(&root, &json!({"command": "agents"})).into_iter().next() {
        let mut answer = running::checked(answer)?;
        let rendered = answer["rendered"].take().as_str().unwrap_or_default().to_owned();
        let listing: Listing = serde_json::from_value(answer).map_err(|error| broken(&error))?;
        return print(&listing, &rendered, format);
    }
    let mut project = assemble::read(Some(&root)).map_err(told)?;
    let prepared = assemble::preview(&mut project).map_err(told)?;
    let of_agents = prepared.entries.iter().flat_map(|entry| &entry.problems);
    let problems: Vec<Problem> = prepared.problems.iter().chain(of_agents).cloned().collect();
    let rendered = render::to_text(&problems, &|file| project.source(file), output::stdout_style());
    print(&Listing::of_prepared(&prepared), &rendered, format)
}

fn print(listing: &Listing, rendered: &str, format: Format) -> Result<Exit, HostError> {
    match format {
        Format::Json => {
            let text = serde_json::to_string_pretty(listing).map_err(|error| HostError::Internal(error.to_string()))?;
            output::print(format_args!("{text}\n"))?;
        }
        Format::Text => {
            let gap = if rendered.is_empty() { "" } else { "\n" };
            output::print(format_args!("{}{gap}{rendered}", table::of(&listing.agents)))?;
        }
    }
    Ok(Exit::Good)
}

/// Pins an agent to a version, or unpins it.
fn pin(root: Option<&Path>, id: &str, fingerprint: Option<&String>) -> Result<Exit, HostError> {
    let root = assemble::running_root(root)?;
    let question = match fingerprint {
        Some(fingerprint) => json!({"command": "pin", "agent": id, "fingerprint": fingerprint}),
        None => json!({"command": "unpin", "agent": id}),
    };
    for answer in running::ask_all(&root, &question)? {
        let short = |key: &str| answer[key].as_str().map_or("-", |text| text.get(..12).unwrap_or(text)).to_owned();
        let state = if answer["pinned"].is_null() { "not pinned" } else { "pinned" };
        let generation = answer["generation"].as_u64().unwrap_or_default();
        output::print(format_args!("{id}: {state}, serves {} (generation {generation})\n", short("served")))?;
    }
    Ok(Exit::Good)
}

/// A text of an answer, or a dash.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("-")
}

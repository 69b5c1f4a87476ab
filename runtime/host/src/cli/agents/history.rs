//! `roster agents history ID`: what was served of an agent, newest first.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::text;
use crate::assemble;
use crate::cli::Format;
use crate::cli::running;
use crate::error::{Exit, HostError};
use crate::output;

/// Asks the runtime that serves this project.
pub(super) fn run(root: Option<&Path>, id: &str, format: Format) -> Result<Exit, HostError> {
    let root = assemble::running_root(root)?;
    let question = json!({"command": "history", "agent": id});
    let Some(answer) = running::ask_all(&root, &question)?.into_iter().next() else { return Ok(Exit::Good) };
    match format {
        Format::Json => {
            let text = serde_json::to_string_pretty(&answer).map_err(|error| HostError::Internal(error.to_string()))?;
            output::print(format_args!("{text}\n"))?;
        }
        Format::Text => output::print(table(&answer))?,
    }
    Ok(Exit::Good)
}

/// The entries as lines; the version served now and a pinned one are marked.
pub(super) fn table(answer: &Value) -> String {
    let mut lines = format!("{:<24}  {:<8}  {:<12}  WHAT CHANGED\n", "WHEN", "CHANGE", "VERSION");
    let mut marked = false;
    for entry in answer["entries"].as_array().into_iter().flatten() {
        let version = text(entry, "fingerprint");
        let keys: Vec<&str> = entry["keys"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut notes = keys.join(", ");
        if !marked && answer["served"].as_str() == Some(version) {
            marked = true;
            let gap = if notes.is_empty() { "" } else { " " };
            let pinned = if answer["pinned"].as_str() == Some(version) { ", pinned" } else { "" };
            let _ = write!(notes, "{gap}(served now{pinned})");
        }
        let short = version.get(..12).unwrap_or(version);
        let line = format!("{:<24}  {:<8}  {short:<12}  {notes}", text(entry, "at"), text(entry, "change"));
        // Writing to a String cannot fail.
        let _ = writeln!(lines, "{}", line.trim_end());
    }
    lines
}

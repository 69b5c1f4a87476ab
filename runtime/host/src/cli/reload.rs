//! `roster reload`: the runtimes that serve this project read its files again.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::running;
use crate::assemble;
use crate::error::{Exit, HostError};
use crate::output;

/// Asks every runtime of the project, and prints what changed and what is wrong.
///
/// # Errors
/// [`HostError`] when none serves.
pub(super) fn run(root: Option<&Path>) -> Result<Exit, HostError> {
    let root = assemble::running_root(root)?;
    let mut exit = Exit::Good;
    for answer in running::ask_all(&root, &json!({"command": "reload"}))? {
        output::print(told(&answer))?;
        let problems = answer["problems"].as_array().into_iter().flatten();
        if problems.into_iter().any(|problem| problem["severity"] == "error") {
            exit = Exit::Problems;
        }
    }
    Ok(exit)
}

/// What changed, a line an agent, then the problems.
pub(super) fn told(answer: &Value) -> String {
    let number = |key: &str| answer[key].as_u64().unwrap_or_default();
    let changes: Vec<&Value> = answer["changes"].as_array().into_iter().flatten().collect();
    let what = if changes.is_empty() { "no agent changed".to_owned() } else { format!("{} changed", changes.len()) };
    let mut text = format!("generation {}: {what}, {} ms\n", number("generation"), number("took_ms"));
    for change in changes {
        let word = |key: &str| change[key].as_str().unwrap_or_default();
        let keys: Vec<&str> = change["keys"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let version = word("fingerprint");
        let line = format!(
            "  {:<24} {:<8} {} {}",
            word("agent"),
            word("kind"),
            version.get(..12).unwrap_or(version),
            keys.join(", ")
        );
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let rendered = answer["rendered"].as_str().unwrap_or_default();
    if !rendered.is_empty() {
        let _ = write!(text, "\n{rendered}");
    }
    text
}

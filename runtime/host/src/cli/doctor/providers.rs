//! Providers that the runtimes which serve now leave alone.

use std::path::Path;

use serde_json::{Value, json};

use super::finding::Finding;
use crate::cli::running;

/// A warning for each; none where nothing serves.
pub(super) fn left_alone(root: &Path) -> Vec<Finding> {
    let answers = running::ask(root, &json!({"command": "providers"}));
    answers.iter().flat_map(|answer| answer["providers"].as_array().into_iter().flatten()).filter_map(finding).collect()
}

fn finding(provider: &Value) -> Option<Finding> {
    let (name, circuit) = (provider["name"].as_str()?, provider["circuit"].as_str()?);
    let said = match circuit {
        "open" => "failed several times in a row; the runtime that serves leaves it alone for a while",
        "half_open" => "failed several times in a row; one call of the runtime that serves finds out how it is now",
        _ => return None,
    };
    let help = "the log of the runtime says what it failed with; other models of an agent's list are asked meanwhile";
    Some(Finding::warn(&format!("provider {name}"), said, help))
}

//! Asking the runtimes that serve a project, for commands.

use std::path::Path;

use serde_json::Value;

use crate::error::HostError;
pub(super) use crate::reload::ask;

/// The answers of all of them, checked.
///
/// # Errors
/// [`HostError`] when none serves, or one refuses.
pub(super) fn ask_all(root: &Path, question: &Value) -> Result<Vec<Value>, HostError> {
    let answers = ask(root, question);
    if answers.is_empty() {
        return Err(HostError::environment("no runtime serves this project")
            .hint("start one with `roster serve`; it is spoken to through its socket in .temp/run/"));
    }
    answers.into_iter().map(checked).collect()
}

/// An answer that is no refusal.
///
/// # Errors
/// [`HostError::Problem`] with what the runtime said.
pub(super) fn checked(answer: Value) -> Result<Value, HostError> {
    match answer["error"].as_str() {
        Some(message) => Err(HostError::problem(message)),
        None => Ok(answer),
    }
}

/// An answer that cannot be understood: the runtime is of another version.
pub(super) fn broken(error: &serde_json::Error) -> HostError {
    HostError::problem(format!("the runtime that serves answers otherwise than expected: {error}"))
        .hint("it may be of another version; restart it when it suits")
}

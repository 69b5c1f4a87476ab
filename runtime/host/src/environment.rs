//! The surroundings of the process: the one place that asks for variables and the working directory.

use std::path::PathBuf;

use crate::error::HostError;

/// The value of an environment variable; `None` when it is not set, empty or no Unicode.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the host's one look at the environment")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The folder of the running binary.
pub(crate) fn binary_folder() -> Option<PathBuf> {
    std::env::current_exe().ok()?.parent().map(std::path::Path::to_path_buf)
}

/// Where the process was started.
///
/// # Errors
/// [`HostError::Environment`] when the folder is gone or may not be entered.
#[expect(clippy::disallowed_methods, reason = "where the search for the project root begins; nothing else follows it")]
pub(crate) fn working_directory() -> Result<PathBuf, HostError> {
    std::env::current_dir()
        .map_err(|error| HostError::environment(format!("the working directory cannot be used: {error}")))
}

//! Where the project is.

use std::path::{Path, PathBuf};

use roster_engine::definition::Problem;

use crate::error::HostError;
use crate::paths::{RUNTIME_FILE, RootError, find_root};
use crate::{environment, output, render};

/// The root alone, from `--root`, `ROSTER_ROOT` or the way up from the working directory.
///
/// # Errors
/// As [`read`].
pub fn root(asked: Option<&Path>) -> Result<PathBuf, HostError> {
    let (found, named_by) = look_for_root(asked)?;
    found.map_err(|error| no_root(&error, &named_by))
}

/// The root, or why there is none, and who named the place.
fn look_for_root(asked: Option<&Path>) -> Result<(Result<PathBuf, RootError>, String), HostError> {
    let variable = environment::variable(ROOT_VARIABLE).map(PathBuf::from);
    let from = environment::working_directory()?;
    let named_by = match (asked, &variable) {
        (Some(_), _) => " (named by `--root`)".to_owned(),
        (None, Some(_)) => format!(" (named by the variable `{ROOT_VARIABLE}`)"),
        (None, None) => String::new(),
    };
    Ok((find_root(asked.or(variable.as_deref()), &from), named_by))
}

/// The root of a project that a runtime may be serving: for it is spoken to, and `config/runtime.toml` need not be legal
/// at this moment.
///
/// # Errors
/// As [`root`], when no runtime serves the folder either.
pub fn running_root(asked: Option<&Path>) -> Result<PathBuf, HostError> {
    let (found, named_by) = look_for_root(asked)?;
    let folder = match &found {
        Err(RootError::Unparsable { folder, .. }) => Some(folder.as_path()),
        Err(RootError::Unreadable { file, .. }) => file.parent().and_then(Path::parent),
        _ => None,
    };
    match folder.filter(|folder| crate::reload::is_served(folder)) {
        Some(folder) => Ok(folder.to_path_buf()),
        None => found.map_err(|error| no_root(&error, &named_by)),
    }
}

/// The variable that names the root when `--root` does not.
const ROOT_VARIABLE: &str = "ROSTER_ROOT";

fn no_root(error: &RootError, named_by: &str) -> HostError {
    let message = format!("{error}{named_by}");
    match error {
        RootError::Unparsable { problems, source_text, .. } => {
            let shown = render::to_text(problems, &|_| Some(source_text.as_str()), output::stderr_style());
            let rendered = format!("error: {message}\n{}\nhint: {}", shown.trim_end(), error.hint());
            HostError::Configuration { rendered, problems: problems.clone() }
        }
        RootError::Unreadable { reason, .. } => {
            let problem = format!("`{RUNTIME_FILE}` {reason}");
            let problem = Problem::error("file_unreadable", RUNTIME_FILE, problem).help(error.hint());
            let rendered = format!("error: {message}\nhint: {}", error.hint());
            HostError::Configuration { rendered, problems: vec![problem] }
        }
        RootError::NotFound { .. } | RootError::NoProject { .. } => HostError::environment(message).hint(error.hint()),
    }
}

//! The project root: found by its marker, never by where the process or the binary happens to be.

use std::path::{Path, PathBuf};

use roster_engine::definition::{Problem, syntax, text};

/// The file that marks a root, relative to it.
pub const RUNTIME_FILE: &str = "config/runtime.toml";
/// The registry, relative to the root.
pub const REGISTRY_FILE: &str = "config/registry.toml";
/// The definitions' folder, relative to the root.
pub const AGENTS_FOLDER: &str = "agents";

/// Why no root could be settled on. All of them are a matter of the surroundings: exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// No folder on the way up holds the marker.
    #[error("no project found: no `config/runtime.toml` with a [project] table in {}", listed(.looked_in))]
    NotFound {
        /// The folders looked in, nearest first.
        looked_in: Vec<PathBuf>,
    },
    /// The folder asked for is no project.
    #[error("`{}` is no project: {reason}", .folder.display())]
    NoProject {
        /// The folder, as asked for.
        folder: PathBuf,
        /// Why not.
        reason: &'static str,
    },
    /// A marker may be there but cannot be read; going on upwards could open another project's data.
    #[error("cannot read `{}`: {reason}", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why not, in the system's words.
        reason: String,
    },
    /// A marker is there but is no TOML; for the same reason the search ends.
    #[error("`{}` cannot be parsed", .folder.join(RUNTIME_FILE).display())]
    Unparsable {
        /// The folder it belongs to.
        folder: PathBuf,
        /// What is wrong with it.
        problems: Vec<Problem>,
        /// Its text, secrets masked, for showing the places.
        source_text: String,
    },
}

impl RootError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => {
                "go into a project folder, name one with `--root DIR` or ROSTER_ROOT, or make one: a folder whose \
                 config/runtime.toml holds the line [project]"
            }
            Self::NoProject { .. } => "name the folder whose config/runtime.toml holds the line [project]",
            Self::Unreadable { .. } => "make it a readable file, or name another folder with `--root DIR`",
            Self::Unparsable { .. } => "repair the file, or name another folder with `--root DIR`",
        }
    }
}

fn listed(folders: &[PathBuf]) -> String {
    let folders: Vec<String> = folders.iter().map(|folder| format!("`{}`", folder.display())).collect();
    folders.join(", ")
}

/// Finds the root. `asked` is `--root`, else `ROSTER_ROOT`; without it the search goes upwards from `from`, the
/// working directory. A relative `asked` is taken from `from`.
///
/// # Errors
/// [`RootError`].
pub fn find_root(asked: Option<&Path>, from: &Path) -> Result<PathBuf, RootError> {
    if let Some(asked) = asked {
        return asked_root(&from.join(asked));
    }
    let mut looked_in = Vec::new();
    for folder in from.ancestors() {
        if let Marker::Project = marker(folder)? {
            return Ok(folder.to_path_buf());
        }
        looked_in.push(folder.to_path_buf());
    }
    Err(RootError::NotFound { looked_in })
}

fn asked_root(folder: &Path) -> Result<PathBuf, RootError> {
    let no_project = |reason| Err(RootError::NoProject { folder: folder.to_path_buf(), reason });
    if !folder.is_dir() {
        return no_project("there is no such folder");
    }
    match marker(folder)? {
        // Without `.` and `..` in it, so that messages and comparisons see one name.
        Marker::Project => Ok(folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())),
        Marker::Other => no_project("its `config/runtime.toml` has no [project] table"),
        Marker::None => no_project("it has no `config/runtime.toml`"),
    }
}

/// The nearest thing above `file` that exists, when it is no folder: nothing can be made below it.
#[must_use]
pub fn not_a_folder(file: &Path) -> Option<&Path> {
    let existing = file.ancestors().skip(1).find(|above| above.symlink_metadata().is_ok())?;
    (!existing.is_dir()).then_some(existing)
}

/// What to do about [`not_a_folder`].
pub const NOT_A_FOLDER: &str =
    "move it away, so that a folder can be made there, or name another place under [storage]";

enum Marker {
    None,
    Other,
    Project,
}

fn marker(folder: &Path) -> Result<Marker, RootError> {
    let file = folder.join(RUNTIME_FILE);
    let unreadable = |reason: String| RootError::Unreadable { file: file.clone(), reason };
    let bytes = match crate::config::read_file(&file) {
        Ok(bytes) => bytes,
        Err(crate::config::ReadFailure::Missing) => return Ok(Marker::None),
        Err(failure) => return Err(unreadable(failure.to_string())),
    };
    let unparsable =
        |problems, source_text| RootError::Unparsable { folder: folder.to_path_buf(), problems, source_text };
    let text = match text::decode(RUNTIME_FILE, &bytes) {
        Ok(text) => text,
        Err(problem) => return Err(unparsable(vec![*problem], String::new())),
    };
    let parsed = syntax::parse(RUNTIME_FILE, &text);
    if !parsed.problems.is_empty() {
        let masked = crate::config::secret::mask(&text);
        let problems = crate::config::secret::scrub(parsed.problems, &text, &masked);
        return Err(unparsable(problems, masked));
    }
    let has_project = parsed.root.get_ref().get("project").is_some_and(|value| value.get_ref().is_table());
    Ok(if has_project { Marker::Project } else { Marker::Other })
}

#[cfg(test)]
mod tests;

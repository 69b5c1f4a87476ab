//! Opening files: bounded, only regular ones, and none outside `agents/` by way of a link.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use roster_engine::definition::Unreadable;
use roster_engine::definition::text::MAX_FILE_BYTES;

/// Why a file could not be read. Fits after its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadFailure {
    /// It is not there.
    #[error("does not exist")]
    Missing,
    /// A link leads out of `agents/`.
    #[error("leads out of the agents' folder through a link")]
    Outside,
    /// A folder, a socket, a pipe.
    #[error("is not a file")]
    NotAFile,
    /// More than a file may hold.
    #[error("is larger than 4 MiB")]
    TooLarge,
    /// The system does not let this process.
    #[error("may not be read by this user")]
    Denied,
    /// Something else, in the system's words.
    #[error("cannot be read: {0}")]
    Other(String),
}

impl ReadFailure {
    /// Machine code of the problem.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Missing => "file_missing",
            Self::Outside => "bad_path",
            Self::TooLarge => "file_too_large",
            Self::NotAFile | Self::Denied | Self::Other(_) => "file_unreadable",
        }
    }

    /// What to do, where that does not hang on which file it is.
    pub(crate) fn help(&self) -> Option<&'static str> {
        match self {
            Self::Missing => None,
            Self::Outside => Some("put the file itself into agents/ in the link's place"),
            Self::NotAFile => Some("an ordinary file must stand there: move away what is there now"),
            Self::TooLarge => Some("make it smaller: long material is better read by a tool such as `search_docs`"),
            Self::Denied => Some("give this user the right to read it, for example with `chmod u+r`"),
            Self::Other(_) => Some("make it a readable file"),
        }
    }

    fn of(error: &std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::Missing,
            ErrorKind::PermissionDenied => Self::Denied,
            _ => Self::Other(error.to_string()),
        }
    }
}

impl From<ReadFailure> for Unreadable {
    fn from(failure: ReadFailure) -> Self {
        match failure {
            ReadFailure::Missing => Self::Missing,
            ReadFailure::Outside => Self::Outside,
            ReadFailure::TooLarge => Self::TooLarge,
            ReadFailure::NotAFile | ReadFailure::Denied | ReadFailure::Other(_) => Self::Other(failure.to_string()),
        }
    }
}

/// Reads a regular file of bounded size.
///
/// # Errors
/// [`ReadFailure`].
#[expect(clippy::disallowed_methods, reason = "the host's one place that reads the project's files")]
pub fn read_file(path: &Path) -> Result<Vec<u8>, ReadFailure> {
    let about = std::fs::metadata(path).map_err(|error| ReadFailure::of(&error))?;
    if !about.is_file() {
        return Err(ReadFailure::NotAFile);
    }
    let bound = MAX_FILE_BYTES as u64;
    if about.len() > bound {
        return Err(ReadFailure::TooLarge);
    }
    let file = std::fs::File::open(path).map_err(|error| ReadFailure::of(&error))?;
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or_default());
    // It may grow while it is read.
    file.take(bound + 1).read_to_end(&mut bytes).map_err(|error| ReadFailure::of(&error))?;
    if bytes.len() as u64 > bound { Err(ReadFailure::TooLarge) } else { Ok(bytes) }
}

/// The folder of definitions, out of which nothing leads.
pub(crate) struct AgentsFolder {
    path: PathBuf,
    real: Option<PathBuf>,
}

impl AgentsFolder {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), real: path.canonicalize().ok() }
    }

    /// Reads `relative`, a path that does not leave the folder by its letters.
    pub(crate) fn read(&self, relative: &str) -> Result<Vec<u8>, ReadFailure> {
        let path = self.path.join(relative);
        if self.may_lead_out(&path, relative) {
            let real = path.canonicalize().map_err(|error| ReadFailure::of(&error))?;
            if !self.real.as_ref().is_some_and(|folder| real.starts_with(folder)) {
                return Err(ReadFailure::Outside);
            }
        }
        read_file(&path)
    }

    /// A plain file in the folder itself leads nowhere else; asking the system about each step would be dear for
    /// thousands of agents.
    fn may_lead_out(&self, path: &Path, relative: &str) -> bool {
        relative.contains('/') || path.symlink_metadata().is_ok_and(|about| about.file_type().is_symlink())
    }
}

/// How the names of test files end.
pub(crate) const TEST_FILE: &str = ".test.toml";

/// The names of the definitions that lie in `folder` itself, sorted: `*.toml`, no dot before, not `*.test.toml`.
pub(crate) fn definition_files(folder: &Path) -> Result<Vec<String>, ReadFailure> {
    listed(folder, |name| name.ends_with(".toml") && !name.ends_with(TEST_FILE))
}

/// The names of the test files that lie in `folder` itself, sorted.
pub(crate) fn test_files(folder: &Path) -> Result<Vec<String>, ReadFailure> {
    listed(folder, |name| name.ends_with(TEST_FILE))
}

#[expect(clippy::disallowed_methods, reason = "the host's one place that lists the project's files")]
fn listed(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, ReadFailure> {
    let entries = std::fs::read_dir(folder).map_err(|error| match error.kind() {
        ErrorKind::NotADirectory => ReadFailure::Other("it is not a folder".to_owned()),
        _ => ReadFailure::of(&error),
    })?;
    let mut names = Vec::new();
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder && wanted(&name) && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

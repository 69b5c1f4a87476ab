//! What opening a file would say, without a trace: for the operator's checks.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::error::OpenError;
use super::schema::{self, Ours};
use super::{copy, holder, integrity, observation, open};

/// What was found of a file that opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The resolved path; as given where its folder does not exist yet.
    pub path: PathBuf,
    /// What lies there.
    pub state: FileState,
}

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// Nothing; opening makes it.
    Missing,
    /// A file without content; opening fills it.
    Empty,
    /// An older version; opening keeps a copy and brings it up to date.
    Older {
        /// The version in the file.
        found: u32,
        /// What it becomes.
        newest: u32,
    },
    /// Of the newest version.
    Current {
        /// That version.
        version: u32,
    },
}

/// Says what [`open`](super::open()) would find at `path`, also while a runtime serves it. Nothing is written, made or
/// removed. Reads the marks and the roots of the tables, not the whole file.
///
/// # Errors
/// What opening would refuse with. Locks and full disks show only when it is opened.
pub fn inspect(path: impl AsRef<Path>) -> Result<Inspection, OpenError> {
    inspect_as(path.as_ref(), Ours::sessions(schema::MIGRATIONS), schema::TABLES)
}

/// The same for [`open_observations`](super::open_observations).
///
/// # Errors
/// The same.
pub fn inspect_observations(path: impl AsRef<Path>) -> Result<Inspection, OpenError> {
    inspect_as(path.as_ref(), observation::OURS, &["spans"])
}

fn inspect_as(path: &Path, ours: Ours, tables: &[&str]) -> Result<Inspection, OpenError> {
    let Some(path) = open::place(path)? else { return missing(path) };
    if !path.exists() {
        return missing(&path);
    }
    writable(&path)?;
    let sorted = |error| OpenError::from_sqlite(&path, error);
    let connection = view(&path).map_err(sorted)?;
    let version = ours.look(&path, &connection).map_err(sorted)??;
    if version == ours.newest {
        schema::look_at_roots(&connection, tables).map_err(sorted)?;
    } else {
        let there = integrity::table_names(&connection).map_err(sorted)?;
        schema::look_at_roots(&connection, &there).map_err(sorted)?;
    }
    let state = match version {
        0 => FileState::Empty,
        version if version == ours.newest => FileState::Current { version },
        found => FileState::Older { found, newest: ours.newest },
    };
    Ok(Inspection { path, state })
}

fn missing(path: &Path) -> Result<Inspection, OpenError> {
    let mut above =
        path.ancestors().skip(1).map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    if let Some(folder) = above.find(|folder| folder.exists()) {
        if !folder.is_dir() {
            return Err(OpenError::from_io(path, std::io::ErrorKind::NotADirectory.into()));
        }
        may_write(folder).map_err(|error| OpenError::from_io(path, error))?;
    }
    Ok(Inspection { path: path.to_owned(), state: FileState::Missing })
}

/// Whether the file and its companions can be written, and those that are missing made.
fn writable(path: &Path) -> Result<(), OpenError> {
    let failed = |error| OpenError::from_io(path, error);
    may_write(path).map_err(failed)?;
    let companions = [copy::beside(path, "-wal"), copy::beside(path, "-shm"), holder::folder(path)];
    for companion in companions.iter().filter(|companion| companion.exists()) {
        may_write(companion).map_err(failed)?;
    }
    match path.parent().filter(|_| !companions.iter().all(|companion| companion.exists())) {
        Some(folder) => may_write(folder).map_err(failed),
        None => Ok(()),
    }
}

/// Asks the system for the right to write there, without opening anything.
#[cfg(unix)]
fn may_write(path: &Path) -> std::io::Result<()> {
    use rustix::fs::{Access, access};
    let wanted = if path.is_dir() { Access::WRITE_OK | Access::EXEC_OK } else { Access::WRITE_OK | Access::READ_OK };
    Ok(access(path, wanted)?)
}

#[cfg(not(unix))]
fn may_write(path: &Path) -> std::io::Result<()> {
    match std::fs::metadata(path)?.permissions().readonly() {
        true if !path.is_dir() => Err(std::io::ErrorKind::PermissionDenied.into()),
        _ => Ok(()),
    }
}

/// A view of the file with its log, if it has one.
pub(super) fn view(path: &Path) -> rusqlite::Result<Connection> {
    let shared_index = copy::beside(path, "-shm").exists();
    if shared_index || copy::has_log(path) { open::undisturbing(path, shared_index) } else { open::immutable(path) }
}

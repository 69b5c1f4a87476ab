//! What goes wrong with a file, and how SQLite's own failures are sorted.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use roster_model::storage::{StoreError, StoreErrorKind};
use rusqlite::ErrorCode;

use crate::line::lock;

/// Why a database was not opened. Nothing was written to it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The path is a folder, a device or the like.
    #[error(
        "`{path}` is a folder or no ordinary file\nhint: name a file in the storage setting, such as `{path}/roster.db`"
    )]
    NoFile {
        /// The resolved path.
        path: PathBuf,
    },
    /// The file or its folder cannot be written.
    #[error(
        "`{path}` cannot be written: folder `{folder}` has mode {mode:o} and belongs to user {owner}\nhint: give this \
         user the right to write in that folder and to the file with its `-wal` and `-shm` companions, or name another \
         place in the storage setting"
    )]
    NotWritable {
        /// The resolved file.
        path: PathBuf,
        /// The nearest folder above it that exists.
        folder: PathBuf,
        /// The folder's permission bits.
        mode: u32,
        /// The folder's owner, a numeric user id.
        owner: u32,
        /// What the system said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A newer runtime wrote the file; it was left as it is.
    #[error(
        "`{path}` has schema version {found}, this runtime knows up to {supported}\nhint: start the newer runtime, or \
         restore a backup made by this one"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: u32,
        /// The newest version known here.
        supported: u32,
    },
    /// A healthy SQLite file of some other program.
    #[error("`{path}` is a database of another program\nhint: name another file in the storage setting")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// No database, or a broken one. It was left as it is.
    #[error(
        "`{path}` is damaged or no database\nhint: keep a copy of it, then put a backup back with `roster restore FILE`"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
    /// The disk has no space for the file or its companions.
    #[error(
        "`{path}` cannot be opened: the disk is full\nhint: make room on that disk, or name a place on another one in the \
         storage setting"
    )]
    Full {
        /// The file.
        path: PathBuf,
        /// What the system or SQLite said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Other processes kept it locked.
    #[error("`{path}` stayed locked by another process")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Another process kept the lock file that a restore takes alone.
    #[error(
        "`{path}` cannot be opened: another process keeps `{gate}` locked\nhint: a restore may be under way: start again \
         when it has ended; otherwise find the process (`fuser {gate}`) and end it"
    )]
    Shut {
        /// The file.
        path: PathBuf,
        /// The lock file.
        gate: PathBuf,
    },
    /// The lock file is a folder, a pipe or the like.
    #[error("`{path}` cannot be opened: its lock file `{gate}` is no ordinary file\nhint: remove it and start again")]
    OddGate {
        /// The file.
        path: PathBuf,
        /// What stands in the lock file's place.
        gate: PathBuf,
    },
    /// Anything else.
    #[error("`{path}` cannot be opened")]
    Other {
        /// The file.
        path: PathBuf,
        /// What the system or SQLite said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The kinds of [`OpenError`]. [`OpenErrorKind::Damaged`] lets the runtime serve on without the store; the others
/// are for the person who starts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpenErrorKind {
    /// The path is no file.
    NoFile,
    /// No right to write.
    NotWritable,
    /// Written by a newer runtime.
    Newer,
    /// Another program's.
    Foreign,
    /// Damaged, or no database.
    Damaged,
    /// No space on the disk.
    Full,
    /// Locked for too long.
    Busy,
    /// Anything else.
    Other,
}

impl OpenError {
    /// The kind.
    #[must_use]
    pub fn kind(&self) -> OpenErrorKind {
        match self {
            Self::NoFile { .. } => OpenErrorKind::NoFile,
            Self::NotWritable { .. } => OpenErrorKind::NotWritable,
            Self::Newer { .. } => OpenErrorKind::Newer,
            Self::Foreign { .. } => OpenErrorKind::Foreign,
            Self::Damaged { .. } => OpenErrorKind::Damaged,
            Self::Full { .. } => OpenErrorKind::Full,
            Self::Busy { .. } | Self::Shut { .. } => OpenErrorKind::Busy,
            Self::OddGate { .. } | Self::Other { .. } => OpenErrorKind::Other,
        }
    }

    /// Sorts a failure of SQLite while `path` was being opened.
    pub(super) fn from_sqlite(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            _ if is_full(&error) => Self::Full { path, source: error.into() },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged { path, source: error },
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Self::not_writable(&path, error)
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            _ => Self::Other { path, source: error.into() },
        }
    }

    /// Sorts a failure of the file system.
    pub(super) fn from_io(path: &Path, error: std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Self::not_writable(path, error),
            _ if is_full_disk(&error) => Self::Full { path: path.to_owned(), source: error.into() },
            _ => Self::Other { path: path.to_owned(), source: error.into() },
        }
    }

    /// With the mode and owner of the nearest folder that exists.
    pub(super) fn not_writable(path: &Path, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let mut folders = path.ancestors().skip(1);
        let found = folders.find_map(|folder| Some((folder, std::fs::metadata(folder).ok()?)));
        let (folder, mode, owner) = match &found {
            Some((folder, metadata)) => (*folder, permission_bits(metadata), owner(metadata)),
            None => (path, 0, 0),
        };
        Self::NotWritable { path: path.to_owned(), folder: folder.to_owned(), mode, owner, source: source.into() }
    }
}

/// Whether there was no space. Growing the shared index fails as an I/O error then.
pub(super) fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
        || error.sqlite_error().is_some_and(|cause| cause.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}

/// The same for the file system.
pub(super) fn is_full_disk(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
}

#[cfg(unix)]
fn permission_bits(metadata: &std::fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::mode(metadata) & 0o7777
}

#[cfg(unix)]
fn owner(metadata: &std::fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::uid(metadata)
}

#[cfg(not(unix))]
fn permission_bits(metadata: &std::fs::Metadata) -> u32 {
    if metadata.permissions().readonly() { 0o555 } else { 0o755 }
}

#[cfg(not(unix))]
fn owner(_: &std::fs::Metadata) -> u32 {
    0
}

/// Whether the store can be used. Damage that was seen once is remembered: from then on nothing is written.
#[derive(Debug, Default)]
pub(super) struct Health(Mutex<Option<String>>);

impl Health {
    /// `Ok`, or the damage seen.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match lock(&self.0).as_ref() {
            None => Ok(()),
            Some(reason) => Err(StoreError::new(StoreErrorKind::Unavailable, reason.clone())),
        }
    }

    /// Sorts a failure, and remembers damage.
    pub(super) fn sort(&self, error: Failure) -> StoreError {
        match error {
            Failure::Store(error) => error,
            Failure::Sqlite(error) => {
                let sorted = sort(error);
                if sorted.damaged {
                    lock(&self.0).get_or_insert_with(|| {
                        let reason = text(&sorted.error);
                        tracing::error!(%reason, "a database is damaged; nothing more is written to it");
                        reason
                    });
                }
                sorted.error
            }
        }
    }
}

/// A failure inside a job: one of ours, or SQLite's, not yet sorted.
#[derive(Debug)]
pub(super) enum Failure {
    Store(StoreError),
    Sqlite(rusqlite::Error),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// What a job inside the store gives.
pub(super) type Outcome<T> = Result<T, Failure>;

/// A failure of this kind.
pub(super) fn fail<T>(kind: StoreErrorKind, message: impl Into<String>) -> Outcome<T> {
    Err(Failure::Store(StoreError::new(kind, message)))
}

struct Sorted {
    error: StoreError,
    damaged: bool,
}

fn sort(error: rusqlite::Error) -> Sorted {
    let code = error.sqlite_error_code();
    let (kind, message) = match code {
        _ if is_full(&error) => (StoreErrorKind::Full, "no space for the database"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            (StoreErrorKind::Busy, "the database stayed locked by another process")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            (StoreErrorKind::Unavailable, "the database is damaged")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            (StoreErrorKind::Unavailable, "the database cannot be written")
        }
        Some(ErrorCode::SystemIoFailure) => (StoreErrorKind::Unavailable, "the database cannot be reached"),
        _ => (StoreErrorKind::Internal, "the database refused a statement"),
    };
    let damaged = matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase));
    let error = StoreError { kind, message: message.to_owned(), source: Some(Box::new(error)) };
    Sorted { error, damaged }
}

/// A failure and its cause in one line.
fn text(error: &StoreError) -> String {
    match &error.source {
        Some(source) => format!("{}: {source}", error.message),
        None => error.message.clone(),
    }
}

/// The same failure once more, for each job of a group that failed as a whole.
pub(super) fn again(error: &StoreError) -> StoreError {
    StoreError::new(error.kind, text(error))
}

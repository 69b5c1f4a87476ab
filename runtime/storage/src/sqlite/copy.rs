//! Copies: the backup while serving, the copy before a migration, and the restore.

use std::io;
use std::path::{Path, PathBuf};

use roster_model::storage::{StoreError, StoreErrorKind};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode};

use super::error::{Health, OpenError, is_full, is_full_disk};
use super::integrity::check_integrity;
use super::schema::{self, Ours};
use super::{holder, open, private};

/// Why a copy failed.
#[derive(Debug, thiserror::Error)]
enum CopyError {
    #[error("`{0}` exists already")]
    Exists(PathBuf),
    #[error("cannot write `{path}`")]
    Io { path: PathBuf, source: io::Error },
    /// The copy: no space, or the system refused.
    #[error("cannot write `{path}`")]
    Write { path: PathBuf, source: rusqlite::Error },
    /// What is copied: damaged, or locked.
    #[error("cannot be copied")]
    Read { source: rusqlite::Error },
}

impl CopyError {
    /// Sorts a failure between the two files: SQLite does not say which it was.
    fn between(path: &Path, source: rusqlite::Error) -> Self {
        let code = source.sqlite_error_code();
        match code {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Read { source },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Read { source },
            _ => Self::Write { path: path.to_owned(), source },
        }
    }

    fn is_full(&self) -> bool {
        match self {
            Self::Io { source, .. } => is_full_disk(source),
            Self::Write { source, .. } => is_full(source),
            Self::Exists(_) | Self::Read { .. } => false,
        }
    }
}

/// The path with something added to its name.
pub(super) fn beside(path: &Path, addition: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(addition);
    PathBuf::from(name)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn sync(path: &Path) -> io::Result<()> {
    std::fs::OpenOptions::new().read(true).open(path)?.sync_all()
}

fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| sync(if folder.as_os_str().is_empty() { Path::new(".") } else { folder }))
}

/// Gives a finished file its name, unless that name is taken.
fn name_it(file: &Path, name: &Path) -> io::Result<()> {
    match std::fs::hard_link(file, name) {
        Ok(()) => remove_if_there(file)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        // A file system without hard links.
        Err(_) if name.exists() => return Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => std::fs::rename(file, name)?,
    }
    sync_folder(name)
}

/// Copies what `source` sees at one moment into the new file `to`, whole and durable; a broken copy is removed.
fn write_copy(source: &Connection, to: &Path) -> Result<(), CopyError> {
    let copied = write_new(source, to);
    if copied.is_err() {
        let _gone = remove_if_there(to);
    }
    copied
}

fn write_new(source: &Connection, to: &Path) -> Result<(), CopyError> {
    let failed = |error| CopyError::Io { path: to.to_owned(), source: error };
    let sorted = |error| CopyError::between(to, error);
    remove_if_there(to).and_then(|()| private::file(to)).map_err(failed)?;
    let mut target = open::copy_target(to).map_err(sorted)?;
    let step = {
        let backup = Backup::new(source, &mut target).map_err(sorted)?;
        // In one step: a copy in several begins anew with each write that comes between.
        backup.step(-1).map_err(sorted)?
    };
    if step != StepResult::Done {
        let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
        return Err(sorted(rusqlite::Error::SqliteFailure(busy, None)));
    }
    target.close().map_err(|(_, error)| sorted(error))?;
    sync(to).map_err(failed)
}

fn copy_and_name(source: &Connection, to: &Path) -> Result<(), CopyError> {
    if to.exists() {
        return Err(CopyError::Exists(to.to_owned()));
    }
    let partial = beside(to, &format!(".{}.partial", std::process::id()));
    let copied = write_copy(source, &partial).and_then(|()| {
        name_it(&partial, to).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => CopyError::Exists(to.to_owned()),
            _ => CopyError::Io { path: to.to_owned(), source: error },
        })
    });
    if copied.is_err() {
        let _gone = remove_if_there(&partial);
    }
    copied
}

/// The backup of a store that serves.
pub(super) fn backup(from: &Path, to: &Path, health: &Health) -> Result<(), StoreError> {
    let source = open::read_only(from)
        .map_err(|error| StoreError::new(StoreErrorKind::Unavailable, format!("cannot open the store: {error}")))?;
    copy_and_name(&source, to).map_err(|error| match error {
        CopyError::Exists(_) => StoreError::new(StoreErrorKind::Conflict, error.to_string()),
        CopyError::Read { source } => health.sort(source.into()),
        _ if error.is_full() => unwritten(to, StoreErrorKind::Full, error),
        other => unwritten(to, StoreErrorKind::Unavailable, other),
    })
}

/// Why the copy could not be written, in terms of the folder somebody named.
fn unwritten(to: &Path, kind: StoreErrorKind, error: CopyError) -> StoreError {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (file, shown) = (to.display(), folder.display());
    let message = if kind == StoreErrorKind::Full {
        format!(
            "cannot write `{file}`: the disk of folder `{shown}` is full\nhint: make room there, or name a file on another disk"
        )
    } else if !folder.exists() {
        format!(
            "cannot write `{file}`: there is no folder `{shown}`\nhint: make the folder, or name a file in one that is there"
        )
    } else {
        format!(
            "cannot write `{file}` in folder `{shown}`\nhint: give this user the right to write in that folder, or name a file in another one"
        )
    };
    let source: Box<dyn std::error::Error + Send + Sync> = match error {
        CopyError::Io { source, .. } => source.into(),
        CopyError::Write { source, .. } | CopyError::Read { source } => source.into(),
        exists @ CopyError::Exists(_) => exists.into(),
    };
    StoreError { kind, message, source: Some(source) }
}

/// Keeps the state before a migration as `….v<N>.bak`; called under the write lock, so by one process only.
pub(super) fn keep_before_migration(path: &Path, version: u32) -> Result<(), OpenError> {
    let source = open::read_only(path)?;
    let mut to = beside(path, &format!(".v{version}.bak"));
    let mut number = 1;
    while to.exists() {
        number += 1;
        to = beside(path, &format!(".v{version}.bak.{number}"));
    }
    copy_and_name(&source, &to).map_err(|error| match error {
        CopyError::Write { source, .. } | CopyError::Read { source } => OpenError::from_sqlite(path, source),
        CopyError::Io { source, .. } => OpenError::from_io(path, source),
        CopyError::Exists(_) => OpenError::Other { path: path.to_owned(), source: error.into() },
    })
}

/// Why a backup was not put back. The database is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// A runtime has the database open.
    #[error("`{path}` is in use\nhint: stop the runtime, then restore")]
    InUse {
        /// The database.
        path: PathBuf,
    },
    /// The backup is missing, damaged, another program's, or of a newer version.
    #[error("`{path}` is no backup that can be restored: {reason}")]
    Unfit {
        /// The backup.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The database's place cannot be used.
    #[error(transparent)]
    Place(#[from] OpenError),
    /// No space for the copy of the backup.
    #[error("cannot write `{path}`: the disk is full\nhint: make room on that disk; the database is as it was")]
    Full {
        /// The file.
        path: PathBuf,
        /// What the system or SQLite said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The system refused a step.
    #[error(
        "cannot write `{path}`\nhint: give this user the right to write in that folder, then restore; the database is as \
         it was"
    )]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system or SQLite said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl RestoreError {
    fn from_io(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        if is_full_disk(&error) {
            return Self::Full { path, source: error.into() };
        }
        Self::Io { path, source: error.into() }
    }

    /// A failure of copying `backup` beside `database`.
    fn from_copy(database: &Path, backup: &Path, error: CopyError) -> Self {
        let path = database.to_owned();
        match error {
            CopyError::Read { source } => Self::Unfit { path: backup.to_owned(), reason: source.to_string() },
            CopyError::Write { source, .. } if is_full(&source) => Self::Full { path, source: source.into() },
            CopyError::Write { source, .. } => Self::Io { path, source: source.into() },
            CopyError::Io { source, .. } => Self::from_io(database, source),
            exists @ CopyError::Exists(_) => Self::Io { path, source: exists.into() },
        }
    }
}

/// Puts the backup `from` in the place of `database`, stopped only. The old file, its log folded in, is kept as
/// `….before-restore-<n>`; its path is given back, `None` when there was no old file. Done in one rename: after a
/// crash either the old or the restored file is there.
///
/// # Errors
/// [`RestoreError`]; nothing has changed then.
pub fn restore(database: &Path, from: &Path) -> Result<Option<PathBuf>, RestoreError> {
    let database = open::resolve(database)?;
    let failed = |error| RestoreError::from_io(&database, error);
    check_backup(from)?;
    let alone = holder::Alone::with(&database).map_err(failed)?;
    let Some(_alone) = alone else { return Err(RestoreError::InUse { path: database }) };
    let partial = beside(&database, ".restore.partial");
    let source =
        quiet(from).map_err(|error| RestoreError::Unfit { path: from.to_owned(), reason: error.to_string() })?;
    write_copy(&source, &partial).map_err(|error| RestoreError::from_copy(&database, from, error))?;
    let put = put_in_place(&partial, &database);
    if put.is_err() {
        let _gone = remove_if_there(&partial);
    }
    put.map_err(failed)
}

/// Gives the copy the database's name, and the mode of the file it replaces.
fn put_in_place(copy: &Path, database: &Path) -> io::Result<Option<PathBuf>> {
    if let Ok(old) = std::fs::metadata(database) {
        std::fs::set_permissions(copy, old.permissions())?;
    }
    let kept = keep_old(database)?;
    std::fs::rename(copy, database)?;
    sync_folder(database)?;
    Ok(kept)
}

fn check_backup(from: &Path) -> Result<(), RestoreError> {
    let unfit = |reason: String| Err(RestoreError::Unfit { path: from.to_owned(), reason });
    if !from.is_file() {
        return unfit("there is no such file".to_owned());
    }
    let marks = match quiet(from).and_then(|connection| schema::marks(&connection)) {
        Ok(marks) => marks,
        Err(error) => return unfit(error.to_string()),
    };
    if let Err(error) = Ours::sessions(schema::MIGRATIONS).judge(from, marks) {
        return unfit(error.to_string());
    }
    if marks.0 == 0 {
        return unfit("it holds no store".to_owned());
    }
    match check_integrity(from, |_, _| {}) {
        Ok(integrity) if integrity.problems.is_empty() => Ok(()),
        Ok(integrity) => unfit(integrity.problems.join("; ")),
        Err(error) => unfit(error.to_string()),
    }
}

/// Keeps the old file under a free name while it stays in place, its log folded in or moved along.
fn keep_old(database: &Path) -> io::Result<Option<PathBuf>> {
    if !database.exists() {
        return Ok(None);
    }
    if beside(database, "-wal").exists() {
        open::fold_log(database);
    }
    let mut number = 1;
    let kept = loop {
        let name = beside(database, &format!(".before-restore-{number}"));
        if !name.exists() && !beside(&name, "-wal").exists() {
            break name;
        }
        number += 1;
    };
    if std::fs::hard_link(database, &kept).is_err() {
        std::fs::rename(database, &kept)?;
    }
    // A log that could not be folded (the file is damaged) must not meet the restored file.
    let log = beside(database, "-wal");
    if log.exists() {
        std::fs::rename(&log, beside(&kept, "-wal"))?;
    }
    remove_if_there(&beside(database, "-shm"))?;
    sync_folder(database)?;
    Ok(Some(kept))
}

/// Whether there is something in the file's log.
pub(super) fn has_log(path: &Path) -> bool {
    std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0)
}

/// A connection for looking that leaves no companion files beside a file nobody uses.
pub(super) fn quiet(path: &Path) -> rusqlite::Result<Connection> {
    if has_log(path) || beside(path, "-shm").exists() { open::read_only_plain(path) } else { open::immutable(path) }
}

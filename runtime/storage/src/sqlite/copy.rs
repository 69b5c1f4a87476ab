//! Copies: the backup while serving, the copy before a migration, the restore, and the check of a file.

use std::io;
use std::path::{Path, PathBuf};

use roster_model::storage::{StoreError, StoreErrorKind};
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::error::{Health, OpenError};
use super::{holder, open, schema};

/// Why a copy failed.
#[derive(Debug, thiserror::Error)]
enum CopyError {
    #[error("`{0}` exists already")]
    Exists(PathBuf),
    #[error("cannot write `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot copy to `{path}`")]
    Sqlite { path: PathBuf, source: rusqlite::Error },
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

/// Copies what `source` sees at one moment into the new file `to`, whole and durable.
fn write_copy(source: &Connection, to: &Path) -> Result<(), CopyError> {
    let failed = |error| CopyError::Io { path: to.to_owned(), source: error };
    let sorted = |error| CopyError::Sqlite { path: to.to_owned(), source: error };
    remove_if_there(to).map_err(failed)?;
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
        CopyError::Io { source, path } => {
            let full = matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
            let kind = if full { StoreErrorKind::Full } else { StoreErrorKind::Unavailable };
            StoreError { kind, message: format!("cannot write `{}`", path.display()), source: Some(source.into()) }
        }
        CopyError::Sqlite { source, .. } => health.sort(source.into()),
    })
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
        CopyError::Sqlite { source, .. } => OpenError::from_sqlite(path, source),
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
    /// The system refused a step.
    #[error("cannot write `{path}`")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Puts the backup `from` in the place of `database`, stopped only. The old file, its log folded in, is kept as
/// `….before-restore-<n>`; its path is given back, `None` when there was no old file. Done in one rename: after a
/// crash either the old or the restored file is there.
///
/// # Errors
/// [`RestoreError`]; nothing has changed then.
pub fn restore(database: &Path, from: &Path) -> Result<Option<PathBuf>, RestoreError> {
    let database = open::resolve(database)?;
    let failed = |error| RestoreError::Io { path: database.clone(), source: error };
    check_backup(from)?;
    let alone = holder::Alone::with(&database).map_err(failed)?;
    let Some(_alone) = alone else { return Err(RestoreError::InUse { path: database }) };
    let partial = beside(&database, ".restore.partial");
    let unfit =
        |error: &dyn std::fmt::Display| RestoreError::Unfit { path: from.to_owned(), reason: error.to_string() };
    let source = quiet(from).map_err(|error| unfit(&error))?;
    write_copy(&source, &partial).map_err(|error| match error {
        CopyError::Io { source, path } => RestoreError::Io { path, source },
        other => unfit(&other),
    })?;
    let kept = keep_old(&database).map_err(failed)?;
    std::fs::rename(&partial, &database).map_err(failed)?;
    sync_folder(&database).map_err(failed)?;
    Ok(kept)
}

fn check_backup(from: &Path) -> Result<(), RestoreError> {
    let unfit = |reason: String| Err(RestoreError::Unfit { path: from.to_owned(), reason });
    if !from.is_file() {
        return unfit("there is no such file".to_owned());
    }
    let newest = u32::try_from(schema::MIGRATIONS.len()).unwrap_or(u32::MAX);
    let marks = match quiet(from).and_then(|connection| schema::marks(&connection)) {
        Ok(marks) => marks,
        Err(error) => return unfit(error.to_string()),
    };
    if let Err(error) = schema::judge(from, marks, newest, schema::APPLICATION_ID) {
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
    open::fold_log(database);
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

/// How many rows a store holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Threads, those of sub-agents included.
    pub threads: u64,
    /// Messages.
    pub messages: u64,
    /// Owners.
    pub owners: u64,
}

/// What a check of a file found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integrity {
    /// Empty when the file is sound.
    pub problems: Vec<String>,
    /// `None` when rows could not be counted.
    pub counts: Option<Counts>,
    /// The schema version.
    pub version: u32,
}

/// Checks a file table by table without writing to it, also while a runtime serves it. Reads the whole file:
/// `progress` is told how many tables are done, of how many.
///
/// # Errors
/// When the file cannot be opened at all, or is no database.
pub fn check_integrity(path: &Path, mut progress: impl FnMut(usize, usize)) -> Result<Integrity, OpenError> {
    let sorted = |error| OpenError::from_sqlite(path, error);
    let connection = quiet(path).map_err(sorted)?;
    let (version, _) = schema::marks(&connection).map_err(sorted)?;
    let tables = match table_names(&connection) {
        Ok(tables) => tables,
        Err(error) => return Ok(Integrity { problems: vec![error.to_string()], counts: None, version }),
    };
    let mut problems = Vec::new();
    for (done, table) in tables.iter().enumerate() {
        progress(done, tables.len());
        match check_table(&connection, table) {
            Ok(found) => problems.extend(found.into_iter().filter(|line| line != "ok")),
            Err(error) => problems.push(format!("table {table}: {error}")),
        }
    }
    progress(tables.len(), tables.len());
    Ok(Integrity { problems, counts: count(&connection).ok(), version })
}

fn table_names(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

fn check_table(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let sql = format!("PRAGMA quick_check(\"{}\")", table.replace('"', "\"\""));
    connection.prepare(&sql)?.query_map([], |row| row.get(0))?.collect()
}

fn count(connection: &Connection) -> rusqlite::Result<Counts> {
    let sql = "SELECT (SELECT count(*) FROM threads WHERE dead = 0), (SELECT count(*) FROM messages), \
               (SELECT count(DISTINCT resource) FROM threads WHERE dead = 0)";
    connection.query_row(sql, [], |row| {
        let column = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
        Ok(Counts { threads: column(0)?, messages: column(1)?, owners: column(2)? })
    })
}

/// A connection for looking that leaves no companion files beside a file nobody uses.
fn quiet(path: &Path) -> rusqlite::Result<Connection> {
    let logged = std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
    if logged || beside(path, "-shm").exists() { open::read_only_plain(path) } else { open::immutable(path) }
}

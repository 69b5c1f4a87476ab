//! The one place that opens a database.

#![expect(clippy::disallowed_methods, reason = "this is the one function that opens databases")]

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use roster_model::id::IdSource;
use roster_model::time::Clock;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::error::{OpenError, OpenErrorKind};
use super::holder::Holder;
use super::private;
use super::schema::{self, Ours};
use super::store::SqliteStore;
use crate::ids::RandomIds;

/// How long a statement waits for another process.
const BUSY: Duration = Duration::from_secs(10);
/// How often a lock is looked at that nobody announces as free.
pub(super) const PAUSE: Duration = Duration::from_millis(5);
/// Statements kept prepared per connection; more than there are.
const STATEMENTS: usize = 192;

/// How to open a store.
#[derive(Clone)]
pub struct Options {
    /// Dates threads and their changes.
    pub clock: Arc<dyn Clock>,
    /// Gives copied messages their ids.
    pub ids: Arc<dyn IdSource>,
    /// For tests of the store itself; leave at its default.
    pub trial: Trial,
}

impl Options {
    /// The ordinary way, with random ids.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, ids: Arc::new(RandomIds), trial: Trial::default() }
    }
}

/// What only tests of the store set.
#[derive(Debug, Clone, Default)]
pub struct Trial {
    /// One migration more than released.
    pub extra_migration: Option<&'static str>,
    /// Largest size of the database, in pages, instead of a full disk.
    pub max_pages: Option<u32>,
    /// Shorter slices of long work than usual.
    pub slice: Option<Duration>,
    /// A shorter wait for a restore to end.
    pub gate: Option<Duration>,
}

/// Opens the store at `path`, making folders, file and tables that are missing, and starts its threads.
///
/// Blocks for some milliseconds, and up to ten seconds while a restore runs; call it while starting. A file that is refused is not written to.
///
/// # Errors
/// [`OpenError`]; its kind says whether to serve without the store ([`OpenErrorKind::Damaged`]) or to stop.
pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<SqliteStore, OpenError> {
    let path = resolve(path.as_ref())?;
    let plan = schema::plan(options.trial.extra_migration);
    let ours = Ours::sessions(&plan);
    look_first(&path, ours)?;
    let holder = Holder::new(&path, options.trial.gate.unwrap_or(BUSY))?;
    let mut writer = read_write(&path, "FULL", Some(ours))?;
    schema::migrate(&mut writer, &path, &plan, options.clock.now().millis())?;
    if let Some(pages) = options.trial.max_pages {
        writer.pragma_update(None, "max_page_count", pages).map_err(|error| OpenError::from_sqlite(&path, error))?;
    }
    SqliteStore::start(path, holder, writer, options)
}

/// The path with its folder made and resolved.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, OpenError> {
    let (folder, name) = parts(path)?;
    private::folder(folder).and_then(|()| resolved(folder, name)).map_err(|error| OpenError::from_io(path, error))
}

/// The same where the folder is; `None` where it is missing.
pub(super) fn place(path: &Path) -> Result<Option<PathBuf>, OpenError> {
    let (folder, name) = parts(path)?;
    if !folder.is_dir() {
        return Ok(None);
    }
    resolved(folder, name).map(Some).map_err(|error| OpenError::from_io(path, error))
}

/// The folder and the name of what must be a file or nothing yet.
fn parts(path: &Path) -> Result<(&Path, &OsStr), OpenError> {
    let no_file = || OpenError::NoFile { path: path.to_owned() };
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(no_file());
    }
    let name = path.file_name().ok_or_else(no_file)?;
    Ok((path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")), name))
}

fn resolved(folder: &Path, name: &OsStr) -> io::Result<PathBuf> {
    let resolved = std::fs::canonicalize(folder)?.join(name);
    // A link to the file is followed, so that all names of one file share its lock files.
    Ok(std::fs::canonicalize(&resolved).unwrap_or(resolved))
}

/// Looks at a file without any trace: no lock, no companion file, not a byte changed.
pub(super) fn look_first(path: &Path, ours: Ours) -> Result<(), OpenError> {
    if !path.exists() {
        return Ok(());
    }
    match immutable(path).and_then(|connection| ours.look(path, &connection)) {
        Ok(judged) => judged.map(drop),
        // Without its log the file can look broken, and is whole with it: opening it in earnest decides.
        Err(_) => Ok(()),
    }
}

/// A connection that takes the file as unchangeable: no locks, no companion files, its log not seen.
pub(super) fn immutable(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(uri(path, "immutable=1"), flags)
}

/// A connection that sees the log and leaves no trace either; the file itself must be writable. Where there is no
/// shared index nobody has the file open, and an index of our own is made in memory.
pub(super) fn undisturbing(path: &Path, shared_index: bool) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if shared_index {
        let uri = uri(path, "mode=ro&readonly_shm=1");
        let connection = Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        prepare(&connection)?;
        return Ok(connection);
    }
    let connection = Connection::open_with_flags(uri(path, "mode=rw"), flags | OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    prepare(&connection)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    Ok(connection)
}

/// SQLite's address of a file, opened in this manner.
fn uri(path: &Path, manner: &str) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => uri.push(char::from(*byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri + "?" + manner
}

/// A connection that writes. `synchronous` is `FULL` for what must last, `NORMAL` for what may be lost. With `ours`
/// the file is judged once more, its log included, before anything is written.
pub(super) fn read_write(path: &Path, synchronous: &str, ours: Option<Ours>) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sorted = |error| OpenError::from_sqlite(path, error);
    private::file(path).map_err(|error| OpenError::from_io(path, error))?;
    let connection = Connection::open_with_flags(path, flags).map_err(sorted)?;
    prepare(&connection).map_err(sorted)?;
    // SQLite opens a file without write permission read-only and says so only at the first write.
    if connection.is_readonly(rusqlite::MAIN_DB).map_err(sorted)? {
        return Err(OpenError::not_writable(path, io::Error::from(io::ErrorKind::PermissionDenied)));
    }
    if let Some(ours) = ours {
        ours.look(path, &connection).map_err(sorted)??;
    }
    switch_to_wal(&connection, path)?;
    connection.pragma_update(None, "synchronous", synchronous).map_err(sorted)?;
    connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(sorted)?;
    // What a savepoint can take back is kept in memory: on disk it would cost as much as the log.
    connection.pragma_update(None, "temp_store", "MEMORY").map_err(sorted)?;
    Ok(connection)
}

/// A connection that only reads.
pub(super) fn read_only(path: &Path) -> Result<Connection, OpenError> {
    read_only_plain(path).map_err(|error| OpenError::from_sqlite(path, error))
}

/// The same with SQLite's own error.
pub(super) fn read_only_plain(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    prepare(&connection)?;
    Ok(connection)
}

/// Puts a closed file's log into it, where it can be read; a damaged file keeps its log.
pub(super) fn fold_log(path: &Path) {
    let folded = read_write(path, "FULL", None).map_err(drop).and_then(|connection| {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(drop)?;
        connection.close().map_err(drop)
    });
    if folded.is_err() {
        tracing::warn!(path = %path.display(), "the log of the old file could not be folded in; it is kept beside it");
    }
}

/// A new, plain file for a copy; no journal, since a broken copy is thrown away.
pub(super) fn copy_target(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    // A log in memory: beside a file that is thrown away when broken it would only be left over.
    connection.pragma_update(None, "journal_mode", "MEMORY")?;
    Ok(connection)
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    // Closing must not write into a file that turned out damaged or newer; the writer checkpoints itself.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Without this SQLite prepares a statement anew whenever certain bound values change.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(())
}

/// The switch to WAL fails at once, whatever the busy timeout, while another process switches or recovers.
fn switch_to_wal(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let mut waited = Duration::ZERO;
    loop {
        let switched: rusqlite::Result<String> =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
        match switched {
            Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
            Ok(_) if waited < BUSY => {}
            Err(error) if schema::is_busy(&error) && waited < BUSY => {}
            Ok(_) => return Err(OpenError::Busy { path: path.to_owned() }),
            Err(error) => return Err(OpenError::from_sqlite(path, error)),
        }
        pause_for(PAUSE);
        waited += PAUSE;
    }
}

/// Waits on a thread where nothing could wake us: another process has the lock.
pub(super) fn pause_for(pause: Duration) {
    std::thread::sleep(pause);
}

impl OpenErrorKind {
    /// Whether the runtime should serve on without the store rather than stop.
    #[must_use]
    pub fn serves_degraded(self) -> bool {
        self == Self::Damaged
    }
}

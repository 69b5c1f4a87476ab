//! The one place that opens a database.

#![expect(clippy::disallowed_methods, reason = "this is the one function that opens databases")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use roster_model::time::Clock;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::error::{OpenError, OpenErrorKind};
use super::holder::Holder;
use super::schema;
use super::store::SqliteStore;

/// How long a statement waits for another process.
const BUSY: Duration = Duration::from_secs(10);
/// Statements kept prepared per connection; more than there are.
const STATEMENTS: usize = 96;

/// How to open a store.
#[derive(Clone)]
pub struct Options {
    /// Dates threads and their changes.
    pub clock: Arc<dyn Clock>,
    /// For tests of the store itself; leave at its default.
    pub trial: Trial,
}

impl Options {
    /// The ordinary way.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, trial: Trial::default() }
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
}

/// Opens the store at `path`, making folders, file and tables that are missing, and starts its threads.
///
/// Blocks for some milliseconds; call it while starting. A file that is refused is not written to.
///
/// # Errors
/// [`OpenError`]; its kind says whether to serve without the store ([`OpenErrorKind::Damaged`]) or to stop.
pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<SqliteStore, OpenError> {
    let path = resolve(path.as_ref())?;
    let plan = schema::plan(options.trial.extra_migration);
    look_first(&path, u32::try_from(plan.len()).unwrap_or(u32::MAX), schema::APPLICATION_ID)?;
    let holder = Holder::new(&path).map_err(|error| OpenError::from_io(&path, error))?;
    let mut writer = read_write(&path, "FULL")?;
    schema::migrate(&mut writer, &path, &plan, options.clock.now().millis())?;
    if let Some(pages) = options.trial.max_pages {
        writer.pragma_update(None, "max_page_count", pages).map_err(|error| OpenError::from_sqlite(&path, error))?;
    }
    SqliteStore::start(path, holder, writer, options)
}

/// The path with its folder made and resolved.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, OpenError> {
    let failed = |error| OpenError::from_io(path, error);
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(OpenError::NoFile { path: path.to_owned() });
    }
    let name = path.file_name().ok_or_else(|| OpenError::NoFile { path: path.to_owned() })?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let resolved = std::fs::canonicalize(folder).map_err(failed)?.join(name);
    // A link to the file is followed, so that all names of one file share its lock files.
    Ok(std::fs::canonicalize(&resolved).unwrap_or(resolved))
}

/// Looks at a file without any trace: no lock, no companion file, not a byte changed.
pub(super) fn look_first(path: &Path, newest: u32, application: i32) -> Result<(), OpenError> {
    if !path.exists() {
        return Ok(());
    }
    match immutable(path).and_then(|connection| schema::marks(&connection)) {
        Ok(marks) => schema::judge(path, marks, newest, application).map(drop),
        // Without its log the file can look broken, and is whole with it: opening it in earnest decides.
        Err(_) => Ok(()),
    }
}

/// A connection that takes the file as unchangeable: no locks, no companion files, its log not seen.
pub(super) fn immutable(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(immutable_uri(path), flags)
}

/// SQLite's address for reading a file as if nobody could change it.
fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => uri.push(char::from(*byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri + "?immutable=1"
}

/// A connection that writes. `synchronous` is `FULL` for what must last, `NORMAL` for what may be lost.
pub(super) fn read_write(path: &Path, synchronous: &str) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sorted = |error| OpenError::from_sqlite(path, error);
    let connection = Connection::open_with_flags(path, flags).map_err(sorted)?;
    prepare(&connection).map_err(sorted)?;
    // SQLite opens a file without write permission read-only and says so only at the first write.
    if connection.is_readonly(rusqlite::MAIN_DB).map_err(sorted)? {
        return Err(OpenError::not_writable(path, std::io::Error::from(std::io::ErrorKind::PermissionDenied)));
    }
    switch_to_wal(&connection, path)?;
    connection.pragma_update(None, "synchronous", synchronous).map_err(sorted)?;
    connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(sorted)?;
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
    let folded = read_write(path, "FULL").map_err(drop).and_then(|connection| {
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
        let pause = Duration::from_millis(5);
        pause_for(pause);
        waited += pause;
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

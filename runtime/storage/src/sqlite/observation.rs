//! Observations in a second SQLite file. Derived data: commits are not waited for by the disk, a full queue drops,
//! and when the file is deleted while in use the next batch goes to a new one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use roster_model::BoxFuture;
use roster_model::observation::{ObservationStore, Span};
use roster_model::storage::{StoreError, StoreErrorKind};
use roster_model::time::{Clock, Timestamp};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Row, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::error::{Failure, Health, OpenError, Outcome};
use super::schema::Ours;
use super::{open, row, schema};

/// Marks these files among SQLite's: "Robs".
const APPLICATION_ID: i32 = 0x526f_6273;
const VERSION: u32 = 1;
pub(super) const OURS: Ours = Ours { newest: VERSION, application: APPLICATION_ID };
/// Batches waiting; more are refused, and the recorder counts them as lost.
const QUEUE: usize = 64;
/// Most spans of a trace that are given.
const TRACE_LIMIT: u32 = 10_000;
/// Pages of log after which it is folded in.
const CHECKPOINT_PAGES: u32 = 1000;

const V1: &str = "
CREATE TABLE spans (
  number      INTEGER PRIMARY KEY,
  trace_id    TEXT NOT NULL,
  span_id     TEXT NOT NULL,
  parent_id   TEXT,
  name        TEXT NOT NULL,
  started_at  INTEGER NOT NULL,
  duration_us INTEGER NOT NULL,
  error       TEXT,
  attributes  TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX spans_by_trace ON spans (trace_id, span_id);
CREATE INDEX spans_by_time ON spans (started_at);
";

/// Batches between two looks at what is too old or too much.
const PRUNE_EVERY: u32 = 32;
/// Rows removed in one look; the rest waits for the next.
const PRUNE_ROWS: u32 = 20_000;

/// How long and how much is kept.
#[derive(Clone)]
pub struct ObservationOptions {
    /// Older spans are removed.
    pub retention: Duration,
    /// When the file is larger, the oldest spans are removed, in bytes.
    pub max_size: u64,
    /// The time, for `retention`.
    pub clock: Arc<dyn Clock>,
}

type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

enum Work {
    Record(Vec<Span>, Reply<()>),
    Trace(String, Reply<Vec<Span>>),
}

/// Observations in one SQLite file. Dropping it writes what is queued and closes.
pub struct SqliteObservations {
    // Dropped in this order: the door, then the thread.
    queue: mpsc::Sender<Work>,
    _thread: Thread,
}

struct Thread(Option<JoinHandle<()>>);

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            let _panicked = thread.join();
        }
    }
}

/// Opens the observability file at `path`, making what is missing, and starts its thread.
///
/// # Errors
/// [`OpenError`]; a refused file is not written to. Conversations do not depend on it.
pub fn open_observations(path: impl AsRef<Path>, options: ObservationOptions) -> Result<SqliteObservations, OpenError> {
    let path = open::resolve(path.as_ref())?;
    let connection = connect(&path)?;
    let (queue, receiver) = mpsc::channel(QUEUE);
    let mut desk =
        Desk { identity: identity(&path), connection: Some(connection), path: path.clone(), options, until_prune: 0 };
    let thread = std::thread::Builder::new().name("observations".to_owned()).spawn(move || desk.run(receiver));
    let thread = thread.map_err(|error| OpenError::Other { path, source: error.into() })?;
    Ok(SqliteObservations { queue, _thread: Thread(Some(thread)) })
}

fn connect(path: &Path) -> Result<Connection, OpenError> {
    let sorted = |error| OpenError::from_sqlite(path, error);
    open::look_first(path, OURS)?;
    let mut connection = open::read_write(path, "NORMAL", Some(OURS))?;
    let marks = schema::marks(&connection).map_err(sorted)?;
    if !OURS.judge(path, marks)? {
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sorted)?;
        if schema::marks(&change).map_err(sorted)?.0 == 0 {
            change.execute_batch(V1).map_err(sorted)?;
            change.pragma_update(None, "application_id", APPLICATION_ID).map_err(sorted)?;
            change.pragma_update(None, "user_version", VERSION).map_err(sorted)?;
        }
        change.commit().map_err(sorted)?;
    }
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES).map_err(sorted)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(sorted)?;
    Ok(connection)
}

/// What tells one file from another of the same name.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|_| (0, 0))
}

/// The thread's side.
struct Desk {
    path: PathBuf,
    connection: Option<Connection>,
    identity: Option<(u64, u64)>,
    options: ObservationOptions,
    /// Batches until the next look; the first is at the first batch.
    until_prune: u32,
}

impl Desk {
    fn run(&mut self, mut queue: mpsc::Receiver<Work>) {
        while let Some(work) = queue.blocking_recv() {
            match work {
                Work::Record(spans, reply) => {
                    drop(reply.send(self.with(|connection| record(connection, &spans))));
                    self.prune();
                }
                Work::Trace(trace, reply) => drop(reply.send(self.with(|connection| read(connection, &trace)))),
            }
        }
    }

    /// Removes what is too old or too much. A failure shows with the next batch.
    fn prune(&mut self) {
        if self.until_prune > 0 {
            self.until_prune -= 1;
            return;
        }
        self.until_prune = PRUNE_EVERY;
        let kept = i64::try_from(self.options.retention.as_millis()).unwrap_or(i64::MAX);
        let oldest = self.options.clock.now().millis().saturating_sub(kept);
        let most = self.options.max_size;
        let pruned = self.with(|connection| prune(connection, oldest, most));
        if let Err(error) = pruned {
            tracing::warn!(%error, "old observations were not removed");
        }
    }

    fn with<T>(&mut self, work: impl FnOnce(&mut Connection) -> Outcome<T>) -> Result<T, StoreError> {
        let connection = self.connection()?;
        work(connection).map_err(|error| Health::default().sort(error))
    }

    /// The connection to the file that is there now.
    fn connection(&mut self) -> Result<&mut Connection, StoreError> {
        let now = identity(&self.path);
        if now.is_none() || now != self.identity {
            self.connection = None;
        }
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => open::resolve(&self.path).and_then(|path| connect(&path)).map_err(|error| StoreError {
                kind: StoreErrorKind::Unavailable,
                message: format!("cannot open the observability database: {error}"),
                source: Some(Box::new(error)),
            })?,
        };
        self.identity = identity(&self.path);
        Ok(self.connection.insert(connection))
    }
}

fn record(connection: &mut Connection, spans: &[Span]) -> Outcome<()> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut insert = change.prepare_cached(
            "INSERT OR REPLACE INTO spans (trace_id, span_id, parent_id, name, started_at, duration_us, error, \
             attributes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        for span in spans {
            insert.execute((
                &span.trace_id,
                &span.span_id,
                &span.parent_id,
                &span.name,
                span.started_at.millis(),
                i64::try_from(span.duration_us).unwrap_or(i64::MAX),
                &span.error,
                row::object_text(&span.attributes)?,
            ))?;
        }
    }
    Ok(change.commit()?)
}

fn prune(connection: &mut Connection, oldest: i64, most: u64) -> Outcome<()> {
    let old = "DELETE FROM spans WHERE number IN (SELECT number FROM spans WHERE started_at < ?1 LIMIT ?2)";
    connection.prepare_cached(old)?.execute((oldest, PRUNE_ROWS))?;
    let used = "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, \
                pragma_page_size";
    let used: i64 = connection.prepare_cached(used)?.query_row([], |row| row.get(0))?;
    if used.unsigned_abs() > most {
        let first = "DELETE FROM spans WHERE number IN (SELECT number FROM spans ORDER BY number LIMIT ?1)";
        connection.prepare_cached(first)?.execute([PRUNE_ROWS])?;
    }
    Ok(())
}

fn read(connection: &mut Connection, trace: &str) -> Outcome<Vec<Span>> {
    let mut statement = connection.prepare_cached(
        "SELECT trace_id, span_id, parent_id, name, started_at, duration_us, error, attributes FROM spans \
         WHERE trace_id = ?1 ORDER BY started_at DESC, number DESC LIMIT ?2",
    )?;
    let mut rows = statement.query((trace, TRACE_LIMIT))?;
    let mut spans = Vec::new();
    while let Some(row) = rows.next()? {
        spans.push(span(row)?);
    }
    spans.reverse();
    Ok(spans)
}

fn span(row: &Row<'_>) -> Result<Span, Failure> {
    Ok(Span {
        trace_id: row.get(0)?,
        span_id: row.get(1)?,
        parent_id: row.get(2)?,
        name: row.get(3)?,
        started_at: Timestamp::from_millis(row.get(4)?),
        duration_us: row.get::<_, i64>(5)?.cast_unsigned(),
        error: row.get(6)?,
        attributes: row::object(&row.get::<_, String>(7)?)?,
    })
}

fn closed() -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "the observability store was closed")
}

impl ObservationStore for SqliteObservations {
    fn record(&self, spans: Vec<Span>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            // Derived data does not wait for a place in the queue.
            self.queue.try_send(Work::Record(spans, reply)).map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => StoreError::new(StoreErrorKind::Busy, "too many batches wait"),
                mpsc::error::TrySendError::Closed(_) => closed(),
            })?;
            answer.await.map_err(|_| closed())?
        })
    }

    fn trace<'a>(&'a self, trace_id: &'a str) -> BoxFuture<'a, Result<Vec<Span>, StoreError>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            self.queue.send(Work::Trace(trace_id.to_owned(), reply)).await.map_err(|_| closed())?;
            answer.await.map_err(|_| closed())?
        })
    }
}

//! The store itself: its threads, its opening and its end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use roster_model::storage::{StoreError, StoreErrorKind};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio::sync::{mpsc, oneshot, watch};

use super::error::{Health, OpenError, is_full};
use super::holder::Holder;
use super::keeper::{Keeper, Tidying};
use super::open::Options;
use super::reader::{ReaderThreads, Readers};
use super::recall::IndexWatch;
use super::turn::Desk;
use super::writer::{QUEUE, Writer, WriterThread};
use super::{copy, erase};
use crate::line::Lines;

/// Conversations in one SQLite file. Share it as an `Arc`.
///
/// Dropping it writes what is queued, checkpoints and closes, and blocks for that; [`SqliteStore::close`] does the
/// same without blocking.
pub struct SqliteStore {
    // In this order they are dropped: the sign first, the doors next, the threads last.
    closing: Closing,
    pub(super) desk: Arc<Desk>,
    pub(super) health: Arc<Health>,
    pub(super) writer: Writer,
    pub(super) readers: Readers,
    /// Held by the ledger's write under way, so that writes end in the order they came.
    pub(super) ledger: Arc<tokio::sync::Mutex<()>>,
    pub(super) ended: watch::Receiver<bool>,
    pub(super) index: Arc<IndexWatch>,
    _thread: Thread,
}

/// Set once the store is closing; dropping sets it.
struct Closing(Arc<AtomicBool>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The writer thread, waited for when dropped.
struct Thread(Option<JoinHandle<()>>);

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            let _panicked = thread.join();
        }
    }
}

impl SqliteStore {
    /// Starts the threads over a file that is of the newest version.
    pub(super) fn start(
        path: PathBuf,
        holder: Holder,
        mut connection: Connection,
        options: &Options,
    ) -> Result<Self, OpenError> {
        match erase::sweep(&mut connection, &path) {
            Err(error) if is_full(&error) => {
                tracing::warn!(%error, "no space to mark what the last run left; it is done with the next opening");
            }
            swept => swept.map_err(|error| OpenError::from_sqlite(&path, error))?,
        }
        let health = Arc::new(Health::default());
        let closing = Closing(Arc::default());
        let (queue, receiver) = mpsc::channel(QUEUE);
        let writer = Writer::new(queue, Arc::clone(&health));
        let (readers, reader_threads) = Readers::start(&path, Arc::clone(&health))?;
        let tidying = Tidying { writer: writer.clone(), closing: Arc::clone(&closing.0) };
        let keeper = Keeper::start(path.clone(), Arc::clone(&health), tidying)?;
        let desk = Arc::new(Desk {
            path: path.clone(),
            holder: holder.name().to_owned(),
            clock: Arc::clone(&options.clock),
            lines: Arc::<Lines>::default(),
            ids: Arc::clone(&options.ids),
        });
        let index = Arc::new(IndexWatch::start(&path)?);
        let thread_index = Arc::clone(&index);
        let (end, ended) = watch::channel(false);
        let work = WriterThread::new(connection, receiver, Arc::clone(&health), keeper, options.trial.slice);
        let thread_health = Arc::clone(&health);
        let thread = std::thread::Builder::new().name("store-writer".to_owned()).spawn(move || {
            let (connection, keeper) = work.run();
            thread_index.close();
            finish(connection, keeper, reader_threads, &thread_health);
            drop(holder);
            let _unheard = end.send(true);
        });
        let thread = thread.map_err(|error| OpenError::Other { path, source: error.into() })?;
        let ledger = Arc::default();
        let _thread = Thread(Some(thread));
        Ok(Self { closing, desk, health, writer, readers, ledger, ended, index, _thread })
    }

    /// The resolved path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.desk.path
    }

    /// Writes what is queued, checkpoints and closes the file. Calls that come later get `Unavailable`.
    pub async fn close(&self) {
        self.closing.0.store(true, Ordering::SeqCst);
        self.writer.close().await;
        let mut ended = self.ended.clone();
        let _ended = ended.wait_for(|ended| *ended).await;
    }

    /// Copies the whole store, as it is at one moment, to a new file while it serves.
    ///
    /// # Errors
    /// `Conflict` when `to` exists (it is not touched), `Full` without space, `Unavailable` when the copy cannot be
    /// written or the store is damaged.
    pub async fn backup(&self, to: &Path) -> Result<(), StoreError> {
        self.health.check()?;
        let (from, to) = (self.desk.path.clone(), to.to_owned());
        let health = Arc::clone(&self.health);
        let (reply, answer) = oneshot::channel();
        // A thread of its own: a copy takes long, and the readers are few.
        let thread = std::thread::Builder::new().name("store-backup".to_owned()).spawn(move || {
            let _unheard = reply.send(copy::backup(&from, &to, &health));
        });
        let failed = |error: String| StoreError::new(StoreErrorKind::Internal, format!("backup stopped: {error}"));
        thread.map_err(|error| failed(error.to_string()))?;
        answer.await.map_err(|error| failed(error.to_string()))?
    }
}

/// The writer's connection is closed last, so that the last checkpoint is its own.
fn finish(connection: Connection, keeper: Keeper, readers: ReaderThreads, health: &Health) {
    keeper.stop();
    readers.end();
    if health.check().is_ok()
        && let Err(error) = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
    {
        tracing::warn!(%error, "the log of the sessions database stays beside it");
    }
    if let Err((_, error)) = connection.close() {
        tracing::error!(%error, "the sessions database did not close");
    }
}

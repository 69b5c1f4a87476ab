//! The keeper thread: checkpoints on a connection of its own, so that no commit waits for one, and the search for
//! what earlier runs left behind.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::erase;
use super::error::{Health, OpenError};
use super::open;
use super::writer::Writer;

/// Jobs between two checkpoints.
const EVERY: usize = 500;
/// Frames in the log from which a checkpoint insists on starting the log anew (64 MiB).
const LONG: i64 = 16_384;
/// How long an insisting checkpoint may wait for readers; commits wait with it.
const INSIST: Duration = Duration::from_millis(50);

enum Keep {
    Checkpoint,
    Stop,
}

/// What the search for leftovers needs: the writer's door, and a sign that the store is closing.
pub(super) struct Tidying {
    pub(super) writer: Writer,
    pub(super) closing: Arc<AtomicBool>,
}

/// The keeper's door, held by the writer.
pub(super) struct Keeper {
    queue: SyncSender<Keep>,
    thread: JoinHandle<()>,
    since: usize,
}

impl Keeper {
    /// Starts the thread; it looks for leftovers first.
    pub(super) fn start(path: PathBuf, health: Arc<Health>, tidying: Tidying) -> Result<Self, OpenError> {
        let connection = open::read_write(&path, "FULL", None)?;
        connection.busy_timeout(INSIST).map_err(|error| OpenError::from_sqlite(&path, error))?;
        let (queue, receiver) = sync_channel(4);
        let thread = std::thread::Builder::new().name("store-keeper".to_owned()).spawn(move || {
            run(&connection, &receiver, &health, tidying);
        });
        let thread = thread.map_err(|error| OpenError::Other { path, source: error.into() })?;
        Ok(Self { queue, thread, since: 0 })
    }

    /// Counts what was written; now and then asks for a checkpoint. Never waits.
    pub(super) fn wrote(&mut self, jobs: usize) {
        self.since += jobs;
        if self.since >= EVERY && self.queue.try_send(Keep::Checkpoint).is_ok() {
            self.since = 0;
        }
    }

    /// Ends the thread.
    pub(super) fn stop(self) {
        let _ended = self.queue.send(Keep::Stop);
        let _panicked = self.thread.join();
    }
}

fn run(connection: &Connection, queue: &Receiver<Keep>, health: &Health, tidying: Tidying) {
    // Taken apart here: once done, the writer's door is dropped and does not keep the writer waiting.
    let Tidying { writer, closing } = tidying;
    if let Err(error) = erase::tidy(connection, &writer, || closing.load(Ordering::SeqCst)) {
        tracing::warn!(error = %health.sort(error), "looking for leftovers failed");
    }
    drop(writer);
    while let Ok(Keep::Checkpoint) = queue.recv() {
        if health.check().is_ok()
            && let Err(error) = checkpoint(connection)
        {
            tracing::warn!(error = %health.sort(error.into()), "checkpoint failed; it is tried again later");
        }
    }
}

fn checkpoint(connection: &Connection) -> rusqlite::Result<()> {
    let frames = |mode: &str| -> rusqlite::Result<i64> {
        connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| row.get(1))
    };
    // Under steady load the log never comes to an end by itself: then its rest is copied while commits wait a moment.
    if frames("PASSIVE")? > LONG {
        frames("RESTART")?;
    }
    Ok(())
}

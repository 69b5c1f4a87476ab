//! The reading threads: a few connections that can only read, so that no async worker ever waits for a disk. Turns
//! have one of their own, so that no heavy read of a page holds them up.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use roster_model::storage::{StoreError, StoreErrorKind};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::error::{Health, OpenError, Outcome};
use super::guard::caught;
use super::open;
use crate::line::lock;

/// Threads for reads of any size.
const THREADS: usize = 2;
/// Threads for what every turn reads.
const TURN_THREADS: usize = 1;
/// Reads waiting at a door; whoever comes later waits to be let in.
const QUEUE: usize = 1024;

/// A read; `None` ends the thread that takes it.
type Read = Option<Box<dyn FnOnce(&Connection) + Send>>;

/// The readers' doors.
#[derive(Clone)]
pub(super) struct Readers {
    any: mpsc::Sender<Read>,
    turns: mpsc::Sender<Read>,
    health: Arc<Health>,
}

/// The threads, each with the door it serves.
pub(super) struct ReaderThreads(Vec<(mpsc::Sender<Read>, JoinHandle<()>)>);

impl Readers {
    /// Opens the connections and starts the threads.
    pub(super) fn start(path: &Path, health: Arc<Health>) -> Result<(Self, ReaderThreads), OpenError> {
        let mut threads = Vec::with_capacity(THREADS + TURN_THREADS);
        let any = serve(path, "reader", THREADS, &mut threads)?;
        let turns = serve(path, "turns", TURN_THREADS, &mut threads)?;
        Ok((Self { any, turns, health }, ReaderThreads(threads)))
    }

    /// Runs `work` on a reading thread. A panic in it is an `Internal` failure.
    pub(super) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    {
        self.at(&self.any, work).await
    }

    /// The same for the short, bounded reads that every turn makes; heavy ones must not come here.
    pub(super) async fn read_for_turn<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    {
        self.at(&self.turns, work).await
    }

    async fn at<T, F>(&self, door: &mpsc::Sender<Read>, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    {
        let closed = || StoreError::new(StoreErrorKind::Unavailable, "the store was closed");
        self.health.check()?;
        let (reply, answer) = oneshot::channel();
        let health = Arc::clone(&self.health);
        let read: Read = Some(Box::new(move |connection: &Connection| {
            if !reply.is_closed() {
                let result = snapshot(connection, work).map_err(|error| health.sort(error));
                let _unheard = reply.send(result);
            }
        }));
        door.send(read).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

/// Opens a door with this many threads behind it.
fn serve(
    path: &Path,
    name: &str,
    count: usize,
    threads: &mut Vec<(mpsc::Sender<Read>, JoinHandle<()>)>,
) -> Result<mpsc::Sender<Read>, OpenError> {
    let (door, receiver) = mpsc::channel::<Read>(QUEUE);
    let receiver = Arc::new(Mutex::new(receiver));
    for number in 0..count {
        let connection = open::read_only(path)?;
        let receiver = Arc::clone(&receiver);
        let thread = std::thread::Builder::new().name(format!("store-{name}-{number}")).spawn(move || {
            loop {
                // One thread waits for the queue, the others for their turn to wait.
                let next = lock(&receiver).blocking_recv();
                let Some(Some(read)) = next else { return };
                read(&connection);
            }
        });
        let thread = thread.map_err(|error| OpenError::Other { path: path.to_owned(), source: error.into() })?;
        threads.push((door.clone(), thread));
    }
    Ok(door)
}

/// All statements of one read see the same state.
fn snapshot<T>(connection: &Connection, work: impl FnOnce(&Connection) -> Outcome<T>) -> Outcome<T> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let result = caught(|| work(connection));
    connection.prepare_cached("ROLLBACK")?.execute([])?;
    result
}

impl ReaderThreads {
    /// Ends the threads after what is queued, and waits for them.
    pub(super) fn end(self) {
        for (door, _) in &self.0 {
            let _ended = door.blocking_send(None);
        }
        for (_, thread) in self.0 {
            let _panicked = thread.join();
        }
    }
}

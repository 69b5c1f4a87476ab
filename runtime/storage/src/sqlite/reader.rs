//! The reading threads: a few connections that can only read, so that no async worker ever waits for a disk.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use roster_model::storage::{StoreError, StoreErrorKind};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::error::{Health, OpenError, Outcome};
use super::open;
use crate::line::lock;

/// Reading threads.
const THREADS: usize = 2;
/// Reads waiting; whoever comes later waits to be let in.
const QUEUE: usize = 1024;

/// A read; `None` ends the thread that takes it.
type Read = Option<Box<dyn FnOnce(&Connection) + Send>>;

/// The readers' door.
#[derive(Clone)]
pub(super) struct Readers {
    queue: mpsc::Sender<Read>,
    health: Arc<Health>,
}

/// The threads.
pub(super) struct ReaderThreads {
    queue: mpsc::Sender<Read>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    /// Opens the connections and starts the threads.
    pub(super) fn start(path: &Path, health: Arc<Health>) -> Result<(Self, ReaderThreads), OpenError> {
        let (queue, receiver) = mpsc::channel::<Read>(QUEUE);
        let receiver = Arc::new(Mutex::new(receiver));
        let mut threads = Vec::with_capacity(THREADS);
        for number in 0..THREADS {
            let connection = open::read_only(path)?;
            let receiver = Arc::clone(&receiver);
            let thread = std::thread::Builder::new().name(format!("store-reader-{number}")).spawn(move || {
                loop {
                    // One thread waits for the queue, the others for their turn to wait.
                    let next = lock(&receiver).blocking_recv();
                    let Some(Some(read)) = next else { return };
                    read(&connection);
                }
            });
            threads.push(thread.map_err(|error| OpenError::Other { path: path.to_owned(), source: error.into() })?);
        }
        Ok((Self { queue: queue.clone(), health }, ReaderThreads { queue, threads }))
    }

    /// Runs `work` on a reading thread.
    pub(super) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
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
        self.queue.send(read).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

/// All statements of one read see the same state.
fn snapshot<T>(connection: &Connection, work: impl FnOnce(&Connection) -> Outcome<T>) -> Outcome<T> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let result = work(connection);
    connection.prepare_cached("ROLLBACK")?.execute([])?;
    result
}

impl ReaderThreads {
    /// Ends the threads after what is queued, and waits for them.
    pub(super) fn end(self) {
        for _ in &self.threads {
            let _ended = self.queue.blocking_send(None);
        }
        for thread in self.threads {
            let _panicked = thread.join();
        }
    }
}

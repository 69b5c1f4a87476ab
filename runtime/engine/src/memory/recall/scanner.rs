//! The thread that scans: however many turns search at once, scans take one core at most, and no thread of the async
//! runtime computes. Few vectors are scanned where they are asked for: changing the thread would take longer.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use roster_model::storage::{StoreError, StoreErrorKind};
use tokio::sync::{mpsc, oneshot};

use super::shelf::Shelf;

/// Scans that wait; further ones wait for a place.
const QUEUE: usize = 64;
/// Vectors that are scanned in place: a tenth of a millisecond.
const FEW: usize = 4_096;

type Scan = Box<dyn FnOnce() + Send>;

/// The handle of the thread, which is started when it is first needed, and again should it have ended.
#[derive(Default)]
pub(super) struct Scanner {
    queue: Mutex<Option<mpsc::Sender<Scan>>>,
}

impl Scanner {
    /// What `scan` finds on the shelf.
    ///
    /// # Errors
    /// `Internal` when the scan crashed or no thread can be started.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        shelf: &Arc<Shelf>,
        scan: impl FnOnce(&Shelf) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        if shelf.len() <= FEW {
            return Ok(scan(shelf));
        }
        let (reply, answer) = oneshot::channel();
        let shelf = Arc::clone(shelf);
        let work: Scan = Box::new(move || {
            // Nobody may wait any more: the thread was busy for others meanwhile.
            if !reply.is_closed() {
                let _unheard = reply.send(scan(&shelf));
            }
        });
        self.queue()?.send(work).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())
    }

    fn queue(&self) -> Result<mpsc::Sender<Scan>, StoreError> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queue.as_ref().filter(|queue| !queue.is_closed()) {
            return Ok(queue.clone());
        }
        let (sender, receiver) = mpsc::channel(QUEUE);
        let started = thread::Builder::new().name("recall-scan".to_owned()).spawn(move || serve(receiver));
        started.map_err(|error| {
            StoreError::new(StoreErrorKind::Internal, format!("no thread can be started to search vectors: {error}"))
        })?;
        Ok(queue.insert(sender).clone())
    }
}

/// One scan after another, until the recall is dropped.
fn serve(mut scans: mpsc::Receiver<Scan>) {
    while let Some(scan) = scans.blocking_recv() {
        scan();
    }
}

fn stopped() -> StoreError {
    StoreError::new(StoreErrorKind::Internal, "the search among vectors stopped")
}

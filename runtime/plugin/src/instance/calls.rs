//! The calls in flight in one instance: a completion is taken once, chunks within a window, cancelling is seen.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use roster_abi::code::{E_BUSY, E_CANCELLED, E_NO_SUCH_CALL, E_TOO_LARGE, ENC_JSON, OK};
use roster_abi::frame::WINDOW;
use tokio::time::Instant;

/// Chunks of one call that nobody took yet.
const MOST_CHUNKS: usize = 64;

/// A call, owned: it may wait for a thread.
pub(crate) struct Work {
    /// Never reused.
    pub(crate) id: u64,
    /// The contribution's id.
    pub(crate) component: String,
    pub(crate) method: String,
    pub(crate) encoding: u32,
    pub(crate) input: Vec<u8>,
    /// JSON.
    pub(crate) context: Vec<u8>,
    pub(crate) deadline: Option<Instant>,
    /// Whether who asks wants pieces.
    pub(crate) chunks: bool,
}

/// Who gets what a call brings. Never blocks.
pub(crate) trait Answer: Send + Sync {
    /// How far it is; only the newest matters.
    fn progress(&self, bytes: &[u8]);
    /// A piece, in order.
    fn chunk(&self, encoding: u32, bytes: &[u8]);
    /// The end, once.
    fn complete(&self, status: i32, encoding: u32, bytes: &[u8]);
}

/// A call in flight.
pub(crate) struct Live {
    answer: Arc<dyn Answer>,
    chunks: bool,
    /// Whether its thread may wait.
    waits: bool,
    cancelled: AtomicI32,
    window: Mutex<Window>,
    room: Condvar,
}

#[derive(Default)]
struct Window {
    chunks: usize,
    bytes: usize,
    /// A chunk was refused; `writable` is owed.
    starved: bool,
}

impl Window {
    fn has_room(&self) -> bool {
        self.chunks == 0 || self.chunks < MOST_CHUNKS && self.bytes < WINDOW
    }
}

impl Live {
    pub(crate) fn new(answer: Arc<dyn Answer>, work: &Work, waits: bool) -> Self {
        Self {
            answer,
            chunks: work.chunks,
            waits,
            cancelled: AtomicI32::new(0),
            window: Mutex::default(),
            room: Condvar::new(),
        }
    }

    /// 0, or the reason.
    pub(crate) fn cancelled(&self) -> i32 {
        self.cancelled.load(Ordering::Acquire)
    }

    pub(crate) fn progress(&self, bytes: &[u8]) -> i32 {
        if self.cancelled() != 0 {
            return E_CANCELLED;
        }
        self.answer.progress(bytes);
        OK
    }

    pub(crate) fn chunk(&self, encoding: u32, bytes: &[u8]) -> i32 {
        let mut window = lock(&self.window);
        while self.cancelled() == 0 && !window.has_room() {
            if !self.waits {
                window.starved = true;
                return E_BUSY;
            }
            window = self.room.wait(window).unwrap_or_else(PoisonError::into_inner);
        }
        if self.cancelled() != 0 {
            return E_CANCELLED;
        }
        if !self.chunks {
            return OK;
        }
        window.chunks += 1;
        window.bytes += bytes.len();
        drop(window);
        self.answer.chunk(encoding, bytes);
        OK
    }
}

/// All calls in flight.
#[derive(Default)]
pub(crate) struct Calls {
    live: Mutex<HashMap<u64, Arc<Live>>>,
}

impl Calls {
    pub(crate) fn add(&self, id: u64, live: Arc<Live>) {
        lock(&self.live).insert(id, live);
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<Live>> {
        lock(&self.live).get(&id).cloned()
    }

    /// Takes a completion; `limit` bounds its bytes.
    pub(crate) fn complete(&self, id: u64, status: i32, encoding: u32, bytes: &[u8], limit: usize) -> i32 {
        let Some(live) = lock(&self.live).remove(&id) else { return E_NO_SUCH_CALL };
        if bytes.len() > limit {
            let text = format!("the output has {} bytes, and the limit is {limit}", bytes.len());
            live.answer.complete(E_TOO_LARGE, ENC_JSON, &super::error_json("plugin_bad_output", &text));
            return E_TOO_LARGE;
        }
        live.answer.complete(status, encoding, bytes);
        OK
    }

    /// Ends a call from our side, if it has not ended.
    pub(crate) fn finish(&self, id: u64, status: i32, error: &[u8]) {
        let live = lock(&self.live).remove(&id);
        if let Some(live) = live {
            live.answer.complete(status, ENC_JSON, error);
        }
    }

    /// Marks a call; false when it is not there or was marked before.
    pub(crate) fn cancel(&self, id: u64, reason: u32) -> bool {
        let Some(live) = self.get(id) else { return false };
        let reason = i32::try_from(reason).unwrap_or(1).max(1);
        let first = live.cancelled.compare_exchange(0, reason, Ordering::AcqRel, Ordering::Acquire).is_ok();
        // Taken, so that a thread between its look and its wait is not missed.
        drop(lock(&live.window));
        live.room.notify_all();
        first
    }

    /// A chunk was taken; true when the plugin is to be told that there is room.
    pub(crate) fn credit(&self, id: u64, bytes: usize) -> bool {
        let Some(live) = self.get(id) else { return false };
        let mut window = lock(&live.window);
        window.chunks = window.chunks.saturating_sub(1);
        window.bytes = window.bytes.saturating_sub(bytes);
        let tell = window.starved && window.has_room();
        if tell {
            window.starved = false;
        }
        drop(window);
        live.room.notify_all();
        tell
    }

    pub(crate) fn ids(&self) -> Vec<u64> {
        lock(&self.live).keys().copied().collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

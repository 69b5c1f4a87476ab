//! What an instance and everything that belongs to it share: answers that are awaited, chunks that wait for room.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use crate::table::Table;

/// An answer of a service: status, encoding and bytes.
pub(crate) type Reply = (i32, Vec<u8>);

pub(crate) struct Shared {
    pub(crate) table: Table,
    serving: AtomicBool,
    next: AtomicU64,
    awaited: Mutex<HashMap<u64, Awaited>>,
    arrived: Condvar,
    /// Calls whose next chunk waits for room.
    writers: Mutex<HashMap<u64, Waker>>,
}

#[derive(Default)]
struct Awaited {
    reply: Option<Reply>,
    waker: Option<Waker>,
}

/// A panic while one of these locks was held leaves nothing half-done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(table: Table) -> Self {
        Self {
            table,
            serving: AtomicBool::new(false),
            next: AtomicU64::new(1),
            awaited: Mutex::default(),
            arrived: Condvar::new(),
            writers: Mutex::default(),
        }
    }

    pub(crate) fn is_serving(&self) -> bool {
        self.serving.load(Ordering::Acquire)
    }

    pub(crate) fn serve(&self) {
        self.serving.store(true, Ordering::Release);
    }

    /// A new request's id, whose answer is awaited from now on.
    pub(crate) fn expect(&self) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.awaited).insert(id, Awaited::default());
        id
    }

    pub(crate) fn forget(&self, id: u64) {
        lock(&self.awaited).remove(&id);
    }

    /// An answer came. Nobody waits for one that was given up.
    pub(crate) fn arrive(&self, id: u64, reply: Reply) {
        let mut awaited = lock(&self.awaited);
        let Some(entry) = awaited.get_mut(&id) else { return };
        entry.reply = Some(reply);
        let waker = entry.waker.take();
        drop(awaited);
        self.arrived.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes the answer, or leaves a waker for it.
    pub(crate) fn poll(&self, id: u64, waker: &Waker) -> Option<Reply> {
        let mut awaited = lock(&self.awaited);
        let entry = awaited.get_mut(&id)?;
        let reply = entry.reply.take();
        if reply.is_none() {
            entry.waker = Some(waker.clone());
        }
        reply
    }

    /// Waits for the answer; `None` when `call` was cancelled first.
    pub(crate) fn wait(&self, id: u64, call: u64) -> Option<Reply> {
        let mut awaited = lock(&self.awaited);
        loop {
            if let Some(reply) = awaited.get_mut(&id).and_then(|entry| entry.reply.take()) {
                return Some(reply);
            }
            // Without the lock: the host may be answering on another thread at this moment.
            drop(awaited);
            if call != 0 && self.table.cancelled(call) > 0 {
                return None;
            }
            awaited = lock(&self.awaited);
            if awaited.get(&id).is_none_or(|entry| entry.reply.is_none()) {
                // The host need not call `cancel`, hence the look from time to time.
                let slice = Duration::from_millis(50);
                awaited = self.arrived.wait_timeout(awaited, slice).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Somebody's circumstances changed: cancelled, or room for chunks.
    pub(crate) fn stir(&self, call: u64) {
        self.arrived.notify_all();
        if let Some(waker) = lock(&self.writers).remove(&call) {
            waker.wake();
        }
    }

    pub(crate) fn wait_for_room(&self, call: u64, waker: &Waker) {
        lock(&self.writers).insert(call, waker.clone());
    }

    pub(crate) fn done(&self, call: u64) {
        lock(&self.writers).remove(&call);
    }
}

//! The turns under way: how many there are, when there is none, and how those of a thread are cancelled.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roster_model::id::{ResourceId, ThreadKey};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// All turns that were begun by a request and are not over, sub-agents' left out (they end with their caller's).
#[derive(Default)]
pub(super) struct Running {
    turns: Mutex<Turns>,
    /// Told when the last turn ends.
    empty: Notify,
}

#[derive(Default)]
struct Turns {
    next: u64,
    open: HashMap<u64, (ThreadKey, CancellationToken)>,
}

/// A place among the turns at once; given back when dropped.
pub(super) struct Place {
    number: u64,
    running: Arc<Running>,
}

impl Running {
    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place, if fewer than `most` are taken.
    pub(super) fn enter(self: &Arc<Self>, most: usize, key: &ThreadKey, cancel: &CancellationToken) -> Option<Place> {
        let mut turns = self.turns();
        if turns.open.len() >= most {
            return None;
        }
        let number = turns.next;
        turns.next += 1;
        turns.open.insert(number, (key.clone(), cancel.clone()));
        Some(Place { number, running: Arc::clone(self) })
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.turns().open.len()
    }

    /// Cancels those of a thread, the waiting ones too.
    pub(super) fn cancel(&self, key: &ThreadKey) {
        self.turns().open.values().filter(|(of, _)| of == key).for_each(|(_, cancel)| cancel.cancel());
    }

    /// Cancels those of an owner.
    pub(super) fn cancel_owner(&self, resource: &ResourceId) {
        self.turns().open.values().filter(|(of, _)| of.resource == *resource).for_each(|(_, cancel)| cancel.cancel());
    }

    /// Waits until there is none.
    pub(super) async fn none(&self) {
        loop {
            let mut empty = std::pin::pin!(self.empty.notified());
            // Listens before it looks: a turn that ends in between is not missed.
            empty.as_mut().enable();
            if self.count() == 0 {
                return;
            }
            empty.await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut turns = self.running.turns();
        turns.open.remove(&self.number);
        if turns.open.is_empty() {
            self.running.empty.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use roster_model::id::ThreadId;

    use super::*;

    fn key(thread: &str) -> ThreadKey {
        ThreadKey { resource: ResourceId::new("r").expect("legal"), thread: ThreadId::new(thread).expect("legal") }
    }

    #[tokio::test]
    async fn places_are_counted_cancelled_by_thread_and_waited_for() {
        let running = Arc::new(Running::default());
        let (one, two) = (CancellationToken::new(), CancellationToken::new());
        let first = running.enter(2, &key("a"), &one).expect("a place");
        let second = running.enter(2, &key("b"), &two).expect("a place");
        assert!(running.enter(2, &key("c"), &one).is_none());
        running.cancel(&key("a"));
        assert!(one.is_cancelled() && !two.is_cancelled());
        running.cancel_owner(&ResourceId::new("other").expect("legal"));
        assert!(!two.is_cancelled());
        running.cancel_owner(&ResourceId::new("r").expect("legal"));
        assert!(two.is_cancelled());
        let mut over = Box::pin(running.none());
        assert!((&mut over).now_or_never().is_none());
        drop(first);
        assert!((&mut over).now_or_never().is_none());
        drop(second);
        over.await;
        assert_eq!(running.count(), 0);
    }
}

//! One turn at a time in a thread, first come first served, within this process. (Across processes the store's lease
//! does the same.) Other threads are not slowed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use roster_model::id::ThreadKey;
use tokio::sync::OwnedMutexGuard;

type Locks = Arc<Mutex<HashMap<ThreadKey, Arc<tokio::sync::Mutex<()>>>>>;

/// The locks of all threads that have a turn now.
#[derive(Default)]
pub(super) struct ThreadLocks {
    locks: Locks,
}

/// A thread held. Dropping it lets the next turn in.
pub(super) struct Held {
    key: ThreadKey,
    guard: Option<OwnedMutexGuard<()>>,
    locks: Locks,
}

impl ThreadLocks {
    /// Waits for the thread. Dropping the future gives up the place.
    pub(super) async fn acquire(&self, key: &ThreadKey) -> Held {
        let lock = {
            let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(locks.entry(key.clone()).or_default())
        };
        // Made before waiting, so that giving up the place tidies the map as well.
        let mut held = Held { key: key.clone(), guard: None, locks: Arc::clone(&self.locks) };
        held.guard = Some(lock.lock_owned().await);
        held
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        self.guard = None;
        // The map's own reference is the last: nobody holds or awaits this thread.
        if locks.get(&self.key).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use roster_model::id::{ResourceId, ThreadId};

    fn key(thread: &str) -> ThreadKey {
        ThreadKey { resource: ResourceId::new("r").expect("legal"), thread: ThreadId::new(thread).expect("legal") }
    }

    #[tokio::test]
    async fn a_thread_is_held_by_one_and_the_map_is_emptied() {
        let locks = ThreadLocks::default();
        let (a, b) = (key("a"), key("b"));
        let first = locks.acquire(&a).await;
        let mut second = Box::pin(locks.acquire(&a));
        assert!((&mut second).now_or_never().is_none());
        assert!(locks.acquire(&b).now_or_never().is_some());
        drop(first);
        let second = second.await;
        assert_eq!(locks.locks.lock().expect("lock").len(), 1);
        let waiting = Box::pin(locks.acquire(&a));
        drop(waiting);
        drop(second);
        assert!(locks.locks.lock().expect("lock").is_empty());
    }
}

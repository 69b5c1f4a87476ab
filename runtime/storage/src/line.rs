//! Waiting for a thread inside this process: one line per thread, first come first served, and the set of turns
//! that are alive here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roster_model::id::{ThreadKey, TurnId};
use tokio::sync::{Notify, OwnedMutexGuard};

/// Locks, also after a panic elsewhere: what these locks guard is whole between any two statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lines of all threads somebody waits for, and the turns alive in this process.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    gates: Mutex<HashMap<ThreadKey, Arc<Gate>>>,
    /// A lease of ours whose turn is not here is dead: its turn gave up or could not store its last write.
    live: Mutex<HashMap<TurnId, ThreadKey>>,
}

#[derive(Debug, Default)]
struct Gate {
    /// Tokio's mutex is fair: its queue is the line.
    line: Arc<tokio::sync::Mutex<()>>,
    /// Told whenever the thread may have become free.
    freed: Notify,
}

impl Lines {
    /// Waits until everybody who came before has got the thread or given up.
    pub(crate) async fn enter(self: &Arc<Self>, key: &ThreadKey) -> Place {
        let gate = Arc::clone(lock(&self.gates).entry(key.clone()).or_default());
        let mut place = Place { lines: Arc::clone(self), key: key.clone(), gate, turn: None };
        place.turn = Some(Arc::clone(&place.gate.line).lock_owned().await);
        place
    }

    /// Marks the turn as alive; it is given up when the hold is dropped without [`Hold::keep`].
    pub(crate) fn hold(self: &Arc<Self>, key: &ThreadKey, turn: &TurnId) -> Hold {
        lock(&self.live).insert(turn.clone(), key.clone());
        self.releasing(key, turn)
    }

    /// A guard that gives the turn up when dropped.
    pub(crate) fn releasing(self: &Arc<Self>, key: &ThreadKey, turn: &TurnId) -> Hold {
        Hold { lines: Arc::clone(self), key: key.clone(), turn: turn.clone(), armed: true }
    }

    /// Whether the turn is alive in this process.
    pub(crate) fn is_live(&self, turn: &TurnId) -> bool {
        lock(&self.live).contains_key(turn)
    }

    /// Wakes whoever is first in the thread's line.
    pub(crate) fn freed(&self, key: &ThreadKey) {
        let gate = lock(&self.gates).get(key).cloned();
        if let Some(gate) = gate {
            gate.freed.notify_one();
        }
    }
}

/// A place in a thread's line. Dropping it lets the next one in.
pub(crate) struct Place {
    lines: Arc<Lines>,
    key: ThreadKey,
    gate: Arc<Gate>,
    turn: Option<OwnedMutexGuard<()>>,
}

impl Place {
    /// Waits until the thread may have become free. A call of [`Lines::freed`] since the last wait counts.
    pub(crate) async fn freed(&self) {
        self.gate.freed.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.turn = None;
        let mut gates = lock(&self.lines.gates);
        // The map and this place: nobody else is in the line, and nobody can join it while the map is locked.
        if Arc::strong_count(&self.gate) == 2 {
            gates.remove(&self.key);
        }
    }
}

/// A turn alive in this process.
#[derive(Debug)]
pub(crate) struct Hold {
    lines: Arc<Lines>,
    key: ThreadKey,
    turn: TurnId,
    armed: bool,
}

impl Hold {
    /// The turn lives on after this value.
    pub(crate) fn keep(mut self) {
        self.armed = false;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.armed {
            lock(&self.lines.live).remove(&self.turn);
            self.lines.freed(&self.key);
        }
    }
}

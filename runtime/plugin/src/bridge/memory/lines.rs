//! One turn of a thread at a time, first come, first served. Of this process alone: the plugin's data belongs to one
//! runtime.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roster_model::id::{ThreadKey, TurnId};
use roster_model::time::Timestamp;
use tokio::sync::OwnedMutexGuard;

/// The lines of all threads somebody holds or waits for.
#[derive(Default)]
pub(super) struct Lines(Mutex<HashMap<ThreadKey, Line>>);

#[derive(Default)]
struct Line {
    /// Tokio's mutex is fair: its queue is the line.
    gate: Arc<tokio::sync::Mutex<()>>,
    held: Option<Held>,
}

struct Held {
    turn: TurnId,
    /// No row of the turn is dated before this.
    latest: Timestamp,
    _gate: OwnedMutexGuard<()>,
}

impl Lines {
    fn lock(&self) -> MutexGuard<'_, HashMap<ThreadKey, Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gate(&self, key: &ThreadKey) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(&self.lock().entry(key.clone()).or_default().gate)
    }

    /// Waits until the thread is free. Dropping the future gives up the place.
    pub(super) async fn enter(self: &Arc<Self>, key: &ThreadKey) -> Place {
        let mut place = Place { lines: Arc::clone(self), key: key.clone(), gate: None };
        place.gate = Some(self.gate(key).lock_owned().await);
        place
    }

    /// The thread, if it is free.
    pub(super) fn try_enter(self: &Arc<Self>, key: &ThreadKey) -> Option<Place> {
        let gate = self.gate(key).try_lock_owned().ok()?;
        Some(Place { lines: Arc::clone(self), key: key.clone(), gate: Some(gate) })
    }

    /// The date no row of this turn may be before; `None`: it does not hold the thread.
    pub(super) fn latest(&self, key: &ThreadKey, turn: &TurnId) -> Option<Timestamp> {
        let lines = self.lock();
        lines.get(key)?.held.as_ref().filter(|held| held.turn == *turn).map(|held| held.latest)
    }

    /// A row of the turn was written.
    pub(super) fn wrote(&self, key: &ThreadKey, turn: &TurnId, at: Timestamp) {
        let mut lines = self.lock();
        let held = lines.get_mut(key).and_then(|line| line.held.as_mut()).filter(|held| held.turn == *turn);
        if let Some(held) = held {
            held.latest = held.latest.max(at);
        }
    }

    /// Gives up the turn that holds a thread, whichever it is: the thread is gone.
    pub(super) fn free(&self, key: &ThreadKey) {
        self.end(key, |_| true);
    }

    /// The same for all of an owner's threads that are held.
    pub(super) fn free_all(&self, of: impl Fn(&ThreadKey) -> bool) {
        let keys: Vec<ThreadKey> = self.lock().keys().filter(|key| of(key)).cloned().collect();
        keys.iter().for_each(|key| self.free(key));
    }

    /// A guard that ends the turn's hold when dropped.
    pub(super) fn releasing(self: &Arc<Self>, key: &ThreadKey, turn: &TurnId) -> Hold {
        Hold { lines: Arc::clone(self), key: key.clone(), turn: turn.clone(), armed: true }
    }

    fn end(&self, key: &ThreadKey, is: impl Fn(&TurnId) -> bool) {
        let mut lines = self.lock();
        let Some(line) = lines.get_mut(key) else { return };
        if line.held.as_ref().is_some_and(|held| is(&held.turn)) {
            line.held = None;
        }
        prune(&mut lines, key);
    }
}

/// Forgets a line nobody stands in: the map alone has its gate, and nobody can join while the map is locked.
fn prune(lines: &mut HashMap<ThreadKey, Line>, key: &ThreadKey) {
    if lines.get(key).is_some_and(|line| line.held.is_none() && Arc::strong_count(&line.gate) == 1) {
        lines.remove(key);
    }
}

/// A thread that is ours until this is dropped.
pub(super) struct Place {
    lines: Arc<Lines>,
    key: ThreadKey,
    gate: Option<OwnedMutexGuard<()>>,
}

impl Place {
    /// The turn has it from now on.
    pub(super) fn hold(mut self, turn: &TurnId, latest: Timestamp) -> Hold {
        if let Some(gate) = self.gate.take() {
            let held = Held { turn: turn.clone(), latest, _gate: gate };
            self.lines.lock().entry(self.key.clone()).or_default().held = Some(held);
        }
        self.lines.releasing(&self.key, turn)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.gate = None;
        prune(&mut self.lines.lock(), &self.key);
    }
}

/// Ends a turn's hold when dropped.
pub(super) struct Hold {
    lines: Arc<Lines>,
    key: ThreadKey,
    turn: TurnId,
    armed: bool,
}

impl Hold {
    /// The turn holds the thread after this value.
    pub(super) fn keep(mut self) {
        self.armed = false;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.armed {
            self.lines.end(&self.key, |turn| *turn == self.turn);
        }
    }
}

//! A door a test opens.

use std::sync::Arc;

use tokio::sync::watch;

/// Holds an answer at a place until the test opens it. Clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate {
    state: Arc<watch::Sender<State>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    open: bool,
    reached: usize,
}

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self { state: Arc::new(watch::Sender::new(State::default())) }
    }

    /// Lets everything that waits, and everything that comes later, pass.
    pub fn open(&self) {
        self.state.send_modify(|state| state.open = true);
    }

    /// Waits until an answer stands at the gate (or went through it).
    pub async fn reached(&self) {
        self.until(|state| state.reached > 0).await;
    }

    /// Called by the server: says that an answer is here, and waits until the gate is open.
    pub(super) async fn pass(&self) {
        self.state.send_modify(|state| state.reached += 1);
        self.until(|state| state.open).await;
    }

    async fn until(&self, wanted: impl FnMut(&State) -> bool) {
        // The sender lives in `self`, so the channel cannot be closed while this waits.
        drop(self.state.subscribe().wait_for(wanted).await);
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

//! The thread a turn holds in the store while it is under way.

use roster_model::id::{ThreadKey, TurnId};
use roster_model::storage::SaveAnswer;

use super::run::Turn;
use crate::memory::Memory;

/// A held thread, for whoever ends a turn that cannot end itself.
pub(super) struct Lease {
    memory: Memory,
    key: ThreadKey,
    turn: TurnId,
}

impl Turn {
    /// What this turn holds in the store once it has begun; `None` of a turn that stores nothing.
    pub(super) fn lease(&self) -> Option<Lease> {
        let (key, turn) = (self.request.key.clone(), self.id.clone());
        self.memory().map(|memory| Lease { memory: memory.clone(), key, turn })
    }
}

/// Gives a thread back without an answer; true when it had been taken, so that the question is stored. A thread that was
/// never taken is no failure.
pub(super) async fn give_back(lease: Option<Lease>) -> bool {
    let Some(Lease { memory, key, turn }) = lease else { return false };
    memory.store.save_answer(SaveAnswer { key, turn, message: None, last: true }).await.is_ok()
}

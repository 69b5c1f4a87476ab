//! Turns that wait, in RAM.

use roster_model::id::{ResourceId, ThreadKey, TurnId};
use roster_model::message::{MessageStatus, Role, StoredMessage};
use roster_model::storage::{StoreError, StoreErrorKind, StoreResult};
use roster_model::suspension::{ResumedTurn, SuspendedTurn, SuspensionStore};
use roster_model::time::Timestamp;

use super::RamStore;
use super::state::{Row, State};

impl SuspensionStore for RamStore {
    fn suspended_turn<'a>(
        &'a self,
        resource: &'a ResourceId,
        turn: &'a TurnId,
    ) -> StoreResult<'a, Option<SuspendedTurn>> {
        self.with(move |state| Ok(state.suspended(Some(resource), turn)))
    }

    fn suspended_turns<'a>(&'a self, resource: &'a ResourceId, limit: usize) -> StoreResult<'a, Vec<SuspendedTurn>> {
        self.with(move |state| Ok(state.all_suspended(Some(resource), limit, self.clock.now())))
    }

    fn resume_turn<'a>(&'a self, resource: &'a ResourceId, turn: &'a TurnId) -> StoreResult<'a, ResumedTurn> {
        self.with(move |state| {
            let resumed = state.resume(resource, turn, self.clock.now(), &|turn| self.lines.is_live(turn))?;
            self.lines.hold(&resumed.turn.key, turn).keep();
            Ok(resumed)
        })
    }
}

impl Row {
    /// Abandons what waits here: a new turn begins.
    pub(super) fn overtake(&mut self) {
        let waiting = self.messages.iter_mut().filter(|row| row.message.status.is_waiting());
        waiting.for_each(|row| row.message.abandon());
    }

    /// The assistant's row of a turn that waits or once did.
    fn waiting(&self, turn: &TurnId) -> Option<&StoredMessage> {
        let is_it = |row: &&StoredMessage| row.turn.as_ref() == Some(turn) && row.message.role == Role::Assistant;
        self.messages.iter().find(is_it).filter(|_| self.suspended.contains(turn))
    }
}

impl State {
    /// A turn of this owner, or of any.
    pub(super) fn suspended(&self, resource: Option<&ResourceId>, turn: &TurnId) -> Option<SuspendedTurn> {
        let of_owner = self.threads.iter().filter(|(key, _)| resource.is_none_or(|owner| key.resource == *owner));
        let mut found = of_owner.filter_map(|(key, row)| Some(suspended(key, row.waiting(turn)?)));
        found.next().flatten()
    }

    /// Those of an owner or of all that still wait, the newest first.
    pub(super) fn all_suspended(
        &self,
        resource: Option<&ResourceId>,
        limit: usize,
        now: Timestamp,
    ) -> Vec<SuspendedTurn> {
        let threads = self.threads.iter().filter(|(key, _)| resource.is_none_or(|owner| key.resource == *owner));
        let rows = threads.flat_map(|(key, row)| row.messages.iter().filter_map(|message| suspended(key, message)));
        let mut waiting: Vec<SuspendedTurn> =
            rows.filter(|turn| turn.waits(now) && turn.row.message.status == MessageStatus::Suspended).collect();
        waiting.sort_by_key(|turn| std::cmp::Reverse(turn.row.message.created_at));
        waiting.truncate(limit);
        waiting
    }

    fn resume(
        &mut self,
        resource: &ResourceId,
        turn: &TurnId,
        now: Timestamp,
        is_live: &dyn Fn(&TurnId) -> bool,
    ) -> Result<ResumedTurn, StoreError> {
        let Some(mut waiting) = self.suspended(Some(resource), turn) else {
            return Err(StoreError::new(StoreErrorKind::NotFound, "no turn of this id waits"));
        };
        let number = self.next();
        let row = self.row(&waiting.key)?;
        if !waiting.waits(now) || row.lease.as_ref().is_some_and(is_live) {
            return Err(StoreError::new(StoreErrorKind::Conflict, format!("turn `{turn}` does not wait any more")));
        }
        row.lease = Some(turn.clone());
        row.touch(now);
        row.changed = number;
        let mut question = None;
        for stored in row.messages.iter_mut().filter(|stored| stored.turn.as_ref() == Some(turn)) {
            if stored.seq == waiting.row.seq {
                stored.message.status = MessageStatus::Running;
            } else if stored.message.role == Role::User && stored.seq < waiting.row.seq {
                question = Some(stored.seq);
            }
        }
        waiting.row.message.status = MessageStatus::Running;
        Ok(ResumedTurn { turn: waiting, question })
    }
}

fn suspended(key: &ThreadKey, row: &StoredMessage) -> Option<SuspendedTurn> {
    let turn = row.turn.clone()?;
    Some(SuspendedTurn { key: key.clone(), turn, row: row.clone() })
}

//! Working memory and feed records of the RAM store.

use roster_model::feed::{FeedRecord, FeedStore, TurnFeed};
use roster_model::id::{ThreadKey, TurnId};
use roster_model::storage::{StoreError, StoreErrorKind, StoreResult};
use roster_model::time::Timestamp;
use roster_model::working::{MemoryScope, WorkingMemory, WorkingMemoryStore};

use super::RamStore;
use super::state::State;

/// A working memory, or the place where one was or will be.
#[derive(Debug, Clone, Default)]
pub(super) struct Slot {
    text: Option<String>,
    /// Counts on when the text is cleared, so that an old version never fits again.
    version: u64,
    written: Option<Timestamp>,
}

impl Slot {
    pub(super) fn read(&self) -> Option<WorkingMemory> {
        let (text, updated_at) = (self.text.clone()?, self.written?);
        Some(WorkingMemory { text, version: self.version, updated_at })
    }

    /// What a copy of its thread begins with.
    pub(super) fn copied(&self) -> Self {
        Self { version: u64::from(self.text.is_some()), ..self.clone() }
    }

    fn write(&mut self, text: Option<String>, seen: u64, now: Timestamp) -> Result<u64, StoreError> {
        let empty_as_seen = self.text.is_none() && seen == 0;
        if !empty_as_seen && seen != self.version {
            let message = format!("the working memory has version {}, not {seen}", self.version);
            return Err(StoreError::new(StoreErrorKind::Conflict, message));
        }
        self.version += 1;
        self.text = text;
        self.written = Some(now);
        Ok(self.version)
    }
}

impl State {
    fn memory(&self, scope: &MemoryScope) -> Option<WorkingMemory> {
        match scope {
            MemoryScope::Thread(key) => self.threads.get(key)?.memory.read(),
            MemoryScope::Resource(resource) => self.memories.get(resource)?.read(),
        }
    }

    fn set_memory(
        &mut self,
        scope: &MemoryScope,
        text: Option<String>,
        seen: u64,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        match scope {
            MemoryScope::Thread(key) => self.row(key)?.memory.write(text, seen, now),
            MemoryScope::Resource(resource) => {
                self.memories.entry(resource.clone()).or_default().write(text, seen, now)
            }
        }
    }

    fn put_feed(&mut self, turns: Vec<TurnFeed>, keep_after: Timestamp) {
        for (key, records) in turns {
            let Some(row) = self.threads.get_mut(&key) else { continue };
            for record in records {
                match row.feed.iter_mut().find(|known| known.turn == record.turn && known.step == record.step) {
                    Some(known) => *known = record,
                    None => row.feed.push(record),
                }
            }
        }
        for row in self.threads.values_mut() {
            row.feed.retain(|record| record.at >= keep_after);
        }
    }

    fn feed(&self, key: &ThreadKey, turn: Option<&TurnId>) -> Vec<FeedRecord> {
        let Some(row) = self.threads.get(key) else { return Vec::new() };
        let Some(turn) = turn.or_else(|| row.feed.last().map(|newest| &newest.turn)) else { return Vec::new() };
        let mut records: Vec<FeedRecord> = row.feed.iter().filter(|record| record.turn == *turn).cloned().collect();
        records.sort_by_key(|record| record.step);
        records
    }
}

impl WorkingMemoryStore for RamStore {
    fn working_memory<'a>(&'a self, scope: &'a MemoryScope) -> StoreResult<'a, Option<WorkingMemory>> {
        self.with(move |state| Ok(state.memory(scope)))
    }

    fn set_working_memory<'a>(
        &'a self,
        scope: &'a MemoryScope,
        text: Option<String>,
        seen: u64,
    ) -> StoreResult<'a, u64> {
        self.with(move |state| state.set_memory(scope, text, seen, self.clock.now()))
    }
}

impl FeedStore for RamStore {
    fn put_feed(&self, turns: Vec<TurnFeed>, keep_after: Timestamp) -> StoreResult<'_, ()> {
        self.with(move |state| {
            state.put_feed(turns, keep_after);
            Ok(())
        })
    }

    fn feed<'a>(&'a self, key: &'a ThreadKey, turn: Option<&'a TurnId>) -> StoreResult<'a, Vec<FeedRecord>> {
        self.with(move |state| Ok(state.feed(key, turn)))
    }
}

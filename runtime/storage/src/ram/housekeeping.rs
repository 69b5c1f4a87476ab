//! Looking after the threads of the RAM store.

use std::collections::{BTreeMap, BTreeSet};

use roster_model::housekeeping::{Copied, CopyRange, Erased, Housekeeping};
use roster_model::id::{IdSource, MessageId, ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::message::{Seq, StoredMessage};
use roster_model::storage::{NewThread, StoreError, StoreErrorKind, StoreResult, Thread};
use roster_model::time::Timestamp;
use serde_json::{Map, Value};

use super::RamStore;
use super::state::{Row, State, not_found};
use crate::budget::{Budget, stored_bytes};
use crate::line::lock;
use crate::metadata;

fn taken(thread: &ThreadId) -> StoreError {
    StoreError::new(StoreErrorKind::Conflict, format!("there is a thread `{thread}` already"))
}

/// The messages of a range.
fn chosen(row: &Row, range: &CopyRange) -> Result<Vec<StoredMessage>, StoreError> {
    let end = match &range.until {
        None => row.messages.len(),
        Some(id) => match row.messages.iter().position(|stored| stored.message.id == *id) {
            Some(at) => at + 1,
            None => return Err(StoreError::new(StoreErrorKind::NotFound, "no such message")),
        },
    };
    let first = end.saturating_sub(range.newest.unwrap_or(usize::MAX));
    Ok(row.messages[first..end].iter().filter(|stored| range.takes(&stored.message)).cloned().collect())
}

impl State {
    fn copy(
        &mut self,
        source: &ThreadKey,
        target: &ThreadKey,
        new: &NewThread,
        range: &CopyRange,
        now: Timestamp,
        ids: &dyn IdSource,
    ) -> Result<Copied, StoreError> {
        let from = self.threads.get(source).ok_or_else(not_found)?;
        let rows = chosen(from, range)?;
        if self.threads.contains_key(target) {
            return Err(taken(&target.thread));
        }
        let (memory, index) = (from.memory.copied(), from.index.clone());
        self.create(target, new, now);
        let (mut messages, mut ids_told) = (Vec::new(), Vec::new());
        let (mut seqs, mut budget, mut last) = (BTreeMap::new(), Budget::answer(), None);
        for old in rows {
            let mut message = old.message.clone();
            message.id = MessageId::fresh(ids);
            message.abandon();
            let number = self.next();
            let stored = self.row(target)?.push(old.turn.as_ref(), message, now, number);
            seqs.insert(old.seq, stored.seq);
            if budget.takes(stored_bytes(&stored.message)) {
                ids_told.push((old.message.id.clone(), stored.message.id.clone()));
                messages.push(stored);
            }
            last = Some(old.message.id);
        }
        self.row(target)?.memory = memory;
        self.copy_index(target, index, &seqs)?;
        Ok(Copied { thread: self.row(target)?.thread.clone(), messages, ids: ids_told, last })
    }

    fn copy_index(
        &mut self,
        target: &ThreadKey,
        from: super::recall::Index,
        seqs: &BTreeMap<Seq, Seq>,
    ) -> Result<(), StoreError> {
        self.reindexed(&target.resource);
        for ((space, seq), mut entry) in from.entries {
            if let Some(seq) = seqs.get(&seq) {
                entry.number = self.next();
                self.row(target)?.index.entries.insert((space, *seq), entry);
            }
        }
        let terms = from.terms.into_iter().filter_map(|(seq, terms)| Some((*seqs.get(&seq)?, terms)));
        self.row(target)?.index.terms.extend(terms);
        Ok(())
    }

    fn transfer(
        &mut self,
        key: &ThreadKey,
        to: &ResourceId,
        now: Timestamp,
        is_live: &dyn Fn(&TurnId) -> bool,
    ) -> Result<Thread, StoreError> {
        if !self.threads.contains_key(key) {
            return Err(not_found());
        }
        let family = self.family(key);
        let moved = |key: &ThreadKey| ThreadKey { resource: to.clone(), thread: key.thread.clone() };
        if key.resource != *to {
            if let Some(there) = family.iter().find(|key| self.threads.contains_key(&moved(key))) {
                return Err(taken(&there.thread));
            }
            let leases = family.iter().filter_map(|key| self.threads.get(key)?.lease.as_ref());
            if leases.into_iter().any(is_live) {
                return Err(StoreError::new(StoreErrorKind::Busy, "a turn runs in the thread"));
            }
            for key in &family {
                let number = self.next();
                let Some(mut row) = self.threads.remove(key) else { continue };
                if let Some(turn) = row.lease.take() {
                    row.interrupt(&turn);
                }
                row.thread.key = moved(key);
                row.touch(now);
                row.changed = number;
                self.threads.insert(moved(key), row);
            }
            self.reindexed(&key.resource);
            self.reindexed(to);
        }
        Ok(self.row(&moved(key))?.thread.clone())
    }

    fn delete_messages(&mut self, key: &ThreadKey, ids: &[MessageId], now: Timestamp) -> u64 {
        let number = self.next();
        let Some(row) = self.threads.get_mut(key) else { return 0 };
        let doomed: BTreeSet<&MessageId> = ids.iter().collect();
        let found = row.messages.iter().filter(|stored| doomed.contains(&stored.message.id));
        let seqs: Vec<Seq> = found.map(|stored| stored.seq).collect();
        row.messages.retain(|stored| !doomed.contains(&stored.message.id));
        for seq in &seqs {
            row.index.remove(*seq);
        }
        if !seqs.is_empty() {
            row.thread.message_count = row.messages.len() as u64;
            row.touch(now);
            row.changed = number;
            self.reindexed(&key.resource);
        }
        seqs.len() as u64
    }

    fn threads_of(&self, resource: &ResourceId, ids: &[MessageId]) -> Vec<(ThreadId, MessageId)> {
        let wanted: BTreeSet<&MessageId> = ids.iter().collect();
        let rows = self.threads.values().filter(|row| row.thread.key.resource == *resource);
        let messages =
            rows.flat_map(|row| row.messages.iter().map(|stored| (&row.thread.key.thread, &stored.message.id)));
        messages.filter(|(_, id)| wanted.contains(id)).map(|(thread, id)| (thread.clone(), id.clone())).collect()
    }

    /// What was removed, and the keys that are free now.
    fn erase(&mut self, resource: &ResourceId) -> (Erased, Vec<ThreadKey>) {
        let mut erased = Erased::default();
        let keys: Vec<ThreadKey> = self.threads.keys().filter(|key| key.resource == *resource).cloned().collect();
        for row in keys.iter().filter_map(|key| self.threads.remove(key)) {
            erased.threads += 1;
            erased.messages += row.messages.len() as u64;
            erased.index_entries += row.index.entries.len() as u64;
            erased.working_memories += u64::from(row.memory.read().is_some());
        }
        let own = self.memories.remove(resource);
        erased.working_memories += u64::from(own.is_some_and(|slot| slot.read().is_some()));
        self.reindexed(resource);
        (erased, keys)
    }

    fn delete_if_empty(&mut self, seen: &Thread) -> bool {
        let is_unused = |row: &Row| {
            row.thread == *seen && row.messages.is_empty() && row.memory.read().is_none() && row.lease.is_none()
        };
        let unused = self.threads.get(&seen.key).is_some_and(is_unused);
        if unused {
            self.threads.remove(&seen.key);
        }
        unused
    }

    fn merge(&mut self, key: &ThreadKey, change: Map<String, Value>, now: Timestamp) -> Result<Thread, StoreError> {
        let number = self.next();
        let row = self.row(key)?;
        if !change.is_empty() {
            row.thread.metadata = metadata::merged(row.thread.metadata.take(), change);
            row.touch(now);
            row.changed = number;
        }
        Ok(row.thread.clone())
    }

    fn title(&mut self, key: &ThreadKey, title: String, now: Timestamp) -> Result<bool, StoreError> {
        let number = self.next();
        let row = self.row(key)?;
        if !row.thread.title.is_empty() || title.is_empty() {
            return Ok(false);
        }
        row.thread.title = title;
        row.touch(now);
        row.changed = number;
        Ok(true)
    }
}

impl Housekeeping for RamStore {
    fn copy_thread<'a>(
        &'a self,
        source: &'a ThreadKey,
        target: &'a ThreadId,
        new: NewThread,
        range: CopyRange,
    ) -> StoreResult<'a, Copied> {
        self.with(move |state| {
            let target = ThreadKey { resource: source.resource.clone(), thread: target.clone() };
            state.copy(source, &target, &new, &range, self.clock.now(), &*self.ids)
        })
    }

    fn transfer_thread<'a>(&'a self, key: &'a ThreadKey, to: &'a ResourceId) -> StoreResult<'a, Thread> {
        self.with(move |state| state.transfer(key, to, self.clock.now(), &|turn| self.lines.is_live(turn)))
    }

    fn delete_messages<'a>(&'a self, key: &'a ThreadKey, messages: Vec<MessageId>) -> StoreResult<'a, u64> {
        self.with(move |state| Ok(state.delete_messages(key, &messages, self.clock.now())))
    }

    fn threads_of_messages<'a>(
        &'a self,
        resource: &'a ResourceId,
        messages: Vec<MessageId>,
    ) -> StoreResult<'a, Vec<(ThreadId, MessageId)>> {
        self.with(move |state| Ok(state.threads_of(resource, &messages)))
    }

    fn erase<'a>(&'a self, resource: &'a ResourceId) -> StoreResult<'a, Erased> {
        Box::pin(async move {
            let (erased, keys) = lock(&self.state).erase(resource);
            for key in &keys {
                self.lines.freed(key);
            }
            Ok(erased)
        })
    }

    fn delete_if_empty<'a>(&'a self, seen: &'a Thread) -> StoreResult<'a, bool> {
        self.with(move |state| {
            let deleted = state.delete_if_empty(seen);
            if deleted {
                self.lines.freed(&seen.key);
            }
            Ok(deleted)
        })
    }

    fn merge_metadata<'a>(&'a self, key: &'a ThreadKey, change: Map<String, Value>) -> StoreResult<'a, Thread> {
        self.with(move |state| state.merge(key, change, self.clock.now()))
    }

    fn set_title_if_empty<'a>(&'a self, key: &'a ThreadKey, title: String) -> StoreResult<'a, bool> {
        self.with(move |state| state.title(key, title, self.clock.now()))
    }
}

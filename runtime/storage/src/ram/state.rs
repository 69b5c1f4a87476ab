//! What the RAM store holds, and its rules.

use std::collections::{BTreeMap, BTreeSet};

use roster_model::feed::FeedRecord;
use roster_model::id::{AgentId, MessageId, ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::message::{Message, MessageStatus, Role, Seq, StoredMessage};
use roster_model::storage::{
    BeginTurn, Begun, Direction, MessageQuery, NewThread, Page, PageStart, SaveAnswer, StoreError, StoreErrorKind,
    Thread, ThreadChange, ThreadOrder, ThreadQuery,
};
use roster_model::time::Timestamp;

use super::memory::Slot;
use super::recall::Index;
use crate::budget::{Budget, stored_bytes};
use crate::cursor;

/// What became of an attempt to begin a turn.
pub(super) enum Taken {
    Begun(Begun),
    /// A live turn has the thread.
    Held,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) threads: BTreeMap<ThreadKey, Row>,
    /// Working memories of owners.
    pub(super) memories: BTreeMap<ResourceId, Slot>,
    /// How often an owner's recall index changed.
    pub(super) index_versions: BTreeMap<ResourceId, u64>,
    /// The last number given; numbers order threads in lists and vectors in pages.
    number: u64,
}

pub(super) struct Row {
    pub(super) thread: Thread,
    /// The numbers of its making, of its last message and of its last change.
    made: u64,
    pub(super) active: u64,
    pub(super) changed: u64,
    pub(super) agents: BTreeSet<AgentId>,
    pub(super) messages: Vec<StoredMessage>,
    /// The last seq given, also when its message is gone.
    pub(super) last_seq: u64,
    pub(super) lease: Option<TurnId>,
    /// Turns that wait for somebody or once did.
    pub(super) suspended: BTreeSet<TurnId>,
    pub(super) memory: Slot,
    pub(super) index: Index,
    /// Oldest first.
    pub(super) feed: Vec<FeedRecord>,
}

pub(super) fn not_found() -> StoreError {
    StoreError::new(StoreErrorKind::NotFound, "no such thread")
}

fn conflict(message: &Message) -> StoreError {
    StoreError::new(StoreErrorKind::Conflict, format!("message id `{}` is taken in this thread", message.id))
}

impl Row {
    fn place(&self, order: ThreadOrder) -> u64 {
        match order {
            ThreadOrder::Created => self.made,
            ThreadOrder::Activity => self.active,
            ThreadOrder::Updated => self.changed,
        }
    }

    fn taken(&self, message: &Message) -> bool {
        self.messages.iter().any(|row| row.message.id == message.id)
    }

    pub(super) fn push(
        &mut self,
        turn: Option<&TurnId>,
        message: Message,
        now: Timestamp,
        number: u64,
    ) -> StoredMessage {
        if let (Role::Assistant, Some(origin)) = (message.role, &message.origin) {
            self.agents.insert(origin.agent.clone());
        }
        self.last_seq += 1;
        let seq = Seq(self.last_seq);
        self.touch(if turn.is_some() { now.max(message.created_at) } else { now });
        let stored = StoredMessage { seq, turn: turn.cloned(), message };
        self.messages.push(stored.clone());
        self.thread.message_count += 1;
        self.active = number;
        self.changed = number;
        stored
    }

    /// No row of a turn is dated before this: when the thread last changed; anything in a thread without rows.
    fn earliest(&self) -> Timestamp {
        if self.last_seq == 0 { Timestamp::from_millis(i64::MIN) } else { self.thread.updated_at }
    }

    /// Time does not go back where a clock does.
    pub(super) fn touch(&mut self, now: Timestamp) {
        self.thread.updated_at = self.thread.updated_at.max(now);
    }

    /// The rows of a dead turn that still say `running` are interrupted.
    pub(super) fn interrupt(&mut self, turn: &TurnId) {
        for row in &mut self.messages {
            if row.turn.as_ref() == Some(turn) && row.message.status == MessageStatus::Running {
                row.message.status = MessageStatus::Interrupted;
            }
        }
    }
}

/// The message, dated `earliest` at the earliest: it may have waited for another turn's answer.
fn dated(message: &Message, earliest: Timestamp) -> Message {
    Message { created_at: message.created_at.max(earliest), ..message.clone() }
}

/// Fails unless all ids are new to the row and differ from each other.
fn check_ids<'m>(row: Option<&Row>, messages: impl Iterator<Item = &'m Message>) -> Result<(), StoreError> {
    let mut seen = BTreeSet::new();
    for message in messages {
        if !seen.insert(&message.id) || row.is_some_and(|row| row.taken(message)) {
            return Err(conflict(message));
        }
    }
    Ok(())
}

impl State {
    pub(super) fn next(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// Notes that an owner's recall index changed.
    pub(super) fn reindexed(&mut self, resource: &ResourceId) {
        *self.index_versions.entry(resource.clone()).or_default() += 1;
    }

    pub(super) fn row(&mut self, key: &ThreadKey) -> Result<&mut Row, StoreError> {
        self.threads.get_mut(key).ok_or_else(not_found)
    }

    pub(super) fn begin(
        &mut self,
        begin: &BeginTurn,
        now: Timestamp,
        is_live: &dyn Fn(&TurnId) -> bool,
        taken: impl FnOnce(),
    ) -> Result<Taken, StoreError> {
        if let Some(row) = self.threads.get_mut(&begin.key)
            && let Some(turn) = row.lease.clone()
        {
            if is_live(&turn) {
                return Ok(Taken::Held);
            }
            row.interrupt(&turn);
            row.lease = None;
        }
        if let Some(row) = self.threads.get_mut(&begin.key) {
            row.overtake();
        }
        let row = self.threads.get(&begin.key);
        let empty = row.is_none_or(|row| row.messages.is_empty());
        let seed: &[Message] = if empty { &begin.seed } else { &[] };
        check_ids(row, seed.iter().chain([&begin.question]))?;
        self.create(&begin.key, &begin.thread, now);
        let (mut first, mut earliest) = (None, self.row(&begin.key)?.earliest());
        for message in seed.iter().chain([&begin.question]) {
            let (number, message) = (self.next(), dated(message, earliest));
            earliest = message.created_at;
            let stored = self.row(&begin.key)?.push(Some(&begin.turn), message, now, number);
            first.get_or_insert(stored.seq);
        }
        self.row(&begin.key)?.lease = Some(begin.turn.clone());
        taken();
        Ok(Taken::Begun(Begun { first: first.unwrap_or(Seq(1)), seeded: !seed.is_empty() }))
    }

    pub(super) fn save(&mut self, save: &SaveAnswer, now: Timestamp) -> Result<(), StoreError> {
        let number = self.next();
        let row = self.row(&save.key)?;
        let held = row.lease.as_ref() == Some(&save.turn);
        if !held && !row.messages.iter().any(|stored| stored.turn.as_ref() == Some(&save.turn)) {
            return Err(not_found());
        }
        if let Some(message) = &save.message {
            let newest_is_ours = row.messages.last().is_some_and(|last| last.turn.as_ref() == Some(&save.turn));
            match row.messages.iter_mut().find(|stored| stored.message.id == message.id) {
                Some(stored) if stored.turn.as_ref() == Some(&save.turn) && stored.message.role == Role::Assistant => {
                    let created_at = stored.message.created_at.max(message.created_at);
                    stored.message = Message { created_at, ..message.clone() };
                    row.touch(now.max(created_at));
                    row.changed = number;
                }
                Some(_) => return Err(conflict(message)),
                None if held || newest_is_ours => {
                    row.push(Some(&save.turn), dated(message, row.earliest()), now, number);
                }
                None => {
                    let text = format!("turn `{}` no longer holds its thread", save.turn);
                    return Err(StoreError::new(StoreErrorKind::Conflict, text));
                }
            }
        }
        if save.message.as_ref().is_some_and(|message| message.status.is_waiting()) {
            row.suspended.insert(save.turn.clone());
        }
        if save.last && held {
            row.lease = None;
        }
        Ok(())
    }

    pub(super) fn tail(&self, key: &ThreadKey, limit: usize, before: Option<Seq>) -> Vec<StoredMessage> {
        let Some(row) = self.threads.get(key) else { return Vec::new() };
        let end = row.messages.iter().filter(|stored| before.is_none_or(|before| stored.seq < before)).count();
        let mut budget = Budget::answer();
        let newest = row.messages[..end].iter().rev().take(limit);
        let fed = newest.take_while(|stored| budget.takes(stored_bytes(&stored.message))).count();
        row.messages[end - fed..end].to_vec()
    }

    pub(super) fn append(
        &mut self,
        key: &ThreadKey,
        messages: Vec<Message>,
        now: Timestamp,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        check_ids(Some(self.row(key)?), messages.iter())?;
        let mut stored = Vec::with_capacity(messages.len());
        for message in messages {
            let number = self.next();
            stored.push(self.row(key)?.push(None, message, now, number));
        }
        Ok(stored)
    }

    pub(super) fn messages(&self, key: &ThreadKey, query: &MessageQuery) -> Result<Page<StoredMessage>, StoreError> {
        let row = self.threads.get(key).ok_or_else(not_found)?;
        let position = |id: &Option<MessageId>, otherwise| match id {
            None => Ok(otherwise),
            Some(id) => {
                let found = row.messages.iter().position(|stored| stored.message.id == *id);
                found.ok_or_else(|| StoreError::new(StoreErrorKind::NotFound, "no such message"))
            }
        };
        let start = position(&query.from, 0)?;
        let end = position(&query.before, row.messages.len())?.max(start);
        let mut all: Vec<&StoredMessage> = row.messages[start..end].iter().collect();
        if query.direction == Direction::Descending {
            all.reverse();
        }
        let skip = usize::try_from(query.offset).unwrap_or(usize::MAX);
        let (mut budget, asked) = (Budget::answer(), all.iter().skip(skip).take(query.limit));
        let fitting = asked.take_while(|row| budget.takes(stored_bytes(&row.message)));
        let rows: Vec<StoredMessage> = fitting.map(|row| (*row).clone()).collect();
        let more = skip.saturating_add(rows.len()) < all.len();
        let next = rows.last().filter(|_| more).map(|last| last.message.id.as_str().to_owned());
        Ok(Page { rows, total: (end - start) as u64, next })
    }

    pub(super) fn create(&mut self, key: &ThreadKey, new: &NewThread, now: Timestamp) -> (Thread, bool) {
        if let Some(row) = self.threads.get(key) {
            return (row.thread.clone(), false);
        }
        let number = self.next();
        let thread = Thread {
            key: key.clone(),
            agent: new.agent.clone(),
            parent: new.parent.clone(),
            title: new.title.clone(),
            metadata: new.metadata.clone(),
            created_at: now,
            updated_at: now,
            message_count: 0,
        };
        let row = Row {
            thread: thread.clone(),
            made: number,
            active: number,
            changed: number,
            agents: new.agent.iter().cloned().collect(),
            messages: Vec::new(),
            last_seq: 0,
            lease: None,
            suspended: BTreeSet::new(),
            memory: Slot::default(),
            index: Index::default(),
            feed: Vec::new(),
        };
        self.threads.insert(key.clone(), row);
        (thread, true)
    }

    pub(super) fn thread(&self, key: &ThreadKey) -> Option<Thread> {
        self.threads.get(key).map(|row| row.thread.clone())
    }

    pub(super) fn threads(&self, resource: &ResourceId, query: &ThreadQuery) -> Result<Page<Thread>, StoreError> {
        let mut all: Vec<&Row> = self
            .threads
            .values()
            .filter(|row| row.thread.key.resource == *resource && row.thread.parent.is_none())
            .filter(|row| query.agent.as_ref().is_none_or(|agent| row.agents.contains(agent)))
            .collect();
        let total = all.len() as u64;
        let descending = query.direction == Direction::Descending;
        all.sort_by_key(|row| row.place(query.order));
        if descending {
            all.reverse();
        }
        let mut skip = 0;
        match &query.start {
            PageStart::First => {}
            PageStart::Offset(offset) => skip = usize::try_from(*offset).unwrap_or(usize::MAX),
            PageStart::After(text) => {
                let after = cursor::decode(query.order, text)?;
                all.retain(|row| (row.place(query.order) < after) == descending && row.place(query.order) != after);
            }
        }
        let rows: Vec<&Row> = all.iter().skip(skip).take(query.limit).copied().collect();
        let more = skip.saturating_add(rows.len()) < all.len();
        let next = rows.last().filter(|_| more).map(|last| cursor::encode(query.order, last.place(query.order)));
        Ok(Page { rows: rows.into_iter().map(|row| row.thread.clone()).collect(), total, next })
    }

    pub(super) fn update(
        &mut self,
        key: &ThreadKey,
        change: ThreadChange,
        now: Timestamp,
    ) -> Result<Thread, StoreError> {
        let number = self.next();
        let row = self.row(key)?;
        if change == ThreadChange::default() {
            return Ok(row.thread.clone());
        }
        row.thread.title = change.title.unwrap_or_else(|| row.thread.title.clone());
        row.thread.metadata = change.metadata.or_else(|| row.thread.metadata.clone());
        row.touch(now);
        row.changed = number;
        Ok(row.thread.clone())
    }

    /// The thread and the threads below it; empty when there is none.
    pub(super) fn family(&self, key: &ThreadKey) -> Vec<ThreadKey> {
        let mut family = vec![key.clone()];
        let mut next = 0;
        while let Some(parent) = family.get(next).cloned() {
            next += 1;
            let is_child = |row: &Row| {
                row.thread.key.resource == parent.resource && row.thread.parent.as_ref() == Some(&parent.thread)
            };
            let children = self.threads.iter().filter(|(key, row)| is_child(row) && !family.contains(key));
            let children: Vec<ThreadKey> = children.map(|(key, _)| key.clone()).collect();
            family.extend(children);
        }
        family.retain(|key| self.threads.contains_key(key));
        family
    }

    /// The keys of what was deleted: the thread and the threads below it; empty when there was none.
    pub(super) fn delete(&mut self, key: &ThreadKey) -> Vec<ThreadKey> {
        let doomed = self.family(key);
        for key in &doomed {
            self.threads.remove(key);
        }
        self.reindexed(&key.resource);
        doomed
    }

    pub(super) fn owners_of_message(&self, message: &MessageId, limit: usize) -> Vec<ResourceId> {
        let holds = |row: &&Row| row.messages.iter().any(|stored| stored.message.id == *message);
        let owners: BTreeSet<&ResourceId> =
            self.threads.values().filter(holds).map(|row| &row.thread.key.resource).collect();
        owners.into_iter().take(limit).cloned().collect()
    }

    pub(super) fn owners(&self, thread: &ThreadId, limit: usize) -> Vec<ResourceId> {
        let keys = self.threads.keys().filter(|key| key.thread == *thread);
        keys.take(limit).map(|key| key.resource.clone()).collect()
    }
}

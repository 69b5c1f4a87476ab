//! The fault in front of every face of a store that session memory needs.

use std::sync::Arc;

use roster_model::feed::{FeedRecord, FeedStore, TurnFeed};
use roster_model::housekeeping::{Copied, CopyRange, Erased, Housekeeping};
use roster_model::id::{MessageId, ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::message::{Message, Seq, StoredMessage};
use roster_model::recall::{IndexEntry, IndexedVector, RecallStore, TextHit, Unindexed};
use roster_model::storage::{
    BeginTurn, Begun, ConversationStore, MessageQuery, NewThread, OperatorStore, Page, SaveAnswer, StoreError,
    StoreResult, Thread, ThreadChange, ThreadQuery,
};
use roster_model::suspension::{ResumedTurn, SuspendedTurn, SuspensionStore};
use roster_model::time::Timestamp;
use roster_model::working::{MemoryScope, WorkingMemory, WorkingMemoryStore};
use serde_json::{Map, Value};

use super::{Fault, FaultyStore};
use crate::suite::conversation::Store;
use crate::suite::session::Session;

/// A store of session memory with one fault. Every call counts, of whichever face, but the cheap ones that answer at
/// once ([`RecallStore::index_version`], [`OperatorStore`]).
pub struct FaultySession {
    inner: Arc<dyn Session>,
    /// The conversation's face, which also counts the others' calls.
    faulty: FaultyStore,
}

impl FaultySession {
    /// Puts the fault in front of a store.
    #[must_use]
    pub fn new(inner: Arc<dyn Session>, fault: Fault) -> Self {
        let store: Arc<dyn Store> = Arc::clone(&inner) as Arc<dyn Store>;
        Self { inner, faulty: FaultyStore::new(store, fault) }
    }

    /// How many calls were made so far. At most `nth`: the fault has not struck yet.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.faulty.calls()
    }
}

impl SuspensionStore for FaultySession {
    fn suspended_turn<'a>(
        &'a self,
        resource: &'a ResourceId,
        turn: &'a TurnId,
    ) -> StoreResult<'a, Option<SuspendedTurn>> {
        self.faulty.pass(self.inner.suspended_turn(resource, turn))
    }

    fn suspended_turns<'a>(&'a self, resource: &'a ResourceId, limit: usize) -> StoreResult<'a, Vec<SuspendedTurn>> {
        self.faulty.pass(self.inner.suspended_turns(resource, limit))
    }

    fn resume_turn<'a>(&'a self, resource: &'a ResourceId, turn: &'a TurnId) -> StoreResult<'a, ResumedTurn> {
        self.faulty.pass(self.inner.resume_turn(resource, turn))
    }
}

impl WorkingMemoryStore for FaultySession {
    fn working_memory<'a>(&'a self, scope: &'a MemoryScope) -> StoreResult<'a, Option<WorkingMemory>> {
        self.faulty.pass(self.inner.working_memory(scope))
    }

    fn set_working_memory<'a>(
        &'a self,
        scope: &'a MemoryScope,
        text: Option<String>,
        seen: u64,
    ) -> StoreResult<'a, u64> {
        self.faulty.pass(self.inner.set_working_memory(scope, text, seen))
    }
}

impl RecallStore for FaultySession {
    fn index<'a>(&'a self, key: &'a ThreadKey, space: &'a str, entries: Vec<IndexEntry>) -> StoreResult<'a, ()> {
        self.faulty.pass(self.inner.index(key, space, entries))
    }

    fn vectors<'a>(
        &'a self,
        resource: &'a ResourceId,
        thread: Option<&'a ThreadId>,
        space: &'a str,
        after: u64,
        limit: usize,
    ) -> StoreResult<'a, (Vec<IndexedVector>, Option<u64>)> {
        self.faulty.pass(self.inner.vectors(resource, thread, space, after, limit))
    }

    fn find_words<'a>(
        &'a self,
        resource: &'a ResourceId,
        thread: Option<&'a ThreadId>,
        words: &'a [String],
        limit: usize,
    ) -> StoreResult<'a, Vec<TextHit>> {
        self.faulty.pass(self.inner.find_words(resource, thread, words, limit))
    }

    fn around<'a>(
        &'a self,
        key: &'a ThreadKey,
        seq: Seq,
        before: usize,
        after: usize,
    ) -> StoreResult<'a, Vec<StoredMessage>> {
        self.faulty.pass(self.inner.around(key, seq, before, after))
    }

    fn unindexed<'a>(
        &'a self,
        resource: &'a ResourceId,
        space: &'a str,
        limit: usize,
    ) -> StoreResult<'a, Vec<Unindexed>> {
        self.faulty.pass(self.inner.unindexed(resource, space, limit))
    }

    fn index_version(&self, resource: &ResourceId) -> u64 {
        self.inner.index_version(resource)
    }
}

impl FeedStore for FaultySession {
    fn put_feed(&self, turns: Vec<TurnFeed>, keep_after: Timestamp) -> StoreResult<'_, ()> {
        self.faulty.pass(self.inner.put_feed(turns, keep_after))
    }

    fn feed<'a>(&'a self, key: &'a ThreadKey, turn: Option<&'a TurnId>) -> StoreResult<'a, Vec<FeedRecord>> {
        self.faulty.pass(self.inner.feed(key, turn))
    }
}

impl Housekeeping for FaultySession {
    fn copy_thread<'a>(
        &'a self,
        source: &'a ThreadKey,
        target: &'a ThreadId,
        new: NewThread,
        range: CopyRange,
    ) -> StoreResult<'a, Copied> {
        self.faulty.pass(self.inner.copy_thread(source, target, new, range))
    }

    fn transfer_thread<'a>(&'a self, key: &'a ThreadKey, to: &'a ResourceId) -> StoreResult<'a, Thread> {
        self.faulty.pass(self.inner.transfer_thread(key, to))
    }

    fn delete_messages<'a>(&'a self, key: &'a ThreadKey, messages: Vec<MessageId>) -> StoreResult<'a, u64> {
        self.faulty.pass(self.inner.delete_messages(key, messages))
    }

    fn threads_of_messages<'a>(
        &'a self,
        resource: &'a ResourceId,
        messages: Vec<MessageId>,
    ) -> StoreResult<'a, Vec<(ThreadId, MessageId)>> {
        self.faulty.pass(self.inner.threads_of_messages(resource, messages))
    }

    fn erase<'a>(&'a self, resource: &'a ResourceId) -> StoreResult<'a, Erased> {
        self.faulty.pass(self.inner.erase(resource))
    }

    fn delete_if_empty<'a>(&'a self, seen: &'a Thread) -> StoreResult<'a, bool> {
        self.faulty.pass(self.inner.delete_if_empty(seen))
    }

    fn merge_metadata<'a>(&'a self, key: &'a ThreadKey, change: Map<String, Value>) -> StoreResult<'a, Thread> {
        self.faulty.pass(self.inner.merge_metadata(key, change))
    }

    fn set_title_if_empty<'a>(&'a self, key: &'a ThreadKey, title: String) -> StoreResult<'a, bool> {
        self.faulty.pass(self.inner.set_title_if_empty(key, title))
    }
}

impl ConversationStore for FaultySession {
    fn begin_turn(&self, begin: BeginTurn) -> StoreResult<'_, Begun> {
        self.faulty.begin_turn(begin)
    }

    fn save_answer(&self, save: SaveAnswer) -> StoreResult<'_, ()> {
        self.faulty.save_answer(save)
    }

    fn tail<'a>(
        &'a self,
        key: &'a ThreadKey,
        limit: usize,
        before: Option<Seq>,
    ) -> StoreResult<'a, Vec<StoredMessage>> {
        self.faulty.tail(key, limit, before)
    }

    fn append<'a>(&'a self, key: &'a ThreadKey, messages: Vec<Message>) -> StoreResult<'a, Vec<StoredMessage>> {
        self.faulty.append(key, messages)
    }

    fn messages<'a>(&'a self, key: &'a ThreadKey, query: MessageQuery) -> StoreResult<'a, Page<StoredMessage>> {
        self.faulty.messages(key, query)
    }

    fn create_thread<'a>(&'a self, key: &'a ThreadKey, new: NewThread) -> StoreResult<'a, (Thread, bool)> {
        self.faulty.create_thread(key, new)
    }

    fn thread<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, Option<Thread>> {
        self.faulty.thread(key)
    }

    fn threads<'a>(&'a self, resource: &'a ResourceId, query: ThreadQuery) -> StoreResult<'a, Page<Thread>> {
        self.faulty.threads(resource, query)
    }

    fn update_thread<'a>(&'a self, key: &'a ThreadKey, change: ThreadChange) -> StoreResult<'a, Thread> {
        self.faulty.update_thread(key, change)
    }

    fn delete_thread<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, bool> {
        self.faulty.delete_thread(key)
    }
}

impl OperatorStore for FaultySession {
    fn owners<'a>(&'a self, thread: &'a ThreadId, limit: usize) -> StoreResult<'a, Vec<ResourceId>> {
        self.faulty.owners(thread, limit)
    }

    fn owners_of_message<'a>(&'a self, message: &'a MessageId, limit: usize) -> StoreResult<'a, Vec<ResourceId>> {
        self.faulty.owners_of_message(message, limit)
    }

    fn all_suspended(&self, limit: usize) -> StoreResult<'_, Vec<SuspendedTurn>> {
        self.faulty.all_suspended(limit)
    }

    fn any_suspended<'a>(&'a self, turn: &'a TurnId) -> StoreResult<'a, Option<SuspendedTurn>> {
        self.faulty.any_suspended(turn)
    }

    fn health(&self) -> Result<(), StoreError> {
        self.faulty.health()
    }
}

//! The store that stands in for one that cannot be used: the runtime serves on, degraded.

use roster_model::feed::{FeedRecord, FeedStore, TurnFeed};
use roster_model::housekeeping::{Copied, CopyRange, Erased, Housekeeping};
use roster_model::id::{AgentId, MessageId, ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::ledger::{LedgerEntry, LedgerStore, LedgerWrite, Version};
use roster_model::message::{Message, Seq, StoredMessage};
use roster_model::recall::{IndexEntry, IndexedVector, RecallStore, TextHit, Unindexed};
use roster_model::storage::{
    BeginTurn, Begun, ConversationStore, MessageQuery, NewThread, OperatorStore, Page, SaveAnswer, StoreError,
    StoreErrorKind, StoreResult, Thread, ThreadChange, ThreadQuery,
};
use roster_model::suspension::{ResumedTurn, SuspendedTurn, SuspensionStore};
use roster_model::time::Timestamp;
use roster_model::working::{MemoryScope, WorkingMemory, WorkingMemoryStore};
use serde_json::{Map, Value};

/// Answers every call with `Unavailable` and the reason it was made with.
#[derive(Debug, Clone)]
pub struct UnavailableStore {
    reason: String,
}

impl UnavailableStore {
    /// A store that cannot be used because of `reason` (for the log and the operator).
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }

    fn refusal(&self) -> StoreError {
        StoreError::new(StoreErrorKind::Unavailable, self.reason.clone())
    }

    fn refuse<T: Send + 'static>(&self) -> StoreResult<'_, T> {
        Box::pin(std::future::ready(Err(self.refusal())))
    }
}

impl ConversationStore for UnavailableStore {
    fn begin_turn(&self, _: BeginTurn) -> StoreResult<'_, Begun> {
        self.refuse()
    }

    fn save_answer(&self, _: SaveAnswer) -> StoreResult<'_, ()> {
        self.refuse()
    }

    fn tail<'a>(&'a self, _: &'a ThreadKey, _: usize, _: Option<Seq>) -> StoreResult<'a, Vec<StoredMessage>> {
        self.refuse()
    }

    fn append<'a>(&'a self, _: &'a ThreadKey, _: Vec<Message>) -> StoreResult<'a, Vec<StoredMessage>> {
        self.refuse()
    }

    fn messages<'a>(&'a self, _: &'a ThreadKey, _: MessageQuery) -> StoreResult<'a, Page<StoredMessage>> {
        self.refuse()
    }

    fn create_thread<'a>(&'a self, _: &'a ThreadKey, _: NewThread) -> StoreResult<'a, (Thread, bool)> {
        self.refuse()
    }

    fn thread<'a>(&'a self, _: &'a ThreadKey) -> StoreResult<'a, Option<Thread>> {
        self.refuse()
    }

    fn threads<'a>(&'a self, _: &'a ResourceId, _: ThreadQuery) -> StoreResult<'a, Page<Thread>> {
        self.refuse()
    }

    fn update_thread<'a>(&'a self, _: &'a ThreadKey, _: ThreadChange) -> StoreResult<'a, Thread> {
        self.refuse()
    }

    fn delete_thread<'a>(&'a self, _: &'a ThreadKey) -> StoreResult<'a, bool> {
        self.refuse()
    }
}

impl SuspensionStore for UnavailableStore {
    fn suspended_turn<'a>(&'a self, _: &'a ResourceId, _: &'a TurnId) -> StoreResult<'a, Option<SuspendedTurn>> {
        self.refuse()
    }

    fn suspended_turns<'a>(&'a self, _: &'a ResourceId, _: usize) -> StoreResult<'a, Vec<SuspendedTurn>> {
        self.refuse()
    }

    fn resume_turn<'a>(&'a self, _: &'a ResourceId, _: &'a TurnId) -> StoreResult<'a, ResumedTurn> {
        self.refuse()
    }
}

impl OperatorStore for UnavailableStore {
    fn all_suspended(&self, _: usize) -> StoreResult<'_, Vec<SuspendedTurn>> {
        self.refuse()
    }

    fn any_suspended<'a>(&'a self, _: &'a TurnId) -> StoreResult<'a, Option<SuspendedTurn>> {
        self.refuse()
    }

    fn owners<'a>(&'a self, _: &'a ThreadId, _: usize) -> StoreResult<'a, Vec<ResourceId>> {
        self.refuse()
    }

    fn owners_of_message<'a>(&'a self, _: &'a MessageId, _: usize) -> StoreResult<'a, Vec<ResourceId>> {
        self.refuse()
    }

    fn health(&self) -> Result<(), StoreError> {
        Err(self.refusal())
    }
}

impl LedgerStore for UnavailableStore {
    fn write(&self, _: LedgerWrite) -> StoreResult<'_, ()> {
        self.refuse()
    }

    fn last_served<'a>(&'a self, _: &'a AgentId) -> StoreResult<'a, Option<Version>> {
        self.refuse()
    }

    fn are_served_last(&self, _: Vec<(AgentId, String)>) -> StoreResult<'_, Vec<bool>> {
        self.refuse()
    }

    fn version<'a>(&'a self, _: &'a AgentId, _: &'a str) -> StoreResult<'a, Option<Version>> {
        self.refuse()
    }

    fn history<'a>(&'a self, _: &'a AgentId, _: usize) -> StoreResult<'a, Vec<LedgerEntry>> {
        self.refuse()
    }

    fn pin<'a>(&'a self, _: &'a AgentId, _: Option<String>) -> StoreResult<'a, ()> {
        self.refuse()
    }

    fn pins(&self) -> StoreResult<'_, Vec<Version>> {
        self.refuse()
    }
}

impl WorkingMemoryStore for UnavailableStore {
    fn working_memory<'a>(&'a self, _: &'a MemoryScope) -> StoreResult<'a, Option<WorkingMemory>> {
        self.refuse()
    }

    fn set_working_memory<'a>(&'a self, _: &'a MemoryScope, _: Option<String>, _: u64) -> StoreResult<'a, u64> {
        self.refuse()
    }
}

impl RecallStore for UnavailableStore {
    fn index<'a>(&'a self, _: &'a ThreadKey, _: &'a str, _: Vec<IndexEntry>) -> StoreResult<'a, ()> {
        self.refuse()
    }

    fn vectors<'a>(
        &'a self,
        _: &'a ResourceId,
        _: Option<&'a ThreadId>,
        _: &'a str,
        _: u64,
        _: usize,
    ) -> StoreResult<'a, (Vec<IndexedVector>, Option<u64>)> {
        self.refuse()
    }

    fn find_words<'a>(
        &'a self,
        _: &'a ResourceId,
        _: Option<&'a ThreadId>,
        _: &'a [String],
        _: usize,
    ) -> StoreResult<'a, Vec<TextHit>> {
        self.refuse()
    }

    fn around<'a>(&'a self, _: &'a ThreadKey, _: Seq, _: usize, _: usize) -> StoreResult<'a, Vec<StoredMessage>> {
        self.refuse()
    }

    fn unindexed<'a>(&'a self, _: &'a ResourceId, _: &'a str, _: usize) -> StoreResult<'a, Vec<Unindexed>> {
        self.refuse()
    }

    fn index_version(&self, _: &ResourceId) -> u64 {
        0
    }
}

impl FeedStore for UnavailableStore {
    fn put_feed(&self, _: Vec<TurnFeed>, _: Timestamp) -> StoreResult<'_, ()> {
        self.refuse()
    }

    fn feed<'a>(&'a self, _: &'a ThreadKey, _: Option<&'a TurnId>) -> StoreResult<'a, Vec<FeedRecord>> {
        self.refuse()
    }
}

impl Housekeeping for UnavailableStore {
    fn copy_thread<'a>(
        &'a self,
        _: &'a ThreadKey,
        _: &'a ThreadId,
        _: NewThread,
        _: CopyRange,
    ) -> StoreResult<'a, Copied> {
        self.refuse()
    }

    fn transfer_thread<'a>(&'a self, _: &'a ThreadKey, _: &'a ResourceId) -> StoreResult<'a, Thread> {
        self.refuse()
    }

    fn delete_messages<'a>(&'a self, _: &'a ThreadKey, _: Vec<MessageId>) -> StoreResult<'a, u64> {
        self.refuse()
    }

    fn threads_of_messages<'a>(
        &'a self,
        _: &'a ResourceId,
        _: Vec<MessageId>,
    ) -> StoreResult<'a, Vec<(ThreadId, MessageId)>> {
        self.refuse()
    }

    fn erase<'a>(&'a self, _: &'a ResourceId) -> StoreResult<'a, Erased> {
        self.refuse()
    }

    fn delete_if_empty<'a>(&'a self, _: &'a Thread) -> StoreResult<'a, bool> {
        self.refuse()
    }

    fn merge_metadata<'a>(&'a self, _: &'a ThreadKey, _: Map<String, Value>) -> StoreResult<'a, Thread> {
        self.refuse()
    }

    fn set_title_if_empty<'a>(&'a self, _: &'a ThreadKey, _: String) -> StoreResult<'a, bool> {
        self.refuse()
    }
}

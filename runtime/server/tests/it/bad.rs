//! A store that always fails, or that nobody may touch.

use roster_model::feed::{FeedRecord, FeedStore, TurnFeed};
use roster_model::housekeeping::{Copied, CopyRange, Erased, Housekeeping};
use roster_model::id::{MessageId, ResourceId, ThreadId, ThreadKey, TurnId};
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

/// A store that fails every call with one kind, or that nobody may touch.
pub(crate) struct Bad(pub(crate) Option<StoreErrorKind>);

impl Bad {
    fn fail<T: Send + 'static>(&self) -> StoreResult<'_, T> {
        let kind = self.0.expect("an agent without memory touched the store");
        Box::pin(std::future::ready(Err(StoreError::new(kind, "/secret/path: disk I/O error"))))
    }
}

impl ConversationStore for Bad {
    fn begin_turn(&self, _: BeginTurn) -> StoreResult<'_, Begun> {
        self.fail()
    }
    fn save_answer(&self, _: SaveAnswer) -> StoreResult<'_, ()> {
        self.fail()
    }
    fn tail<'a>(&'a self, _: &'a ThreadKey, _: usize, _: Option<Seq>) -> StoreResult<'a, Vec<StoredMessage>> {
        self.fail()
    }
    fn append<'a>(&'a self, _: &'a ThreadKey, _: Vec<Message>) -> StoreResult<'a, Vec<StoredMessage>> {
        self.fail()
    }
    fn messages<'a>(&'a self, _: &'a ThreadKey, _: MessageQuery) -> StoreResult<'a, Page<StoredMessage>> {
        self.fail()
    }
    fn create_thread<'a>(&'a self, _: &'a ThreadKey, _: NewThread) -> StoreResult<'a, (Thread, bool)> {
        self.fail()
    }
    fn thread<'a>(&'a self, _: &'a ThreadKey) -> StoreResult<'a, Option<Thread>> {
        self.fail()
    }
    fn threads<'a>(&'a self, _: &'a ResourceId, _: ThreadQuery) -> StoreResult<'a, Page<Thread>> {
        self.fail()
    }
    fn update_thread<'a>(&'a self, _: &'a ThreadKey, _: ThreadChange) -> StoreResult<'a, Thread> {
        self.fail()
    }
    fn delete_thread<'a>(&'a self, _: &'a ThreadKey) -> StoreResult<'a, bool> {
        self.fail()
    }
}

impl SuspensionStore for Bad {
    fn suspended_turn<'a>(&'a self, _: &'a ResourceId, _: &'a TurnId) -> StoreResult<'a, Option<SuspendedTurn>> {
        self.fail()
    }
    fn suspended_turns<'a>(&'a self, _: &'a ResourceId, _: usize) -> StoreResult<'a, Vec<SuspendedTurn>> {
        self.fail()
    }
    fn resume_turn<'a>(&'a self, _: &'a ResourceId, _: &'a TurnId) -> StoreResult<'a, ResumedTurn> {
        self.fail()
    }
}

impl OperatorStore for Bad {
    fn all_suspended(&self, _: usize) -> StoreResult<'_, Vec<SuspendedTurn>> {
        self.fail()
    }
    fn any_suspended<'a>(&'a self, _: &'a TurnId) -> StoreResult<'a, Option<SuspendedTurn>> {
        self.fail()
    }
    fn owners<'a>(&'a self, _: &'a ThreadId, _: usize) -> StoreResult<'a, Vec<ResourceId>> {
        self.fail()
    }
    fn owners_of_message<'a>(&'a self, _: &'a MessageId, _: usize) -> StoreResult<'a, Vec<ResourceId>> {
        self.fail()
    }
    fn health(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl WorkingMemoryStore for Bad {
    fn working_memory<'a>(&'a self, _: &'a MemoryScope) -> StoreResult<'a, Option<WorkingMemory>> {
        self.fail()
    }
    fn set_working_memory<'a>(&'a self, _: &'a MemoryScope, _: Option<String>, _: u64) -> StoreResult<'a, u64> {
        self.fail()
    }
}

impl RecallStore for Bad {
    fn index<'a>(&'a self, _: &'a ThreadKey, _: &'a str, _: Vec<IndexEntry>) -> StoreResult<'a, ()> {
        self.fail()
    }
    fn vectors<'a>(
        &'a self,
        _: &'a ResourceId,
        _: Option<&'a ThreadId>,
        _: &'a str,
        _: u64,
        _: usize,
    ) -> StoreResult<'a, (Vec<IndexedVector>, Option<u64>)> {
        self.fail()
    }
    fn find_words<'a>(
        &'a self,
        _: &'a ResourceId,
        _: Option<&'a ThreadId>,
        _: &'a [String],
        _: usize,
    ) -> StoreResult<'a, Vec<TextHit>> {
        self.fail()
    }
    fn around<'a>(&'a self, _: &'a ThreadKey, _: Seq, _: usize, _: usize) -> StoreResult<'a, Vec<StoredMessage>> {
        self.fail()
    }
    fn unindexed<'a>(&'a self, _: &'a ResourceId, _: &'a str, _: usize) -> StoreResult<'a, Vec<Unindexed>> {
        self.fail()
    }
    fn index_version(&self, _: &ResourceId) -> u64 {
        0
    }
}

impl FeedStore for Bad {
    fn put_feed(&self, _: Vec<TurnFeed>, _: Timestamp) -> StoreResult<'_, ()> {
        self.fail()
    }
    fn feed<'a>(&'a self, _: &'a ThreadKey, _: Option<&'a TurnId>) -> StoreResult<'a, Vec<FeedRecord>> {
        self.fail()
    }
}

impl Housekeeping for Bad {
    fn copy_thread<'a>(
        &'a self,
        _: &'a ThreadKey,
        _: &'a ThreadId,
        _: NewThread,
        _: CopyRange,
    ) -> StoreResult<'a, Copied> {
        self.fail()
    }
    fn transfer_thread<'a>(&'a self, _: &'a ThreadKey, _: &'a ResourceId) -> StoreResult<'a, Thread> {
        self.fail()
    }
    fn delete_messages<'a>(&'a self, _: &'a ThreadKey, _: Vec<MessageId>) -> StoreResult<'a, u64> {
        self.fail()
    }
    fn threads_of_messages<'a>(
        &'a self,
        _: &'a ResourceId,
        _: Vec<MessageId>,
    ) -> StoreResult<'a, Vec<(ThreadId, MessageId)>> {
        self.fail()
    }
    fn erase<'a>(&'a self, _: &'a ResourceId) -> StoreResult<'a, Erased> {
        self.fail()
    }
    fn delete_if_empty<'a>(&'a self, _: &'a Thread) -> StoreResult<'a, bool> {
        self.fail()
    }
    fn merge_metadata<'a>(&'a self, _: &'a ThreadKey, _: Map<String, Value>) -> StoreResult<'a, Thread> {
        self.fail()
    }
    fn set_title_if_empty<'a>(&'a self, _: &'a ThreadKey, _: String) -> StoreResult<'a, bool> {
        self.fail()
    }
}

//! The store that stands in for one that cannot be used: the runtime serves on, degraded.

use roster_model::id::{ResourceId, ThreadId, ThreadKey};
use roster_model::message::{Message, Seq, StoredMessage};
use roster_model::storage::{
    BeginTurn, Begun, ConversationStore, MessageQuery, NewThread, OperatorStore, Page, SaveAnswer, StoreError,
    StoreErrorKind, StoreResult, Thread, ThreadChange, ThreadQuery,
};

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

impl OperatorStore for UnavailableStore {
    fn owners<'a>(&'a self, _: &'a ThreadId, _: usize) -> StoreResult<'a, Vec<ResourceId>> {
        self.refuse()
    }

    fn health(&self) -> Result<(), StoreError> {
        Err(self.refusal())
    }
}

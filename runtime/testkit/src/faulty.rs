//! A store that fails one chosen call, before or after its effect: for proving that no failure loses what was
//! acknowledged or leaves half a turn.

mod ledger;
mod session;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use roster_model::BoxFuture;
use roster_model::id::{MessageId, ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::message::{Message, Seq, StoredMessage};
use roster_model::storage::{
    BeginTurn, Begun, ConversationStore, MessageQuery, NewThread, OperatorStore, Page, SaveAnswer, StoreError,
    StoreErrorKind, StoreResult, Thread, ThreadChange, ThreadQuery,
};

use roster_model::suspension::SuspendedTurn;

use crate::suite::conversation::Store;

pub use ledger::FaultyLedger;
pub use session::FaultySession;

/// When the chosen call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// It never reaches the store.
    Before,
    /// It is done, and its caller is told that it failed.
    After,
}

/// Which call fails, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The first call is 0. Every call of [`ConversationStore`], or of the ledger, counts.
    pub nth: usize,
    /// Before or after its effect.
    pub when: When,
    /// The kind of error given.
    pub kind: StoreErrorKind,
}

/// Counts calls and fails one of them.
pub(crate) struct Striker {
    fault: Fault,
    calls: AtomicUsize,
}

impl Striker {
    pub(crate) fn new(fault: Fault) -> Self {
        Self { fault, calls: AtomicUsize::new(0) }
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn strike(&self) -> Option<When> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        (call == self.fault.nth).then_some(self.fault.when)
    }

    fn error(&self) -> StoreError {
        StoreError::new(self.fault.kind, "injected fault")
    }

    /// Lets the call through, or fails it.
    pub(crate) fn pass<'a, T: Send + 'a>(&'a self, call: BoxFuture<'a, Result<T, StoreError>>) -> StoreResult<'a, T> {
        let strike = self.strike();
        Box::pin(async move {
            match strike {
                None => call.await,
                Some(When::Before) => Err(self.error()),
                Some(When::After) => {
                    call.await?;
                    Err(self.error())
                }
            }
        })
    }
}

/// A store with one fault.
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    striker: Striker,
}

impl FaultyStore {
    /// Puts the fault in front of a store.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>, fault: Fault) -> Self {
        Self { inner, striker: Striker::new(fault) }
    }

    /// How many calls were made so far. At most `nth`: the fault has not struck yet.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.striker.calls()
    }

    fn pass<'a, T: Send + 'a>(&'a self, call: BoxFuture<'a, Result<T, StoreError>>) -> StoreResult<'a, T> {
        self.striker.pass(call)
    }
}

impl ConversationStore for FaultyStore {
    /// A turn whose caller is told that it failed is given up, as a store gives up a turn nobody waits for.
    fn begin_turn(&self, begin: BeginTurn) -> StoreResult<'_, Begun> {
        let given_up = SaveAnswer { key: begin.key.clone(), turn: begin.turn.clone(), message: None, last: true };
        let call: StoreResult<'_, Begun> = Box::pin(async move {
            let begun = self.inner.begin_turn(begin).await?;
            let fault = self.striker.fault;
            if fault.when == When::After && self.calls() == fault.nth + 1 {
                self.inner.save_answer(given_up).await?;
            }
            Ok(begun)
        });
        self.pass(call)
    }

    fn save_answer(&self, save: SaveAnswer) -> StoreResult<'_, ()> {
        self.pass(self.inner.save_answer(save))
    }

    fn tail<'a>(
        &'a self,
        key: &'a ThreadKey,
        limit: usize,
        before: Option<Seq>,
    ) -> StoreResult<'a, Vec<StoredMessage>> {
        self.pass(self.inner.tail(key, limit, before))
    }

    fn append<'a>(&'a self, key: &'a ThreadKey, messages: Vec<Message>) -> StoreResult<'a, Vec<StoredMessage>> {
        self.pass(self.inner.append(key, messages))
    }

    fn messages<'a>(&'a self, key: &'a ThreadKey, query: MessageQuery) -> StoreResult<'a, Page<StoredMessage>> {
        self.pass(self.inner.messages(key, query))
    }

    fn create_thread<'a>(&'a self, key: &'a ThreadKey, new: NewThread) -> StoreResult<'a, (Thread, bool)> {
        self.pass(self.inner.create_thread(key, new))
    }

    fn thread<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, Option<Thread>> {
        self.pass(self.inner.thread(key))
    }

    fn threads<'a>(&'a self, resource: &'a ResourceId, query: ThreadQuery) -> StoreResult<'a, Page<Thread>> {
        self.pass(self.inner.threads(resource, query))
    }

    fn update_thread<'a>(&'a self, key: &'a ThreadKey, change: ThreadChange) -> StoreResult<'a, Thread> {
        self.pass(self.inner.update_thread(key, change))
    }

    fn delete_thread<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, bool> {
        self.pass(self.inner.delete_thread(key))
    }
}

impl OperatorStore for FaultyStore {
    fn owners<'a>(&'a self, thread: &'a ThreadId, limit: usize) -> StoreResult<'a, Vec<ResourceId>> {
        self.inner.owners(thread, limit)
    }

    fn owners_of_message<'a>(&'a self, message: &'a MessageId, limit: usize) -> StoreResult<'a, Vec<ResourceId>> {
        self.inner.owners_of_message(message, limit)
    }

    fn all_suspended(&self, limit: usize) -> StoreResult<'_, Vec<SuspendedTurn>> {
        self.inner.all_suspended(limit)
    }

    fn any_suspended<'a>(&'a self, turn: &'a TurnId) -> StoreResult<'a, Option<SuspendedTurn>> {
        self.inner.any_suspended(turn)
    }

    fn health(&self) -> Result<(), StoreError> {
        self.inner.health()
    }
}

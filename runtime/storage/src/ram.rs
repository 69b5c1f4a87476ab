//! Session memory and the ledger in RAM, for tests: the rules of the stores and nothing else. Forgets when dropped.

mod housekeeping;
mod ledger;
mod memory;
mod recall;
mod state;
mod suspension;

use std::sync::{Arc, Mutex};

use roster_model::id::{IdSource, MessageId, ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::message::{Message, Seq, StoredMessage};
use roster_model::storage::{
    BeginTurn, Begun, ConversationStore, MessageQuery, NewThread, OperatorStore, Page, SaveAnswer, StoreError,
    StoreResult, Thread, ThreadChange, ThreadQuery,
};
use roster_model::suspension::SuspendedTurn;
use roster_model::time::Clock;

use crate::ids::RandomIds;
use crate::line::{Lines, lock};
use state::{State, Taken};

/// The RAM store. Share it as an `Arc`.
pub struct RamStore {
    clock: Arc<dyn Clock>,
    /// Ids of copied messages.
    ids: Arc<dyn IdSource>,
    state: Mutex<State>,
    lines: Arc<Lines>,
    ledger: Mutex<ledger::Ledger>,
}

impl RamStore {
    /// An empty store; `clock` dates threads and their changes.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let ids = Arc::new(RandomIds);
        Self { clock, ids, state: Mutex::default(), lines: Arc::default(), ledger: Mutex::default() }
    }

    /// The same with ids of copied messages from `ids` instead of random ones.
    #[must_use]
    pub fn with_ids(self, ids: Arc<dyn IdSource>) -> Self {
        Self { ids, ..self }
    }

    async fn begin(&self, begin: BeginTurn) -> Result<Begun, StoreError> {
        let place = self.lines.enter(&begin.key).await;
        loop {
            let now = self.clock.now();
            let taken = lock(&self.state).begin(&begin, now, &|turn| self.lines.is_live(turn), || {
                self.lines.hold(&begin.key, &begin.turn).keep();
            })?;
            match taken {
                Taken::Begun(begun) => return Ok(begun),
                Taken::Held => place.freed().await,
            }
        }
    }

    /// Lazy, as every store is: nothing happens before the future is polled.
    fn with<'a, T: 'a>(
        &'a self,
        work: impl FnOnce(&mut State) -> Result<T, StoreError> + Send + 'a,
    ) -> StoreResult<'a, T> {
        Box::pin(async move { work(&mut lock(&self.state)) })
    }
}

impl ConversationStore for RamStore {
    fn begin_turn(&self, begin: BeginTurn) -> StoreResult<'_, Begun> {
        Box::pin(self.begin(begin))
    }

    fn save_answer(&self, save: SaveAnswer) -> StoreResult<'_, ()> {
        Box::pin(async move {
            let _release = save.last.then(|| self.lines.releasing(&save.key, &save.turn));
            lock(&self.state).save(&save, self.clock.now())
        })
    }

    fn tail<'a>(
        &'a self,
        key: &'a ThreadKey,
        limit: usize,
        before: Option<Seq>,
    ) -> StoreResult<'a, Vec<StoredMessage>> {
        self.with(move |state| Ok(state.tail(key, limit, before)))
    }

    fn append<'a>(&'a self, key: &'a ThreadKey, messages: Vec<Message>) -> StoreResult<'a, Vec<StoredMessage>> {
        self.with(move |state| state.append(key, messages, self.clock.now()))
    }

    fn messages<'a>(&'a self, key: &'a ThreadKey, query: MessageQuery) -> StoreResult<'a, Page<StoredMessage>> {
        self.with(move |state| state.messages(key, &query))
    }

    fn create_thread<'a>(&'a self, key: &'a ThreadKey, new: NewThread) -> StoreResult<'a, (Thread, bool)> {
        self.with(move |state| Ok(state.create(key, &new, self.clock.now())))
    }

    fn thread<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, Option<Thread>> {
        self.with(move |state| Ok(state.thread(key)))
    }

    fn threads<'a>(&'a self, resource: &'a ResourceId, query: ThreadQuery) -> StoreResult<'a, Page<Thread>> {
        self.with(move |state| state.threads(resource, &query))
    }

    fn update_thread<'a>(&'a self, key: &'a ThreadKey, change: ThreadChange) -> StoreResult<'a, Thread> {
        self.with(move |state| state.update(key, change, self.clock.now()))
    }

    fn delete_thread<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, bool> {
        self.with(move |state| {
            let deleted = state.delete(key);
            for key in &deleted {
                self.lines.freed(key);
            }
            Ok(!deleted.is_empty())
        })
    }
}

impl OperatorStore for RamStore {
    fn owners<'a>(&'a self, thread: &'a ThreadId, limit: usize) -> StoreResult<'a, Vec<ResourceId>> {
        self.with(move |state| Ok(state.owners(thread, limit)))
    }

    fn owners_of_message<'a>(&'a self, message: &'a MessageId, limit: usize) -> StoreResult<'a, Vec<ResourceId>> {
        self.with(move |state| Ok(state.owners_of_message(message, limit)))
    }

    fn all_suspended(&self, limit: usize) -> StoreResult<'_, Vec<SuspendedTurn>> {
        self.with(move |state| Ok(state.all_suspended(None, limit, self.clock.now())))
    }

    fn any_suspended<'a>(&'a self, turn: &'a TurnId) -> StoreResult<'a, Option<SuspendedTurn>> {
        self.with(move |state| Ok(state.suspended(None, turn)))
    }

    fn health(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

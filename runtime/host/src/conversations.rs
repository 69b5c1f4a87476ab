//! The conversations of a process as the doors see them: the runtime's own store, and beside it the memories that
//! plugins keep. An agent's turns ask its own memory; the doors ask here, so that no thread is out of sight.

mod list;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use roster_model::feed::{FeedRecord, FeedStore, TurnFeed};
use roster_model::housekeeping::{Copied, CopyRange, Erased, Housekeeping, SessionStore};
use roster_model::id::{MessageId, ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::message::{Message, Seq, StoredMessage};
use roster_model::recall::{IndexEntry, IndexedVector, RecallStore, TextHit, Unindexed};
use roster_model::storage::{
    BeginTurn, Begun, ConversationStore, MessageQuery, NewThread, Page, SaveAnswer, StoreError, StoreErrorKind,
    StoreResult, Thread, ThreadChange, ThreadQuery,
};
use roster_model::suspension::{ResumedTurn, SuspendedTurn, SuspensionStore};
use roster_model::time::Timestamp;
use roster_model::working::{MemoryScope, WorkingMemory, WorkingMemoryStore};
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::plugins::PluginHost;

/// A store.
type Store = Arc<dyn SessionStore>;

/// How long a plugin may take to say whether it has a thread.
const SOON: Duration = Duration::from_secs(3);

/// The answer of a store that may hang.
pub(crate) async fn soon<T>(answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let late = |_| Err(StoreError::new(StoreErrorKind::Unavailable, "a plugin's memory does not answer"));
    timeout(SOON, answer).await.unwrap_or_else(late)
}

/// All conversations of a process.
pub(crate) struct Conversations {
    own: Store,
    plugins: Arc<PluginHost>,
}

impl Conversations {
    /// Over the runtime's own store and whatever plugins keep for agents.
    #[must_use]
    pub(crate) fn new(own: Store, plugins: Arc<PluginHost>) -> Self {
        Self { own, plugins }
    }

    fn others(&self) -> Vec<Store> {
        self.plugins.memories.all().into_iter().map(|memory| memory as Store).collect()
    }

    /// The store that has the thread; the runtime's own for a thread that is nowhere. While a memory cannot be asked, a
    /// thread that is nowhere else may be there: that is said, instead of that there is none.
    async fn home(&self, key: &ThreadKey) -> Result<Store, StoreError> {
        let others = self.others();
        // An empty one of ours may have been made before its conversation was begun elsewhere.
        let is_ours = |thread: Thread| thread.message_count > 0;
        if others.is_empty() || self.own.thread(key).await?.is_some_and(is_ours) {
            return Ok(Arc::clone(&self.own));
        }
        let answers = join_all(others.iter().map(|other| soon(other.thread(key)))).await;
        let mut silent = None;
        for (other, answer) in others.into_iter().zip(answers) {
            match answer {
                Ok(Some(_)) => return Ok(other),
                Ok(None) => {}
                Err(error) => silent = Some(error),
            }
        }
        silent.map_or_else(|| Ok(Arc::clone(&self.own)), Err)
    }

    /// Made where it is, else in the runtime's own store: also while a memory is silent, since an empty one hides nothing.
    async fn create(&self, key: &ThreadKey, new: NewThread) -> Result<(Thread, bool), StoreError> {
        let home = self.home(key).await.unwrap_or_else(|_| Arc::clone(&self.own));
        home.create_thread(key, new).await
    }

    /// Threads of sub-agents may be in other stores than their parent. Those that may fail first: who is told of a
    /// failure asks again, and finds the rest.
    async fn delete_everywhere(&self, key: &ThreadKey) -> Result<bool, StoreError> {
        let mut deleted = false;
        for store in self.others().into_iter().chain([Arc::clone(&self.own)]) {
            deleted |= store.delete_thread(key).await?;
        }
        Ok(deleted)
    }

    async fn home_of(&self, scope: &MemoryScope) -> Result<Store, StoreError> {
        match scope {
            MemoryScope::Thread(key) => self.home(key).await,
            MemoryScope::Resource(_) => Ok(Arc::clone(&self.own)),
        }
    }

    async fn erase_all(&self, resource: &ResourceId) -> Result<Erased, StoreError> {
        let mut all = Erased::default();
        // Those that may fail first: who is told of a failure asks again, and finds the rest.
        let unopened = self.plugins.unopened(&self.own).await?.into_iter().map(|memory| memory as Store);
        for store in self.others().into_iter().chain(unopened).chain([Arc::clone(&self.own)]) {
            let erased = store.erase(resource).await?;
            all.threads += erased.threads;
            all.messages += erased.messages;
            all.index_entries += erased.index_entries;
            all.working_memories += erased.working_memories;
        }
        Ok(all)
    }
}

/// Asks the store that has the thread.
macro_rules! at_home {
    ($self:ident, $key:expr, $method:ident($($argument:expr),*)) => {
        Box::pin(async move { $self.home($key).await?.$method($($argument),*).await })
    };
}

impl ConversationStore for Conversations {
    fn begin_turn(&self, begin: BeginTurn) -> StoreResult<'_, Begun> {
        at_home!(self, &begin.key, begin_turn(begin))
    }

    fn save_answer(&self, save: SaveAnswer) -> StoreResult<'_, ()> {
        at_home!(self, &save.key, save_answer(save))
    }

    fn tail<'a>(
        &'a self,
        key: &'a ThreadKey,
        limit: usize,
        before: Option<Seq>,
    ) -> StoreResult<'a, Vec<StoredMessage>> {
        at_home!(self, key, tail(key, limit, before))
    }

    fn append<'a>(&'a self, key: &'a ThreadKey, messages: Vec<Message>) -> StoreResult<'a, Vec<StoredMessage>> {
        at_home!(self, key, append(key, messages))
    }

    fn messages<'a>(&'a self, key: &'a ThreadKey, query: MessageQuery) -> StoreResult<'a, Page<StoredMessage>> {
        at_home!(self, key, messages(key, query))
    }

    fn create_thread<'a>(&'a self, key: &'a ThreadKey, new: NewThread) -> StoreResult<'a, (Thread, bool)> {
        Box::pin(self.create(key, new))
    }

    fn thread<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, Option<Thread>> {
        at_home!(self, key, thread(key))
    }

    fn threads<'a>(&'a self, resource: &'a ResourceId, query: ThreadQuery) -> StoreResult<'a, Page<Thread>> {
        Box::pin(async move {
            let others = self.others();
            if others.is_empty() {
                return self.own.threads(resource, query).await;
            }
            let stores: Vec<Store> = [Arc::clone(&self.own)].into_iter().chain(others).collect();
            list::threads(&stores, resource, query).await
        })
    }

    fn update_thread<'a>(&'a self, key: &'a ThreadKey, change: ThreadChange) -> StoreResult<'a, Thread> {
        at_home!(self, key, update_thread(key, change))
    }

    fn delete_thread<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, bool> {
        Box::pin(self.delete_everywhere(key))
    }
}

/// A resource's own working memory is its agent's affair: who knows the agent asks the agent's memory.
impl WorkingMemoryStore for Conversations {
    fn working_memory<'a>(&'a self, scope: &'a MemoryScope) -> StoreResult<'a, Option<WorkingMemory>> {
        Box::pin(async move { self.home_of(scope).await?.working_memory(scope).await })
    }

    fn set_working_memory<'a>(
        &'a self,
        scope: &'a MemoryScope,
        text: Option<String>,
        seen: u64,
    ) -> StoreResult<'a, u64> {
        Box::pin(async move { self.home_of(scope).await?.set_working_memory(scope, text, seen).await })
    }
}

/// Turns wait for people in the runtime's own store only.
impl SuspensionStore for Conversations {
    fn suspended_turn<'a>(
        &'a self,
        resource: &'a ResourceId,
        turn: &'a TurnId,
    ) -> StoreResult<'a, Option<SuspendedTurn>> {
        self.own.suspended_turn(resource, turn)
    }

    fn suspended_turns<'a>(&'a self, resource: &'a ResourceId, limit: usize) -> StoreResult<'a, Vec<SuspendedTurn>> {
        self.own.suspended_turns(resource, limit)
    }

    fn resume_turn<'a>(&'a self, resource: &'a ResourceId, turn: &'a TurnId) -> StoreResult<'a, ResumedTurn> {
        self.own.resume_turn(resource, turn)
    }
}

/// The index is the runtime's own store's.
impl RecallStore for Conversations {
    fn index<'a>(&'a self, key: &'a ThreadKey, space: &'a str, entries: Vec<IndexEntry>) -> StoreResult<'a, ()> {
        self.own.index(key, space, entries)
    }

    fn vectors<'a>(
        &'a self,
        resource: &'a ResourceId,
        thread: Option<&'a ThreadId>,
        space: &'a str,
        after: u64,
        limit: usize,
    ) -> StoreResult<'a, (Vec<IndexedVector>, Option<u64>)> {
        self.own.vectors(resource, thread, space, after, limit)
    }

    fn find_words<'a>(
        &'a self,
        resource: &'a ResourceId,
        thread: Option<&'a ThreadId>,
        words: &'a [String],
        limit: usize,
    ) -> StoreResult<'a, Vec<TextHit>> {
        self.own.find_words(resource, thread, words, limit)
    }

    fn around<'a>(
        &'a self,
        key: &'a ThreadKey,
        seq: Seq,
        before: usize,
        after: usize,
    ) -> StoreResult<'a, Vec<StoredMessage>> {
        at_home!(self, key, around(key, seq, before, after))
    }

    fn unindexed<'a>(
        &'a self,
        resource: &'a ResourceId,
        space: &'a str,
        limit: usize,
    ) -> StoreResult<'a, Vec<Unindexed>> {
        self.own.unindexed(resource, space, limit)
    }

    fn index_version(&self, resource: &ResourceId) -> u64 {
        self.own.index_version(resource)
    }
}

/// Feed records are the runtime's own store's.
impl FeedStore for Conversations {
    fn put_feed(&self, turns: Vec<TurnFeed>, keep_after: Timestamp) -> StoreResult<'_, ()> {
        self.own.put_feed(turns, keep_after)
    }

    fn feed<'a>(&'a self, key: &'a ThreadKey, turn: Option<&'a TurnId>) -> StoreResult<'a, Vec<FeedRecord>> {
        self.own.feed(key, turn)
    }
}

impl Housekeeping for Conversations {
    fn copy_thread<'a>(
        &'a self,
        source: &'a ThreadKey,
        target: &'a ThreadId,
        new: NewThread,
        range: CopyRange,
    ) -> StoreResult<'a, Copied> {
        at_home!(self, source, copy_thread(source, target, new, range))
    }

    fn transfer_thread<'a>(&'a self, key: &'a ThreadKey, to: &'a ResourceId) -> StoreResult<'a, Thread> {
        at_home!(self, key, transfer_thread(key, to))
    }

    fn delete_messages<'a>(&'a self, key: &'a ThreadKey, messages: Vec<MessageId>) -> StoreResult<'a, u64> {
        at_home!(self, key, delete_messages(key, messages))
    }

    fn threads_of_messages<'a>(
        &'a self,
        resource: &'a ResourceId,
        messages: Vec<MessageId>,
    ) -> StoreResult<'a, Vec<(ThreadId, MessageId)>> {
        Box::pin(async move {
            let found = self.own.threads_of_messages(resource, messages.clone()).await?;
            let all_found = messages.iter().all(|id| found.iter().any(|(_, found)| found == id));
            // A message we do not have may be one of a plugin's, which finds none by its id alone.
            match self.others().first().filter(|_| !all_found) {
                Some(other) => other.threads_of_messages(resource, messages).await,
                None => Ok(found),
            }
        })
    }

    fn erase<'a>(&'a self, resource: &'a ResourceId) -> StoreResult<'a, Erased> {
        Box::pin(self.erase_all(resource))
    }

    fn delete_if_empty<'a>(&'a self, seen: &'a Thread) -> StoreResult<'a, bool> {
        self.own.delete_if_empty(seen)
    }

    fn merge_metadata<'a>(&'a self, key: &'a ThreadKey, change: Map<String, Value>) -> StoreResult<'a, Thread> {
        at_home!(self, key, merge_metadata(key, change))
    }

    fn set_title_if_empty<'a>(&'a self, key: &'a ThreadKey, title: String) -> StoreResult<'a, bool> {
        at_home!(self, key, set_title_if_empty(key, title))
    }
}

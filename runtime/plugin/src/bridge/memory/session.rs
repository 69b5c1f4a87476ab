//! The rest of what session memory needs of a store: what the contract has, what can be made of it, and what nobody keeps.

use roster_abi::contract::{self, SetWorking, Versioned};
use roster_model::feed::{FeedRecord, FeedStore, TurnFeed};
use roster_model::housekeeping::{Copied, CopyRange, Erased, Housekeeping};
use roster_model::id::{MessageId, ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::message::{Seq, StoredMessage};
use roster_model::recall::{IndexEntry, IndexedVector, RecallStore, TextHit, Unindexed};
use roster_model::storage::{NewThread, OperatorStore, StoreError, StoreErrorKind, StoreResult, Thread, ThreadChange};
use roster_model::suspension::{ResumedTurn, SuspendedTurn, SuspensionStore};
use roster_model::time::Timestamp;
use roster_model::working::{MemoryScope, WorkingMemory, WorkingMemoryStore};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::store::{PluginMemory, asked};
use super::told;

#[derive(Deserialize)]
struct Read {
    memory: Option<contract::Working>,
}

fn of(scope: &MemoryScope) -> contract::Of {
    match scope {
        MemoryScope::Thread(key) => told::of(key),
        MemoryScope::Resource(resource) => {
            contract::Of { handle: String::new(), resource: resource.to_string(), thread: String::new() }
        }
    }
}

impl PluginMemory {
    async fn read(&self, scope: &MemoryScope) -> Result<Option<contract::Working>, StoreError> {
        let read = self.inner.handle.ask::<Read>("working_memory.get", of(scope)).await;
        read.map(|read| read.memory).map_err(|error| self.inner.failed(&error))
    }

    async fn set(&self, scope: &MemoryScope, text: Option<String>, seen: u64) -> Result<u64, StoreError> {
        let contract::Of { handle, resource, thread } = of(scope);
        let input = SetWorking { handle, resource, thread, text: text.clone(), seen };
        let (outcome, again) = self.inner.handle.ask_told::<Versioned>("working_memory.set", input).await;
        let error = match outcome {
            Ok(written) => return Ok(written.version),
            Err(error) => self.inner.failed(&error),
        };
        // The first try may have been the one that wrote, before the plugin's process died.
        if error.kind == StoreErrorKind::Conflict && again {
            let there = self.read(scope).await?;
            if there.is_none() && text.is_none() {
                return Ok(seen + 1);
            }
            if let Some(there) = there.filter(|there| there.version > seen && Some(&there.text) == text.as_ref()) {
                return Ok(there.version);
            }
        }
        Err(error)
    }

    fn unsupported<T: Send + 'static>(&self, what: &str) -> StoreResult<'static, T> {
        let text = format!("the memory `{}` of a plugin {what}", self.name());
        Box::pin(async move { Err(StoreError::new(StoreErrorKind::Unsupported, text)) })
    }
}

impl WorkingMemoryStore for PluginMemory {
    fn working_memory<'a>(&'a self, scope: &'a MemoryScope) -> StoreResult<'a, Option<WorkingMemory>> {
        Box::pin(async move {
            let found = self.read(scope).await?;
            Ok(found.map(|contract::Working { text, version, updated_at }| WorkingMemory {
                text,
                version,
                updated_at: Timestamp::from_millis(updated_at),
            }))
        })
    }

    fn set_working_memory<'a>(
        &'a self,
        scope: &'a MemoryScope,
        text: Option<String>,
        seen: u64,
    ) -> StoreResult<'a, u64> {
        Box::pin(self.set(scope, text, seen))
    }
}

impl SuspensionStore for PluginMemory {
    fn suspended_turn<'a>(
        &'a self,
        resource: &'a ResourceId,
        turn: &'a TurnId,
    ) -> StoreResult<'a, Option<SuspendedTurn>> {
        Box::pin(async move { Ok(self.inner.suspended(resource, turn).await?.map(|(waiting, _)| waiting)) })
    }

    /// None: tools that need a person's approval are not given to agents with such a memory.
    fn suspended_turns<'a>(&'a self, _: &'a ResourceId, _: usize) -> StoreResult<'a, Vec<SuspendedTurn>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn resume_turn<'a>(&'a self, resource: &'a ResourceId, turn: &'a TurnId) -> StoreResult<'a, ResumedTurn> {
        Box::pin(self.inner.resume(resource, turn))
    }
}

/// The contract asks by owner only.
impl OperatorStore for PluginMemory {
    fn owners<'a>(&'a self, _: &'a ThreadId, _: usize) -> StoreResult<'a, Vec<ResourceId>> {
        self.unsupported("tells no owners")
    }

    fn owners_of_message<'a>(&'a self, _: &'a MessageId, _: usize) -> StoreResult<'a, Vec<ResourceId>> {
        self.unsupported("tells no owners")
    }

    fn all_suspended(&self, _: usize) -> StoreResult<'_, Vec<SuspendedTurn>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn any_suspended<'a>(&'a self, _: &'a TurnId) -> StoreResult<'a, Option<SuspendedTurn>> {
        Box::pin(async { Ok(None) })
    }

    fn health(&self) -> Result<(), StoreError> {
        self.inner.handle.plugin().map(|_| ()).map_err(|error| self.inner.failed(&error))
    }
}

impl RecallStore for PluginMemory {
    fn index<'a>(&'a self, _: &'a ThreadKey, _: &'a str, _: Vec<IndexEntry>) -> StoreResult<'a, ()> {
        self.unsupported("keeps no index for recall")
    }

    fn vectors<'a>(
        &'a self,
        _: &'a ResourceId,
        _: Option<&'a ThreadId>,
        _: &'a str,
        _: u64,
        _: usize,
    ) -> StoreResult<'a, (Vec<IndexedVector>, Option<u64>)> {
        self.unsupported("keeps no index for recall")
    }

    fn find_words<'a>(
        &'a self,
        _: &'a ResourceId,
        _: Option<&'a ThreadId>,
        _: &'a [String],
        _: usize,
    ) -> StoreResult<'a, Vec<TextHit>> {
        self.unsupported("keeps no index for recall")
    }

    fn around<'a>(
        &'a self,
        key: &'a ThreadKey,
        seq: Seq,
        before: usize,
        after: usize,
    ) -> StoreResult<'a, Vec<StoredMessage>> {
        Box::pin(async move {
            let last = Seq(seq.0.saturating_add(after as u64).saturating_add(1));
            let rows = self.inner.newest(key, before.saturating_add(after).saturating_add(1), Some(last)).await?;
            if !rows.iter().any(|row| row.seq == seq) {
                return Ok(Vec::new());
            }
            let first = seq.0.saturating_sub(before as u64);
            Ok(rows.into_iter().filter(|row| row.seq.0 >= first).collect())
        })
    }

    fn unindexed<'a>(&'a self, _: &'a ResourceId, _: &'a str, _: usize) -> StoreResult<'a, Vec<Unindexed>> {
        self.unsupported("keeps no index for recall")
    }

    fn index_version(&self, _: &ResourceId) -> u64 {
        0
    }
}

/// Nobody keeps the records of such a memory's turns: they hang on rows of the runtime's own store.
impl FeedStore for PluginMemory {
    fn put_feed(&self, _: Vec<TurnFeed>, _: Timestamp) -> StoreResult<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn feed<'a>(&'a self, _: &'a ThreadKey, _: Option<&'a TurnId>) -> StoreResult<'a, Vec<FeedRecord>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

impl Housekeeping for PluginMemory {
    fn copy_thread<'a>(
        &'a self,
        _: &'a ThreadKey,
        _: &'a ThreadId,
        _: NewThread,
        _: CopyRange,
    ) -> StoreResult<'a, Copied> {
        self.unsupported("copies no threads")
    }

    fn transfer_thread<'a>(&'a self, _: &'a ThreadKey, _: &'a ResourceId) -> StoreResult<'a, Thread> {
        self.unsupported("gives no thread to another owner")
    }

    fn delete_messages<'a>(&'a self, _: &'a ThreadKey, _: Vec<MessageId>) -> StoreResult<'a, u64> {
        self.unsupported("deletes whole threads only")
    }

    fn threads_of_messages<'a>(
        &'a self,
        _: &'a ResourceId,
        _: Vec<MessageId>,
    ) -> StoreResult<'a, Vec<(ThreadId, MessageId)>> {
        self.unsupported("finds no messages by their ids alone")
    }

    fn erase<'a>(&'a self, resource: &'a ResourceId) -> StoreResult<'a, Erased> {
        Box::pin(async move {
            let input = of(&MemoryScope::Resource(resource.clone()));
            let erased = self.inner.handle.ask::<contract::Erased>("erase", input).await;
            let erased = erased.map_err(|error| self.inner.failed(&error))?;
            self.inner.lines.free_all(|key| key.resource == *resource);
            Ok(Erased { threads: erased.threads, messages: erased.messages, ..Erased::default() })
        })
    }

    fn delete_if_empty<'a>(&'a self, _: &'a Thread) -> StoreResult<'a, bool> {
        self.unsupported("moves no empty threads")
    }

    fn merge_metadata<'a>(&'a self, key: &'a ThreadKey, change: Map<String, Value>) -> StoreResult<'a, Thread> {
        asked!(self, self.merged(key, change))
    }

    fn set_title_if_empty<'a>(&'a self, key: &'a ThreadKey, title: String) -> StoreResult<'a, bool> {
        asked!(self, self.titled(key, title))
    }
}

impl PluginMemory {
    /// Only the named keys; `null` removes one.
    async fn merged(&self, key: &ThreadKey, change: Map<String, Value>) -> Result<Thread, crate::call::CallError> {
        let _one = self.inner.changing.lock().await;
        let thread = self.existing(key).await?;
        if change.is_empty() {
            return Ok(thread);
        }
        let mut metadata = thread.metadata.unwrap_or_default();
        for (name, value) in change {
            if value.is_null() {
                metadata.remove(&name);
            } else {
                metadata.insert(name, value);
            }
        }
        self.inner.update(key, ThreadChange { title: None, metadata: Some(metadata) }).await
    }

    async fn titled(&self, key: &ThreadKey, title: String) -> Result<bool, crate::call::CallError> {
        let _one = self.inner.changing.lock().await;
        let thread = self.existing(key).await?;
        if !thread.title.is_empty() || title.is_empty() {
            return Ok(false);
        }
        self.inner.update(key, ThreadChange { title: Some(title), metadata: None }).await?;
        Ok(true)
    }

    async fn existing(&self, key: &ThreadKey) -> Result<Thread, crate::call::CallError> {
        let missing = || crate::call::CallError::host("not_found", "there is no such thread", false);
        self.one(key).await?.ok_or_else(missing)
    }
}

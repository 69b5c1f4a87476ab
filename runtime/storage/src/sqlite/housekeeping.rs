//! Looking after threads in SQL.

mod copies;
mod erasure;
mod messages;
mod transfer;

use std::sync::{Arc, Mutex};

use roster_model::housekeeping::{Copied, CopyRange, Erased, Housekeeping};
use roster_model::id::{MessageId, ResourceId, ThreadId, ThreadKey};
use roster_model::storage::{NewThread, StoreError, StoreErrorKind, StoreResult, Thread};
use serde_json::{Map, Value};

use super::error::{Outcome, fail};
use super::store::SqliteStore;
use super::writer::{Group, Step};
use super::{erase, recall, row, thread};
use crate::line::lock;
use crate::metadata;

/// What slices leave behind for whoever waits for them.
type Gathered<T> = Arc<Mutex<T>>;

impl SqliteStore {
    /// Runs slices that gather a result.
    async fn gather<T: Default>(&self, step: impl FnOnce(Gathered<T>) -> Step) -> Result<T, StoreError> {
        let result = Gathered::<T>::default();
        self.writer.slices(step(Arc::clone(&result))).await?;
        let gathered = std::mem::take(&mut *lock(&result));
        Ok(gathered)
    }

    async fn copy(
        &self,
        source: ThreadKey,
        target: ThreadKey,
        new: NewThread,
        range: CopyRange,
    ) -> Result<Copied, StoreError> {
        let work = copies::Copying::new(Arc::clone(&self.desk), source, target, new, range)?;
        let begun = work.begun();
        match self.gather(|result| work.step(result)).await {
            Ok(Some(copied)) => Ok(copied),
            Ok(None) => Err(StoreError::new(StoreErrorKind::Internal, "a copy ended without a thread")),
            Err(error) => {
                let half = lock(&begun).take();
                if let Some(half) = half
                    && let Err(error) = self.writer.slices(erase::purge(vec![half])).await
                {
                    tracing::warn!(%error, "a copy that failed is removed with the next opening");
                }
                Err(error)
            }
        }
    }

    async fn delete_unused(&self, seen: Thread) -> Result<bool, StoreError> {
        let key = seen.key.clone();
        let Some(number) = self.writer.write(move |group| erase::doom_if_empty(group, &seen)).await? else {
            return Ok(false);
        };
        self.desk.lines.freed(&key);
        self.writer.slices(erase::purge(vec![number])).await?;
        Ok(true)
    }

    async fn transfer(&self, key: ThreadKey, to: ResourceId) -> Result<Thread, StoreError> {
        let (desk, here) = (Arc::clone(&self.desk), key.resource.clone());
        let moved = self.writer.write(move |group| transfer::transfer(group, &desk, &key, &to)).await?;
        for thread in moved.free {
            self.desk.lines.freed(&ThreadKey { resource: here.clone(), thread });
        }
        if !moved.words.is_empty() {
            self.writer.slices(recall::move_words(moved.words)).await?;
        }
        Ok(moved.thread)
    }
}

impl Housekeeping for SqliteStore {
    fn copy_thread<'a>(
        &'a self,
        source: &'a ThreadKey,
        target: &'a ThreadId,
        new: NewThread,
        range: CopyRange,
    ) -> StoreResult<'a, Copied> {
        let target = ThreadKey { resource: source.resource.clone(), thread: target.clone() };
        Box::pin(self.copy(source.clone(), target, new, range))
    }

    fn transfer_thread<'a>(&'a self, key: &'a ThreadKey, to: &'a ResourceId) -> StoreResult<'a, Thread> {
        Box::pin(self.transfer(key.clone(), to.clone()))
    }

    fn delete_messages<'a>(&'a self, key: &'a ThreadKey, messages: Vec<MessageId>) -> StoreResult<'a, u64> {
        let key = key.clone();
        Box::pin(async move {
            let now = self.now();
            self.gather(|count| messages::delete(key, messages, now, count)).await
        })
    }

    fn threads_of_messages<'a>(
        &'a self,
        resource: &'a ResourceId,
        messages: Vec<MessageId>,
    ) -> StoreResult<'a, Vec<(ThreadId, MessageId)>> {
        let resource = resource.clone();
        Box::pin(self.readers.read(move |connection| messages::threads(connection, &resource, messages)))
    }

    fn erase<'a>(&'a self, resource: &'a ResourceId) -> StoreResult<'a, Erased> {
        let (desk, resource) = (Arc::clone(&self.desk), resource.clone());
        Box::pin(self.gather(|erased| erasure::step(desk, resource, erased)))
    }

    fn delete_if_empty<'a>(&'a self, seen: &'a Thread) -> StoreResult<'a, bool> {
        Box::pin(self.delete_unused(seen.clone()))
    }

    fn merge_metadata<'a>(&'a self, key: &'a ThreadKey, change: Map<String, Value>) -> StoreResult<'a, Thread> {
        let key = key.clone();
        Box::pin(async move {
            let now = self.now();
            self.writer.write(move |group| merge(group, &key, change, now)).await
        })
    }

    fn set_title_if_empty<'a>(&'a self, key: &'a ThreadKey, title: String) -> StoreResult<'a, bool> {
        let key = key.clone();
        Box::pin(async move {
            let now = self.now();
            self.writer.write(move |group| title_if_empty(group, &key, &title, now)).await
        })
    }
}

/// A thread that must be there.
fn get(group: &Group<'_>, key: &ThreadKey) -> Outcome<Thread> {
    match thread::get(group.connection, key)? {
        Some(thread) => Ok(thread),
        None => fail(StoreErrorKind::NotFound, "no such thread"),
    }
}

fn merge(group: &mut Group<'_>, key: &ThreadKey, change: Map<String, Value>, now: i64) -> Outcome<Thread> {
    let (old, found) = (get(group, key)?, thread::find_or_fail(group.connection, key)?);
    if change.is_empty() {
        return Ok(old);
    }
    let merged = metadata::merged(old.metadata, change).as_ref().map(row::object_text).transpose()?;
    let sql = "UPDATE threads SET metadata = ?2 WHERE number = ?1";
    group.connection.prepare_cached(sql)?.execute((found.number, merged))?;
    thread::changed(group, &found, now)?;
    get(group, key)
}

fn title_if_empty(group: &mut Group<'_>, key: &ThreadKey, title: &str, now: i64) -> Outcome<bool> {
    let found = thread::find_or_fail(group.connection, key)?;
    let sql = "UPDATE threads SET title = ?2 WHERE number = ?1 AND title = '' AND ?2 <> ''";
    let set = group.connection.prepare_cached(sql)?.execute((found.number, title))? > 0;
    if set {
        thread::changed(group, &found, now)?;
    }
    Ok(set)
}

//! The recall index in SQL. A thread's entries of one space stand on a shelf, together and in order, so an owner's
//! vectors are read shelf by shelf and a thread changes its owner by changing its shelves' rows. Words carry their
//! owner's number, so what others say costs nothing and is never met. Reading order: `shelf`, `write`, then the rest.

mod find;
mod pending;
mod shelf;
mod vectors;
mod watch;
mod words;
mod write;

use roster_model::id::{ResourceId, ThreadId, ThreadKey};
use roster_model::message::{Seq, StoredMessage};
use roster_model::recall::{IndexEntry, IndexedVector, RecallStore, TextHit, Unindexed};
use roster_model::storage::StoreResult;

use super::store::SqliteStore;

pub(super) use shelf::{bump, moved, remove_message};
pub(super) use watch::IndexWatch;
pub(super) use words::{move_words, owner_of};
pub(super) use write::copy_entries;

/// Entries written like a turn's rows, in the common transaction; more go in slices behind the turns.
const FEW: usize = 16;

impl RecallStore for SqliteStore {
    fn index<'a>(&'a self, key: &'a ThreadKey, space: &'a str, entries: Vec<IndexEntry>) -> StoreResult<'a, ()> {
        let (key, space) = (key.clone(), space.to_owned());
        Box::pin(async move {
            if entries.len() > FEW {
                return self.writer.slices(write::step(key, space, entries)).await;
            }
            self.writer.write(move |group| write::all(group, &key, &space, &entries)).await
        })
    }

    fn vectors<'a>(
        &'a self,
        resource: &'a ResourceId,
        thread: Option<&'a ThreadId>,
        space: &'a str,
        after: u64,
        limit: usize,
    ) -> StoreResult<'a, (Vec<IndexedVector>, Option<u64>)> {
        let (resource, thread, space) = (resource.clone(), thread.cloned(), space.to_owned());
        Box::pin(
            self.readers
                .read(move |connection| vectors::page(connection, &resource, thread.as_ref(), &space, after, limit)),
        )
    }

    fn find_words<'a>(
        &'a self,
        resource: &'a ResourceId,
        thread: Option<&'a ThreadId>,
        words: &'a [String],
        limit: usize,
    ) -> StoreResult<'a, Vec<TextHit>> {
        let (resource, thread, words) = (resource.clone(), thread.cloned(), words.to_vec());
        Box::pin(self.readers.read(move |connection| find::find(connection, &resource, thread.as_ref(), &words, limit)))
    }

    fn around<'a>(
        &'a self,
        key: &'a ThreadKey,
        seq: Seq,
        before: usize,
        after: usize,
    ) -> StoreResult<'a, Vec<StoredMessage>> {
        let key = key.clone();
        Box::pin(self.readers.read(move |connection| vectors::around(connection, &key, seq, before, after)))
    }

    /// What walks over many finished threads writes down how far it came, so that the next call begins there.
    fn unindexed<'a>(
        &'a self,
        resource: &'a ResourceId,
        space: &'a str,
        limit: usize,
    ) -> StoreResult<'a, Vec<Unindexed>> {
        let (owner, name) = (resource.clone(), space.to_owned());
        Box::pin(async move {
            let found = self.readers.read(move |connection| pending::list(connection, &owner, &name, limit)).await?;
            if let Some(progress) = found.progress {
                // Without it the next call only takes longer.
                if let Err(error) = self.writer.write(move |group| pending::settle(group, &progress)).await {
                    tracing::debug!(%error, "the progress of indexing was not written down");
                }
            }
            Ok(found.rows)
        })
    }

    fn index_version(&self, resource: &ResourceId) -> u64 {
        self.index.version(resource)
    }
}

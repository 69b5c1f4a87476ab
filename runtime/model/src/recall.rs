//! What semantic recall needs of a store: vectors and a text index beside the messages, by owner. Derived from the
//! messages, written after the answer; deleting a message deletes its entries.

use crate::id::{MessageId, ResourceId, ThreadId, ThreadKey};
use crate::message::{Role, Seq, StoredMessage};
use crate::storage::StoreResult;
use crate::time::Timestamp;

/// A message's entry in the index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexEntry {
    /// The message.
    pub message: MessageId,
    /// Its vector; `None` keeps the text index alone (no embedder could be used).
    pub vector: Option<Vec<f32>>,
    /// Its words, cut by the engine and separated by blanks: what the text index holds.
    pub terms: String,
}

/// A message found by vector or words, before its text is read.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedVector {
    /// Its thread.
    pub thread: ThreadId,
    /// Its place there.
    pub seq: Seq,
    /// Who speaks.
    pub role: Role,
    /// When.
    pub created_at: Timestamp,
    /// Its vector, of the space asked for.
    pub vector: Vec<f32>,
}

/// A message found by its words.
#[derive(Debug, Clone, PartialEq)]
pub struct TextHit {
    /// Its thread.
    pub thread: ThreadId,
    /// Its place there.
    pub seq: Seq,
    /// Who speaks.
    pub role: Role,
    /// When.
    pub created_at: Timestamp,
    /// How well it fits (BM25), greater is better.
    pub score: f64,
}

/// A message that has no entry in a space yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Unindexed {
    /// Its thread.
    pub key: ThreadKey,
    /// The message.
    pub message: StoredMessage,
}

/// Vectors and words of messages. `space` names the embedder with its version and dimensions: vectors of two spaces are
/// never given together.
pub trait RecallStore: Send + Sync + 'static {
    /// Writes entries; replaces those of the same messages in the same space. Messages that are gone are passed over.
    fn index<'a>(&'a self, key: &'a ThreadKey, space: &'a str, entries: Vec<IndexEntry>) -> StoreResult<'a, ()>;
    /// The vectors of an owner (of one thread, if named) in this space, in a fixed order, at most `limit` after `after`
    /// (the number of the last row of the page before; 0 at first). Gives the rows and where the next page begins.
    fn vectors<'a>(
        &'a self,
        resource: &'a ResourceId,
        thread: Option<&'a ThreadId>,
        space: &'a str,
        after: u64,
        limit: usize,
    ) -> StoreResult<'a, (Vec<IndexedVector>, Option<u64>)>;
    /// The messages that hold most of these words, best first. No word in common: no hit.
    fn find_words<'a>(
        &'a self,
        resource: &'a ResourceId,
        thread: Option<&'a ThreadId>,
        words: &'a [String],
        limit: usize,
    ) -> StoreResult<'a, Vec<TextHit>>;
    /// Whole messages: `seq` with its neighbours, in order; an unknown thread or seq gives none.
    fn around<'a>(
        &'a self,
        key: &'a ThreadKey,
        seq: Seq,
        before: usize,
        after: usize,
    ) -> StoreResult<'a, Vec<StoredMessage>>;
    /// Messages of an owner that have no entry in this space yet, newest first.
    fn unindexed<'a>(
        &'a self,
        resource: &'a ResourceId,
        space: &'a str,
        limit: usize,
    ) -> StoreResult<'a, Vec<Unindexed>>;
    /// Moves whenever the index of this owner may have changed, by whatever process, and by one with each of this
    /// process's own writes ([`RecallStore::index`]): what is cached over it is dropped. Others' writes leave it alone.
    fn index_version(&self, resource: &ResourceId) -> u64;
}

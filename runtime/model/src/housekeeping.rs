//! Looking after threads: copies, new owners, deletions of messages, and everything of an owner at once.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::feed::FeedStore;
use crate::id::{MessageId, ResourceId, ThreadId, ThreadKey};
use crate::message::{Message, StoredMessage};
use crate::recall::RecallStore;
use crate::storage::{ConversationStore, NewThread, StoreResult, Thread};
use crate::suspension::SuspensionStore;
use crate::time::Timestamp;
use crate::working::WorkingMemoryStore;

/// Which messages a copy takes along.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopyRange {
    /// Only the newest so many.
    pub newest: Option<usize>,
    /// Only those up to and with this one: a fork. Unknown: `NotFound`.
    pub until: Option<MessageId>,
    /// Of those, only these.
    pub only: Option<BTreeSet<MessageId>>,
    /// Of those, only what is dated at this moment or later.
    pub since: Option<Timestamp>,
    /// Of those, only what is dated at this moment or earlier.
    pub up_to: Option<Timestamp>,
}

impl CopyRange {
    /// Whether a message between the ends of the range comes along.
    #[must_use]
    pub fn takes(&self, message: &Message) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&message.id))
            && self.since.is_none_or(|since| message.created_at >= since)
            && self.up_to.is_none_or(|up_to| message.created_at <= up_to)
    }
}

/// A copied thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Copied {
    /// The copy.
    pub thread: Thread,
    /// Its first messages, with new ids and the times of the old ones: as many as a page holds
    /// ([`ConversationStore::messages`]); the thread's `message_count` says how many there are.
    pub messages: Vec<StoredMessage>,
    /// Old id → new id of these messages, in order.
    pub ids: Vec<(MessageId, MessageId)>,
    /// The old id of the last message of all that came along.
    pub last: Option<MessageId>,
}

/// What an erasure removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Erased {
    /// Threads, those of sub-agents included.
    pub threads: u64,
    /// Messages.
    pub messages: u64,
    /// Entries of the recall index.
    pub index_entries: u64,
    /// Working memories.
    pub working_memories: u64,
}

/// Looking after threads.
pub trait Housekeeping: Send + Sync + 'static {
    /// Copies a thread within its owner. `NotFound` for an unknown source, `Conflict` when the target exists.
    fn copy_thread<'a>(
        &'a self,
        source: &'a ThreadKey,
        target: &'a ThreadId,
        new: NewThread,
        range: CopyRange,
    ) -> StoreResult<'a, Copied>;
    /// Gives a thread (and its sub-agents' threads) to another owner. `Conflict` when that one has a thread of this id;
    /// `Busy` while a turn runs in it.
    fn transfer_thread<'a>(&'a self, key: &'a ThreadKey, to: &'a ResourceId) -> StoreResult<'a, Thread>;
    /// Deletes messages with their index entries; gives how many were there.
    fn delete_messages<'a>(&'a self, key: &'a ThreadKey, messages: Vec<MessageId>) -> StoreResult<'a, u64>;
    /// The threads of this owner that hold these messages.
    fn threads_of_messages<'a>(
        &'a self,
        resource: &'a ResourceId,
        messages: Vec<MessageId>,
    ) -> StoreResult<'a, Vec<(ThreadId, MessageId)>>;
    /// Removes everything of an owner; when it returns nothing of it is left.
    fn erase<'a>(&'a self, resource: &'a ResourceId) -> StoreResult<'a, Erased>;
    /// Deletes a thread that is still as it was seen, if it holds neither messages nor a working memory and no turn runs
    /// in it; the threads of its sub-agents stay. False when it is not so any more, or there is none.
    fn delete_if_empty<'a>(&'a self, seen: &'a Thread) -> StoreResult<'a, bool>;
    /// Changes only the named keys of a thread's metadata; `null` removes one.
    fn merge_metadata<'a>(&'a self, key: &'a ThreadKey, change: Map<String, Value>) -> StoreResult<'a, Thread>;
    /// Sets the title only if nobody has given one; true when it was set.
    fn set_title_if_empty<'a>(&'a self, key: &'a ThreadKey, title: String) -> StoreResult<'a, bool>;
}

/// Everything session memory needs of a store.
pub trait SessionStore:
    ConversationStore + SuspensionStore + WorkingMemoryStore + RecallStore + FeedStore + Housekeeping
{
}

impl<T: ConversationStore + SuspensionStore + WorkingMemoryStore + RecallStore + FeedStore + Housekeeping> SessionStore
    for T
{
}

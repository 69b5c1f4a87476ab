//! `memory/1`: conversations kept by a plugin.
//!
//! `open` [`Open`] → [`Opened`]; then, each with the handle: `append` [`Append`] → [`Seqs`] · `save` [`Save`] → [`Seqs`] ·
//! `tail` [`Tail`] → [`Rows`] · `messages` [`Messages`] → [`Page<Row>`] · `create_thread` [`NewThread`] → [`Created`] ·
//! `thread` [`Of`] → `{"thread": Thread | null}` · `threads` [`Threads`] → [`Page<Thread>`] · `update_thread`
//! [`UpdateThread`] → `{"thread": Thread}` · `delete_thread` [`Of`] → [`Deleted`] · `working_memory.get` [`Of`] →
//! `{"memory": Working | null}` · `working_memory.set` [`SetWorking`] → [`Versioned`] · `erase` [`Of`] without thread →
//! [`Erased`] · `close` [`Opened`] → [`Closed`].
//!
//! `OK` of a write means durable. Order is the sequence number the plugin gives, 1, 2, 3 … per thread, never reused. The
//! same thread id under two resources is two threads. The runtime makes one turn of a thread at a time. Every method may
//! come twice: the runtime asks again when the process died under a call. Handles die with the instance; one that is not
//! known is `no_such_handle`, and the runtime opens again. While a library is replaced two instances may work on the same
//! data for a moment. Codes of faults: `not_found`, `conflict`, `unavailable`, `full`, `busy`, `invalid`, `unsupported`;
//! any other is internal.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Message;

/// Input of `open`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// `[memory] config` of the definition.
    #[serde(default)]
    pub config: Value,
}

/// Output of `open`, input of `close`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// The plugin's own name of the memory, never given twice: not by another instance either.
    pub handle: String,
}

/// Output of `close`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {}

/// Names a thread; or, with an empty thread, an owner.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Of {
    /// From `open`.
    pub handle: String,
    /// The owner.
    pub resource: String,
    /// The thread; empty: the owner alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread: String,
}

/// Input of `append`: all or none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Append {
    /// From `open`.
    pub handle: String,
    /// The owner.
    pub resource: String,
    /// The thread; without `create` an unknown one is `not_found`.
    pub thread: String,
    /// Appending again with the same key and thread writes nothing and gives the same numbers. Kept as long as the thread,
    /// or for a day.
    pub key: String,
    /// The turn the rows belong to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// What is appended. An id already in the thread is a `conflict`.
    pub messages: Vec<Message>,
    /// What the thread begins with if it is made now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<Value>,
}

/// Output of `append` and `save`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seqs {
    /// One per message.
    pub seqs: Vec<u64>,
}

/// Input of `save`: writes a message, or overwrites the one of that id in place. Unknown thread: `not_found`. A message of
/// that id which another turn wrote, or which is no assistant's: `conflict`, nothing is written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Save {
    /// From `open`.
    pub handle: String,
    /// The owner.
    pub resource: String,
    /// The thread.
    pub thread: String,
    /// The turn the row belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The message.
    pub message: Message,
}

/// A message as it is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its place.
    pub seq: u64,
    /// Its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The message.
    pub message: Message,
}

/// Output of `tail`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    /// Oldest first.
    pub rows: Vec<Row>,
}

/// Input of `tail`: the newest rows below `before`. An unknown thread is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    /// From `open`.
    pub handle: String,
    /// The owner.
    pub resource: String,
    /// The thread.
    pub thread: String,
    /// At most so many.
    pub limit: u64,
    /// Sequence number; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Leave off the oldest once the rows have so many bytes of JSON, but give the newest at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// Which end comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Oldest.
    Ascending,
    /// Newest.
    #[default]
    Descending,
}

/// Input of `messages`. Unknown thread, or unknown `before`: `not_found`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// From `open`.
    pub handle: String,
    /// The owner.
    pub resource: String,
    /// The thread.
    pub thread: String,
    /// By sequence number.
    #[serde(default)]
    pub direction: Direction,
    /// Skip so many from that end.
    #[serde(default)]
    pub offset: u64,
    /// At most so many.
    pub limit: u64,
    /// Only messages before the one of this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// End the page once its rows have so many bytes of JSON, but give one at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Page<T> {
    /// In the order asked for.
    pub rows: Vec<T>,
    /// What the query covers, over all pages.
    pub total: u64,
    /// Where the next page begins (`before` or `after`); absent: this was the last.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

fn none() -> Option<String> {
    None
}

/// Input of `create_thread`: gives the one that is there unchanged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NewThread {
    /// From `open`.
    pub handle: String,
    /// The owner.
    pub resource: String,
    /// The thread.
    pub thread: String,
    /// `{"agent"?, "parent"?, "title"?, "metadata"?}`, as in `append`'s `create`.
    #[serde(default)]
    pub create: Value,
}

/// Output of `create_thread`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Created {
    /// The thread.
    pub thread: Thread,
    /// True when it was made now.
    pub created: bool,
}

/// A thread as it is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// The owner.
    pub resource: String,
    /// The thread.
    pub thread: String,
    /// The agent that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The calling agent's thread; such threads are left out of `threads` and go with their parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Empty: none.
    #[serde(default)]
    pub title: String,
    /// What clients attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub created_at: i64,
    /// When a message or a field last changed; never before the date of the newest message.
    pub updated_at: i64,
    /// How many messages.
    pub message_count: u64,
}

/// How threads are ordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// By making.
    #[default]
    Created,
    /// By the last message.
    Activity,
    /// By any change.
    Updated,
}

/// Input of `threads`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threads {
    /// From `open`.
    pub handle: String,
    /// The owner.
    pub resource: String,
    /// Order.
    #[serde(default)]
    pub order: Order,
    /// Direction.
    #[serde(default)]
    pub direction: Direction,
    /// Skip so many; not together with `after`.
    #[serde(default)]
    pub offset: u64,
    /// `next` of the page before: after the row it ended with, whatever changed since. One of another order, or none of
    /// yours: `invalid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// At most so many.
    pub limit: u64,
    /// Only those this agent took part in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// Input of `update_thread`; an absent field stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UpdateThread {
    /// From `open`.
    pub handle: String,
    /// The owner.
    pub resource: String,
    /// The thread.
    pub thread: String,
    /// The new title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The new metadata as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// Output of `delete_thread`, which deletes the thread and those of its sub-agents (whose `parent` it is), also where the
/// thread itself is not kept here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    /// False: there was none of these.
    pub deleted: bool,
}

/// Output of `erase`: everything of an owner is gone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erased {
    /// How many threads there were.
    pub threads: u64,
    /// How many messages they held.
    #[serde(default)]
    pub messages: u64,
}

/// A working memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Working {
    /// Markdown, or the text of a JSON object.
    pub text: String,
    /// Grows by one with each write.
    pub version: u64,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub updated_at: i64,
}

/// Input of `working_memory.set`. Another version there than `seen`: `conflict`, nothing is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetWorking {
    /// From `open`.
    pub handle: String,
    /// The owner.
    pub resource: String,
    /// The thread; empty: of the owner.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread: String,
    /// `null` clears.
    pub text: Option<String>,
    /// The version that was read; 0: nothing was there.
    pub seen: u64,
}

/// Output of `working_memory.set`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versioned {
    /// The new version.
    pub version: u64,
}

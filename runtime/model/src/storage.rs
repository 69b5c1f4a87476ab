//! The conversation store: the user's data, which cannot be rebuilt. `Ok` of a write means durable.
//!
//! Every method takes an owner: no query without a resource can be written against this trait.
//! [`OperatorStore`] is the exception, for Studio and the command line.

use serde_json::{Map, Value};

use crate::BoxFuture;
use crate::id::{AgentId, MessageId, ResourceId, ThreadId, ThreadKey, TurnId};
use crate::message::{Message, Seq, StoredMessage};
use crate::suspension::SuspendedTurn;
use crate::time::Timestamp;

/// A thread as the store holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Thread {
    /// Owner and id.
    pub key: ThreadKey,
    /// The agent that began it, where one did.
    pub agent: Option<AgentId>,
    /// The thread of the agent that called this one as a sub-agent; such threads are left out of lists.
    pub parent: Option<ThreadId>,
    /// Empty until someone or something names it.
    pub title: String,
    /// What clients attached.
    pub metadata: Option<Map<String, Value>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When a message or a field last changed.
    pub updated_at: Timestamp,
    /// How many messages it holds; kept by the writing transaction, never counted.
    pub message_count: u64,
}

/// What a new thread begins with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewThread {
    /// The agent that begins it.
    pub agent: Option<AgentId>,
    /// The parent of a sub-agent's thread.
    pub parent: Option<ThreadId>,
    /// Title, or empty.
    pub title: String,
    /// Metadata.
    pub metadata: Option<Map<String, Value>>,
}

/// A field-wise change; `None` leaves the field as it is. There is no way to write a whole thread back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThreadChange {
    /// The new title.
    pub title: Option<String>,
    /// The new metadata, replacing the old as a whole.
    pub metadata: Option<Map<String, Value>>,
}

/// How threads are ordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ThreadOrder {
    /// By when they were made. Total and stable.
    #[default]
    Created,
    /// By the last message written (a thread without one: by its making). A rename does not move a thread. A thread
    /// that gets a message while its owner's pages are walked newest first moves in front of the walk: one that was
    /// not reached yet is then missed by it (oldest first, one that was reached comes again at the end).
    Activity,
    /// By the last change of any kind. A walk over pages misses, or meets again, what changes meanwhile, as with
    /// [`ThreadOrder::Activity`].
    Updated,
}

/// Which end comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    /// Oldest first.
    Ascending,
    /// Newest first.
    #[default]
    Descending,
}

/// Where a page begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PageStart {
    /// At the first row.
    #[default]
    First,
    /// After so many rows.
    Offset(u64),
    /// After the row the last page ended with, whatever changed since; the text is the store's own ([`Page::next`]).
    After(String),
}

/// Which threads of an owner.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThreadQuery {
    /// Order.
    pub order: ThreadOrder,
    /// Direction.
    pub direction: Direction,
    /// Start.
    pub start: PageStart,
    /// At most so many.
    pub limit: usize,
    /// Only those this agent took part in.
    pub agent: Option<AgentId>,
}

/// Which messages of a thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessageQuery {
    /// Oldest or newest first, by sequence number.
    pub direction: Direction,
    /// Skip so many, counted from that end.
    pub offset: u64,
    /// At most so many.
    pub limit: usize,
    /// Only messages before this one. Unknown: [`StoreErrorKind::NotFound`].
    pub before: Option<MessageId>,
    /// Only this message and those after it. Unknown: [`StoreErrorKind::NotFound`].
    pub from: Option<MessageId>,
}

/// A page of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// The rows, in the order asked for.
    pub rows: Vec<T>,
    /// How many there are over all pages; from kept counts.
    pub total: u64,
    /// Where the next page begins; `None` when this was the last.
    pub next: Option<String>,
}

/// Stores the question and takes the thread for this turn.
#[derive(Debug, Clone)]
pub struct BeginTurn {
    /// The thread; made when it does not exist.
    pub key: ThreadKey,
    /// The turn.
    pub turn: TurnId,
    /// Earlier messages of the client's own list, stored before the question only if the thread holds no message.
    pub seed: Vec<Message>,
    /// The newest user message.
    pub question: Message,
    /// What the thread begins with if it is made now.
    pub thread: NewThread,
}

/// A turn begun; the question is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// The seq of the first row this turn wrote. History is what stands before it.
    pub first: Seq,
    /// True when the seed was stored (so the thread was empty before).
    pub seeded: bool,
}

/// Writes or overwrites the one assistant row of a turn.
#[derive(Debug, Clone)]
pub struct SaveAnswer {
    /// The thread.
    pub key: ThreadKey,
    /// The turn.
    pub turn: TurnId,
    /// The row as it is now, matched by its id; `None` writes no row (only with `last`).
    pub message: Option<Message>,
    /// True for the turn's last write: it gives the thread back in the same transaction.
    pub last: bool,
}

/// What kind of failure a store had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreErrorKind {
    /// No such thread or message for this owner.
    NotFound,
    /// A message id that is already taken in the thread by another message.
    Conflict,
    /// The store cannot be used: not opened, damaged, read-only. 503.
    Unavailable,
    /// No space. 507; the next write is tried anew.
    Full,
    /// Too much waiting. 503 with `Retry-After`.
    Busy,
    /// A cursor or argument that is none of ours.
    Invalid,
    /// The thread of this id is kept by another store. 409.
    Elsewhere,
    /// This store has no way to do that. 501.
    Unsupported,
    /// Anything else of ours.
    Internal,
}

/// A store's failure.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    /// What kind.
    pub kind: StoreErrorKind,
    /// For the log and the operator; clients see a text of the door's own.
    pub message: String,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl StoreError {
    /// A failure of this kind with this message.
    #[must_use]
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }
}

/// What a store's method gives.
pub type StoreResult<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Conversations: threads and their messages, by owner.
pub trait ConversationStore: Send + Sync + 'static {
    /// Stores the question (and the seed, if the thread is empty) and takes the thread for this turn, across every
    /// process that shares the store. Waits while another turn holds the thread; dropping the future gives up the
    /// place. A holder that died no longer holds: its running message is marked interrupted first.
    fn begin_turn(&self, begin: BeginTurn) -> StoreResult<'_, Begun>;
    /// Writes the turn's assistant row. `NotFound` when the thread was deleted meanwhile.
    fn save_answer(&self, save: SaveAnswer) -> StoreResult<'_, ()>;
    /// The newest `limit` messages with a seq below `before` (all when `None`), oldest first, and no more of them than
    /// 8 MiB of stored parts and metadata, counted from the newest, which always comes. An unknown thread is empty.
    fn tail<'a>(&'a self, key: &'a ThreadKey, limit: usize, before: Option<Seq>)
    -> StoreResult<'a, Vec<StoredMessage>>;
    /// Appends messages outside a turn (REST), all or none. The thread must exist. A message whose id is already in
    /// the thread is a `Conflict`.
    fn append<'a>(&'a self, key: &'a ThreadKey, messages: Vec<Message>) -> StoreResult<'a, Vec<StoredMessage>>;
    /// A page of a thread's messages. It ends before the row that would bring it over 8 MiB of stored parts and
    /// metadata, but has one row at least where there is one: a page shorter than its limit is the last only if
    /// `next` is `None`. `next` is the id of the last row (with [`MessageQuery::before`] the walk goes on there,
    /// newest first); `total` counts every row all the same. `NotFound` for an unknown thread.
    fn messages<'a>(&'a self, key: &'a ThreadKey, query: MessageQuery) -> StoreResult<'a, Page<StoredMessage>>;
    /// Makes a thread, or gives the one that is there unchanged; true when it was made.
    fn create_thread<'a>(&'a self, key: &'a ThreadKey, new: NewThread) -> StoreResult<'a, (Thread, bool)>;
    /// A thread.
    fn thread<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, Option<Thread>>;
    /// A page of an owner's threads, those of sub-agents left out.
    fn threads<'a>(&'a self, resource: &'a ResourceId, query: ThreadQuery) -> StoreResult<'a, Page<Thread>>;
    /// Changes fields. `NotFound` for an unknown thread.
    fn update_thread<'a>(&'a self, key: &'a ThreadKey, change: ThreadChange) -> StoreResult<'a, Thread>;
    /// Deletes a thread, its sub-agents' threads (also where the thread itself is not here) and all that hangs on them;
    /// false when there was none of these. When it returns, nothing of it is left.
    fn delete_thread<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, bool>;
}

/// What only the operator's pages and the command line may ask.
pub trait OperatorStore: Send + Sync + 'static {
    /// The owners that have a thread of this id, at most `limit`.
    fn owners<'a>(&'a self, thread: &'a ThreadId, limit: usize) -> StoreResult<'a, Vec<ResourceId>>;
    /// The owners that have a message of this id, at most `limit`. Asks every thread: not for the way of a turn.
    fn owners_of_message<'a>(&'a self, message: &'a MessageId, limit: usize) -> StoreResult<'a, Vec<ResourceId>>;
    /// The turns of all owners that wait for a person, the newest first, at most `limit`.
    fn all_suspended(&self, limit: usize) -> StoreResult<'_, Vec<SuspendedTurn>>;
    /// A turn of any owner that waits or once did.
    fn any_suspended<'a>(&'a self, turn: &'a TurnId) -> StoreResult<'a, Option<SuspendedTurn>>;
    /// Whether the store can be used now: `Ok`, or why not. Cheap; asked by `/health`.
    fn health(&self) -> Result<(), StoreError>;
}

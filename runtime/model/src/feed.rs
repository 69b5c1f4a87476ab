//! Feed records: which stored messages a model call was given, in which tier and why, and what was left out.

use crate::id::{ThreadKey, TurnId};
use crate::storage::StoreResult;
use crate::time::Timestamp;

/// The record of one model call.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedRecord {
    /// The turn.
    pub turn: TurnId,
    /// Which model call of the turn, from 1.
    pub step: u32,
    /// When.
    pub at: Timestamp,
    /// What was fed and why: a JSON object in the engine's own form, shown to people as it is.
    pub record: String,
}

/// The records of a turn, and its thread.
pub type TurnFeed = (ThreadKey, Vec<FeedRecord>);

/// Where feed records are kept. Written after the answer; a failure is logged and hurts no turn.
pub trait FeedStore: Send + Sync + 'static {
    /// Writes the records of turns, all or none, and drops those older than `keep_after`. A thread that is gone is
    /// passed over.
    fn put_feed(&self, turns: Vec<TurnFeed>, keep_after: Timestamp) -> StoreResult<'_, ()>;
    /// The records of a turn (of the newest turn that has any, when `None`), by step.
    fn feed<'a>(&'a self, key: &'a ThreadKey, turn: Option<&'a TurnId>) -> StoreResult<'a, Vec<FeedRecord>>;
}

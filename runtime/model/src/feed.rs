//! Feed records: which stored messages a model call was given, in which tier and why, and what was left out.

use serde_json::{Map, Value};

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
    /// What was fed and why; the engine's own form, shown to people as it is.
    pub record: Map<String, Value>,
}

/// Where feed records are kept. Written after the answer; a failure is logged and hurts no turn.
pub trait FeedStore: Send + Sync + 'static {
    /// Writes the records of a turn, and drops those older than `keep_after`.
    fn put_feed<'a>(
        &'a self,
        key: &'a ThreadKey,
        records: Vec<FeedRecord>,
        keep_after: Timestamp,
    ) -> StoreResult<'a, ()>;
    /// The records of a turn (of the newest turn that has any, when `None`), by step.
    fn feed<'a>(&'a self, key: &'a ThreadKey, turn: Option<&'a TurnId>) -> StoreResult<'a, Vec<FeedRecord>>;
}

//! How much one answer may hold in memory: rows are counted by whoever asks, bytes here.

use roster_model::message::{Message, encode_parts};

/// Bytes of stored parts and metadata in one answer (8 MiB): an owner's rows may have megabytes each.
const MOST: usize = 8 << 20;

/// What is left of an answer's bytes.
#[derive(Debug)]
pub(crate) struct Budget {
    left: usize,
    begun: bool,
}

impl Budget {
    /// Of an answer to a caller outside.
    pub(crate) fn answer() -> Self {
        Self { left: MOST, begun: false }
    }

    /// Where the caller bounds the rows well enough.
    pub(crate) fn endless() -> Self {
        Self { left: usize::MAX, begun: false }
    }

    /// Whether a row of so many bytes still goes in. The first always does, or a walk would stand still at it.
    pub(crate) fn takes(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.left || !self.begun;
        self.begun = true;
        self.left = self.left.saturating_sub(bytes);
        fits
    }
}

/// The bytes a message has when it is stored. What cannot be encoded cannot have been stored.
pub(crate) fn stored_bytes(message: &Message) -> usize {
    let parts = encode_parts(&message.parts).map_or(0, |text| text.len());
    let metadata = if message.metadata.is_empty() { None } else { serde_json::to_string(&message.metadata).ok() };
    parts + metadata.map_or(0, |text| text.len())
}

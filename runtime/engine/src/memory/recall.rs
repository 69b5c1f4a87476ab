//! Tier 2, semantic recall: which stored messages bear on the question, by meaning and by words.
//!
//! *Search* ([`Recall::search`]): the question becomes a vector; the owner's (or the thread's) vectors are scanned
//! exactly, 8-bit codes first, then the best again at 16 bits; the same question is asked of the text index; the two
//! rankings are fused by reciprocal rank (a message's score is the sum of `1 / (60 + rank)` over the rankings it is in).
//! When the embedder fails, words alone decide.
//! *Gathering* ([`gather`]): hits with their neighbours; those of the same thread go into the history at their place,
//! those of other threads become one marked system block.
//! *Writing* ([`Indexer`]): after the answer, in the background, in order.

mod block;
mod cache;
mod codes;
mod gather;
mod index;
mod scanner;
mod search;
mod shelf;
mod shorten;

pub use block::{BEGIN_MARK, END_MARK, block};
pub use cache::{DEFAULT_BUDGET, VectorCache};
pub use gather::{Found, Gathered, Why, gather};
pub use index::{AfterTurn, Indexer};
pub use search::{Hit, Question, Recall, Searched};
pub use shelf::held_bytes;

/// The space of entries that have words and no vector: no embedder could be used.
pub const WORDS_ONLY: &str = "words";

/// Characters of a message that are embedded; the rest is left out.
const EMBEDDED: usize = 8_000;

/// What of a message's text is embedded.
fn embedded(text: &str) -> String {
    text.chars().take(EMBEDDED).collect()
}

#[cfg(test)]
mod tests;

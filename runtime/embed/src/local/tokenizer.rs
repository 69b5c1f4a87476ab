//! Text to piece ids: the unigram model of SentencePiece.
//!
//! [`model`] reads the vocabulary's file, [`charsmap`] brings text to the form the vocabulary was made on (letters
//! that mean the same become the same, runs of blanks one `▁`), [`trie`] finds the pieces that begin at a place, and
//! [`unigram`] takes the sequence of pieces whose scores have the highest sum.
//!
//! Two deliberate differences from SentencePiece, both as in the package the weights come from: letters that no piece
//! covers are one unknown piece each and not one a run, and a text without anything in it is one unknown piece. And one
//! from the package, as in SentencePiece: text that reads like a mark (`<s>`) is text.

mod charsmap;
mod model;
#[cfg(test)]
mod tests;
mod trie;
mod unigram;

use super::{MAX_BYTES, MAX_TOKENS};
use charsmap::Charsmap;
use model::Model;
use unigram::Unigram;

pub(crate) use model::ModelError;

/// Stands for what no piece covers.
pub(super) const UNKNOWN: u32 = 0;
/// Marks the beginning of a text.
pub(super) const BEGIN: u32 = 1;
/// Marks the end of a text.
pub(super) const END: u32 = 2;

/// The tokenizer.
#[derive(Debug)]
pub(super) struct Tokenizer {
    charsmap: Charsmap,
    unigram: Unigram,
}

impl Tokenizer {
    /// Reads a SentencePiece model.
    ///
    /// # Errors
    /// [`ModelError`] for what is no model, or one of another kind.
    pub(super) fn from_model(bytes: &[u8]) -> Result<Self, ModelError> {
        let model = Model::read(bytes)?;
        Ok(Self { charsmap: Charsmap::read(model.charsmap)?, unigram: Unigram::new(&model.pieces) })
    }

    /// How many pieces the vocabulary has.
    pub(super) fn pieces(&self) -> usize {
        self.unigram.pieces()
    }

    /// The ids of a text, between the marks of its beginning and end; cut as [`MAX_BYTES`] and [`MAX_TOKENS`] say.
    pub(super) fn encode(&self, text: &str) -> Vec<u32> {
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        let mut ids = self.ids(text);
        ids.truncate(MAX_TOKENS - 2);
        ids.insert(0, BEGIN);
        ids.push(END);
        ids
    }

    fn ids(&self, text: &str) -> Vec<u32> {
        let ids = self.unigram.segment(&self.charsmap.normalise(text));
        if ids.is_empty() { vec![UNKNOWN] } else { ids }
    }
}

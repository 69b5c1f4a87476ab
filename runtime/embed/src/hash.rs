//! `hash`: a lexical embedder without weights.
//!
//! Words and pieces of words are counted in 512 signed buckets, so texts that share words, stems or Chinese two-letter
//! steps are near one another. It knows nothing of meaning: translations and synonyms are as far apart as strangers.
//! The same text gives the same vector on every machine; a change of this file that moves vectors changes [`SPACE`].

mod features;
#[cfg(test)]
mod tests;

use roster_model::BoxFuture;
use roster_model::embedder::{EmbedError, Embedder};

use features::each_feature;

/// Length of a vector.
pub const DIMENSIONS: usize = 512;
/// The space of the vectors.
pub const SPACE: &str = "hash-1/512";

/// Bytes of a text that count; the rest is left out, so that a text takes a millisecond at most.
pub const MAX_BYTES: usize = 16 * 1024;

/// The embedder; it has no state and no threads. It computes where it is polled, and lets others run between two texts.
#[derive(Debug, Clone, Copy, Default)]
pub struct HashEmbedder;

impl Embedder for HashEmbedder {
    fn space(&self) -> &str {
        SPACE
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(async move {
            let mut vectors = Vec::with_capacity(texts.len());
            for text in texts {
                vectors.push(vector(text));
                tokio::task::yield_now().await;
            }
            Ok(vectors)
        })
    }
}

/// The vector of a text: length 1, or all zeros for a text without a letter or digit.
#[must_use]
pub fn vector(text: &str) -> Vec<f32> {
    let mut counts = vec![0.0_f32; DIMENSIONS];
    let text = &text[..text.floor_char_boundary(MAX_BYTES)];
    each_feature(text, &mut |feature, weight| {
        let hash = mixed(feature);
        // The low bits choose the bucket and the highest one the sign, so that collisions cancel out on average.
        let bucket = usize::try_from(hash % DIMENSIONS as u64).unwrap_or_default();
        counts[bucket] += if hash >> 63 == 0 { weight } else { -weight };
    });
    // A word said ten times weighs more than once, but not ten times.
    for count in &mut counts {
        *count = count.signum() * count.abs().sqrt();
    }
    normalise(&mut counts);
    counts
}

/// FNV-1a over the feature, then a finaliser, since FNV's high bits are weak on short input.
fn mixed(feature: &[u8]) -> u64 {
    let mut hash = feature
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        for value in vector {
            *value /= length;
        }
    }
}

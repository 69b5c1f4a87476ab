//! Texts that are too long for an embedder.

use roster_model::embedder::{EmbedErrorKind, Embedder};

/// A text that an embedder finds too long is halved down to this many characters.
const SHORTEST: usize = 200;

/// Each text by itself, cut until it is short enough; a text that never is has no vector. `None`: another failure.
pub(super) async fn one_by_one(embedder: &dyn Embedder, texts: &[String]) -> Option<Vec<Option<Vec<f32>>>> {
    let mut made = Vec::with_capacity(texts.len());
    for text in texts {
        let mut part = text.clone();
        let vector = loop {
            match embedder.embed(std::slice::from_ref(&part)).await {
                Ok(vectors) => break vectors.into_iter().next(),
                Err(error) if error.kind != EmbedErrorKind::TooLong => return None,
                Err(_) => {
                    let half = part.chars().count() / 2;
                    if half < SHORTEST {
                        break None;
                    }
                    part = part.chars().take(half).collect();
                }
            }
        };
        made.push(vector);
    }
    Some(made)
}

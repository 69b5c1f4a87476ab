//! `embedder/1`: `embed`, [`Embed`] → a payload of `ENC_F32LE`, one row of `dimensions` floats per text, in order. Rows
//! have length 1 by the Euclidean norm, or are zero where there is nothing to compare.

use serde::{Deserialize, Serialize};

/// Input of `embed`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Embed {
    /// At most `max_batch` of them.
    pub texts: Vec<String>,
}

//! A feed record as it is read: the engine writes it, also an older or a newer one. What is not there is left out.

use roster_model::feed::FeedRecord;
use serde::Deserialize;
use serde_json::Value;

/// One model call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    pub(super) agent: String,
    pub(super) model: String,
    pub(super) tokens: Tokens,
    pub(super) system: Vec<System>,
    pub(super) messages: Vec<Fed>,
    pub(super) this_turn: ThisTurn,
    pub(super) left_out: Vec<Fed>,
    /// Rows of the thread that the window does not reach.
    pub(super) older: u64,
    pub(super) limits: Limits,
}

impl Record {
    /// What can be understood of a record.
    pub(super) fn read(record: &FeedRecord) -> Self {
        serde_json::from_str(&record.record).unwrap_or_default()
    }
}

/// The whole record; `null` where what is stored is no JSON.
pub(super) fn value(record: &FeedRecord) -> Value {
    serde_json::from_str(&record.record).unwrap_or_default()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    pub(super) estimated: u64,
    /// As the provider counted.
    pub(super) input: Option<u64>,
    pub(super) output: Option<u64>,
}

/// A system text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct System {
    pub(super) part: String,
    pub(super) tokens: u64,
    pub(super) scope: Option<String>,
    pub(super) version: Option<u64>,
}

/// A message that was fed, or was not.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Fed {
    pub(super) id: String,
    pub(super) seq: Option<u64>,
    pub(super) role: String,
    /// `window`, `recall`, `input`.
    pub(super) tier: String,
    pub(super) tokens: u64,
    /// Of another thread.
    pub(super) thread: Option<String>,
    pub(super) position: Option<u64>,
    pub(super) rank: Option<u64>,
    pub(super) beside: Option<u64>,
    pub(super) score: Option<f64>,
    pub(super) cosine: Option<f64>,
    pub(super) found_by: Vec<String>,
    pub(super) limit: Option<String>,
    pub(super) cut_results: Vec<Cut>,
}

/// A result of which a part was fed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Cut {
    pub(super) tool: String,
    pub(super) bytes: u64,
    pub(super) fed: u64,
}

/// What the turn had said before the call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ThisTurn {
    pub(super) parts: u64,
    pub(super) tokens: u64,
    pub(super) cut_results: Vec<Cut>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Limits {
    pub(super) last_messages: Option<u64>,
    pub(super) max_tokens: Option<u64>,
    pub(super) recall: Option<Recall>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Recall {
    pub(super) scope: String,
    pub(super) top_k: u64,
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) threshold: f64,
    /// `None`: words alone decided.
    pub(super) space: Option<String>,
}

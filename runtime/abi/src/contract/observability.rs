//! `observability/1`: `export`, [`Export`] → `{}`. Batched, at most one call in flight; when it is slow the oldest
//! spans are dropped and counted.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Input of `export`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Export {
    /// Finished spans.
    pub spans: Vec<Span>,
}

/// A finished span; names follow OpenTelemetry's GenAI conventions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// 32 hex digits.
    pub trace_id: String,
    /// 16 hex digits.
    pub span_id: String,
    /// The span this one is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// `invoke_agent chat-agent`.
    pub name: String,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub started_at: i64,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// The error's machine code, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// `gen_ai.*` and `roster.*` attributes.
    #[serde(default)]
    pub attributes: Map<String, Value>,
}

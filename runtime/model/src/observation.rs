//! Observations: derived data about turns. May be lost, may be deleted at any time, never slows a turn.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::BoxFuture;
use crate::storage::StoreError;
use crate::time::Timestamp;

/// A finished span of a trace. Names follow OpenTelemetry's GenAI conventions: `invoke_agent`, `chat`, `execute_tool`.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// 32 hex digits.
    pub trace_id: String,
    /// 16 hex digits.
    pub span_id: String,
    /// The span this one is part of.
    pub parent_id: Option<String>,
    /// `invoke_agent chat-agent`.
    pub name: String,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// The error's machine code, if it failed.
    pub error: Option<String>,
    /// `gen_ai.*` and our own `roster.*` attributes.
    pub attributes: Map<String, Value>,
}

/// Observability: written in batches, best effort.
pub trait ObservationStore: Send + Sync + 'static {
    /// Records a batch. An error means the batch is lost; the recorder counts it.
    fn record(&self, spans: Vec<Span>) -> BoxFuture<'_, Result<(), StoreError>>;
    /// The newest spans of a trace, oldest first.
    fn trace<'a>(&'a self, trace_id: &'a str) -> BoxFuture<'a, Result<Vec<Span>, StoreError>>;
}

/// Why spans did not go out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// Nobody was asked: the exporter is not there. The same spans may be tried again.
    #[error("{0}")]
    Away(String),
    /// It was asked and failed: the spans are lost.
    #[error("{0}")]
    Failed(String),
}

/// Takes finished spans besides the store: one export at a time, in batches.
pub trait SpanExporter: Send + Sync + 'static {
    /// Sends them on.
    fn export(&self, spans: Vec<Arc<Span>>) -> BoxFuture<'_, Result<(), ExportError>>;
}

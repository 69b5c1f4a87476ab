//! Spans of a turn, after OpenTelemetry's semantic conventions for generative AI
//! (<https://opentelemetry.io/docs/specs/semconv/gen-ai/>): `invoke_agent`, `chat`, `execute_tool`.

use std::sync::Arc;

use roster_model::id::IdSource;
use roster_model::observation::Span;
use roster_model::time::{Clock, Timestamp};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::recorder::Recorder;

/// Where in a trace something happens. Cheap to clone.
#[derive(Clone)]
pub struct TraceContext {
    recorder: Option<Arc<Recorder>>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    /// 32 hex digits.
    pub trace_id: Arc<str>,
    parent: Option<Arc<str>>,
}

/// A span under way. Recorded when dropped; one that was not [`OpenSpan::close`]d counts as cancelled.
pub struct OpenSpan {
    context: TraceContext,
    span_id: Arc<str>,
    name: String,
    started_at: Timestamp,
    began: Instant,
    attributes: Map<String, Value>,
    error: Option<String>,
}

impl TraceContext {
    /// A new trace. Without a recorder its spans cost next to nothing and go nowhere.
    #[must_use]
    pub fn root(recorder: Option<Arc<Recorder>>, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        let id = ids.fresh();
        let recorder = recorder.filter(|recorder| recorder.takes(id));
        let trace_id = format!("{id:032x}").into();
        Self { recorder, clock, ids, trace_id, parent: None }
    }

    /// Begins a span here.
    #[must_use]
    pub fn open(&self, operation: &str, of: &str) -> OpenSpan {
        // A span id is the low half of a fresh 128-bit number.
        let span_id = format!("{:016x}", self.ids.fresh() & u128::from(u64::MAX)).into();
        let mut span = OpenSpan {
            context: self.clone(),
            span_id,
            name: format!("{operation} {of}"),
            started_at: self.clock.now(),
            began: Instant::now(),
            attributes: Map::new(),
            error: Some("cancelled".to_owned()),
        };
        span.set("gen_ai.operation.name", operation);
        span
    }
}

/// Bytes of a text in a span: a longer one is no label, whoever made it up.
const LONGEST_TEXT: usize = 512;

impl OpenSpan {
    /// Notes a fact; of a long text its beginning.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        if self.context.recorder.is_some() {
            let mut value = value.into();
            if let Value::String(text) = &mut value {
                text.truncate(text.floor_char_boundary(LONGEST_TEXT));
            }
            self.attributes.insert(key.to_owned(), value);
        }
    }

    /// What happens below this span.
    #[must_use]
    pub fn below(&self) -> TraceContext {
        TraceContext { parent: Some(Arc::clone(&self.span_id)), ..self.context.clone() }
    }

    /// Ends it; `error` is a machine code.
    pub fn close(mut self, error: Option<&str>) {
        self.error = error.map(str::to_owned);
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        let Some(recorder) = &self.context.recorder else { return };
        recorder.record(Span {
            trace_id: self.context.trace_id.to_string(),
            span_id: self.span_id.to_string(),
            parent_id: self.context.parent.as_deref().map(str::to_owned),
            name: std::mem::take(&mut self.name),
            started_at: self.started_at,
            duration_us: u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
            error: self.error.take(),
            attributes: std::mem::take(&mut self.attributes),
        });
    }
}

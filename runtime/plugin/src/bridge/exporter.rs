//! `observability/1` as a [`SpanExporter`].

use std::sync::Arc;

use roster_abi::contract::{self, CallContext, Export, kind};
use roster_model::BoxFuture;
use roster_model::observation::{ExportError, Span, SpanExporter};
use serde_json::{Map, Value};

use super::memory::Finder;
use crate::call::{CallError, Payload};
use crate::plugin::Ask;

/// An exporter of a plugin, whichever stands under its key; also while it is not there.
pub struct PluginExporter {
    find: Finder,
    component: String,
}

/// The exporter of this id.
#[must_use]
pub fn exporter(find: Finder, component: &str) -> Arc<dyn SpanExporter> {
    Arc::new(PluginExporter { find, component: component.to_owned() })
}

impl PluginExporter {
    async fn ask(&self, spans: &[Arc<Span>]) -> Result<(), ExportError> {
        let away = |why: &str| ExportError::Away(format!("the exporter `{}` {why}", self.component));
        let plugin = (self.find)().ok_or_else(|| away("is of a plugin that is not in config/runtime.toml"))?;
        let there = plugin.contribution(kind::OBSERVABILITY, &self.component);
        if there.is_none_or(|one| one.contract != "observability/1") {
            return Err(away("is not there now"));
        }
        let input = Payload::json(&Export { spans: spans.iter().map(|span| told(span)).collect() });
        let context = CallContext::default();
        let ask = Ask {
            component: &self.component,
            method: "export",
            input,
            context: &context,
            chunks: false,
            timeout: None,
        };
        let answer = plugin.ask(ask, false).await;
        let read = answer.and_then(|payload| {
            payload.read::<Map<String, Value>>().inspect_err(|error| plugin.counters.error(&error.code))
        });
        read.map(|_| ()).map_err(|error| refused(&error))
    }
}

/// A call that was never begun loses nothing.
fn refused(error: &CallError) -> ExportError {
    let message = format!("{} ({})", error.message, error.code);
    match error.code.as_str() {
        "plugin_unavailable" | "plugin_busy" => ExportError::Away(message),
        _ => ExportError::Failed(message),
    }
}

fn told(span: &Span) -> contract::Span {
    contract::Span {
        trace_id: span.trace_id.clone(),
        span_id: span.span_id.clone(),
        parent_id: span.parent_id.clone(),
        name: span.name.clone(),
        started_at: span.started_at.millis(),
        duration_us: span.duration_us,
        error: span.error.clone(),
        attributes: span.attributes.clone(),
    }
}

impl SpanExporter for PluginExporter {
    fn export(&self, spans: Vec<Arc<Span>>) -> BoxFuture<'_, Result<(), ExportError>> {
        Box::pin(async move { self.ask(&spans).await })
    }
}

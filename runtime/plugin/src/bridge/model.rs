//! `model/1` as a [`Provider`]: one object for all models of a plugin; the model is the component.

mod prompt;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use roster_abi::contract::{CallContext, Delta as Piece, Ended, Generate, kind};
use roster_model::BoxFuture;
use roster_model::provider::{
    Completion, Delta, DeltaStream, Provider, ProviderError, ProviderErrorKind, StopReason, Usage,
};

use crate::call::{Call, CallError, Event, Payload};
use crate::plugin::{Ask, Plugin};

/// The models of a plugin.
pub struct PluginProvider(Arc<Plugin>);

/// The provider of a plugin that has a model of this id now.
#[must_use]
pub fn provider(plugin: &Arc<Plugin>, id: &str) -> Option<Arc<dyn Provider>> {
    plugin.contribution(kind::MODEL_PROVIDER, id).filter(|one| one.contract == "model/1")?;
    Some(Arc::new(PluginProvider(Arc::clone(plugin))))
}

impl Provider for PluginProvider {
    fn name(&self) -> &str {
        self.0.key()
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<DeltaStream, ProviderError>> {
        Box::pin(async move {
            let generate = Generate {
                messages: completion.messages.iter().map(prompt::message).collect(),
                tools: completion.tools.iter().map(prompt::tool).collect(),
                settings: prompt::settings(&completion.settings),
            };
            let ask = Ask {
                component: &completion.model,
                method: "generate",
                input: Payload::json(&generate),
                context: &CallContext::default(),
                chunks: true,
                timeout: completion.settings.timeout,
            };
            let call = self.0.call(ask).await.map_err(|error| told(&error))?;
            Ok(Box::pin(Answer { call: Some(call) }) as DeltaStream)
        })
    }
}

/// The deltas of one call.
struct Answer {
    /// None after the end.
    call: Option<Call>,
}

impl Stream for Answer {
    type Item = Result<Delta, ProviderError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let Some(call) = &mut self.call else { return Poll::Ready(None) };
            let Poll::Ready(event) = call.poll_next(context) else { return Poll::Pending };
            let item = match event {
                Event::Progress(_) => continue,
                Event::Chunk(chunk) => chunk.read::<Piece>().map(delta),
                Event::Done(outcome) => {
                    self.call = None;
                    outcome.and_then(|payload| payload.read::<Ended>()).and_then(end)
                }
            };
            if item.is_err() {
                self.call = None;
            }
            return Poll::Ready(Some(item.map_err(|error| told(&error))));
        }
    }
}

fn delta(piece: Piece) -> Delta {
    match piece {
        Piece::Text { text } => Delta::Text(text),
        Piece::Reasoning { text } => Delta::Reasoning(text),
        Piece::ReasoningOpaque { value } => Delta::ReasoningOpaque(value),
        Piece::ToolCall { index, id, name } => Delta::ToolCall { index, id, name },
        Piece::ToolArguments { index, text } => Delta::ToolArguments { index, fragment: text },
    }
}

fn end(ended: Ended) -> Result<Delta, CallError> {
    let reason = match ended.finish_reason.as_str() {
        "stop" => StopReason::Stop,
        "length" => StopReason::Length,
        "tool-calls" => StopReason::ToolCalls,
        "content-filter" => StopReason::ContentFilter,
        other => {
            let text = format!("the model ended with `{}`, which is no reason", other.escape_debug());
            return Err(CallError::host("plugin_bad_output", text, false));
        }
    };
    let usage = Usage {
        input_tokens: ended.usage.input_tokens,
        output_tokens: ended.usage.output_tokens,
        total_tokens: ended.usage.total_tokens,
        cached_input_tokens: ended.usage.cached_input_tokens,
        reasoning_tokens: ended.usage.reasoning_tokens,
    };
    Ok(Delta::End { reason, usage, model: ended.model })
}

fn told(error: &CallError) -> ProviderError {
    let kind = match error.code.as_str() {
        "provider_key_missing" => ProviderErrorKind::KeyMissing,
        "provider_unreachable" => ProviderErrorKind::Connect,
        "provider_timeout" | "plugin_timeout" => ProviderErrorKind::Timeout,
        "provider_auth" => ProviderErrorKind::Auth,
        "provider_rate_limited" => ProviderErrorKind::RateLimited,
        "provider_overloaded" | "plugin_busy" => ProviderErrorKind::Overloaded,
        "provider_not_found" | "not_found" => ProviderErrorKind::NotFound,
        "provider_bad_request" | "invalid" => ProviderErrorKind::BadRequest,
        "context_length_exceeded" => ProviderErrorKind::ContextLength,
        "content_filter" => ProviderErrorKind::ContentFilter,
        "plugin_bad_output" => ProviderErrorKind::Protocol,
        _ => ProviderErrorKind::Server,
    };
    ProviderError::new(kind, error.message.clone())
}

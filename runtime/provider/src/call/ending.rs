//! How answers end and fail: the same for all dialects.

use roster_model::provider::{ProviderError, ProviderErrorKind, StopReason};
use serde_json::Value;

use crate::refusal::Refusal;

/// Most calls in one answer; more are a fault of the model or an attack.
pub(crate) const MAX_CALLS: usize = 256;

/// The reason handed on. What the answer holds counts more than what the server calls it: servers stop with `stop` after
/// calls, and with `tool_calls` after none.
///
/// # Errors
/// `Empty` when the model is done and said nothing.
pub(crate) fn ending(stop: Option<StopReason>, has_text: bool, has_calls: bool) -> Result<StopReason, ProviderError> {
    match stop {
        None | Some(StopReason::Stop | StopReason::ToolCalls) if has_calls => Ok(StopReason::ToolCalls),
        None | Some(StopReason::Stop | StopReason::ToolCalls) if has_text => Ok(StopReason::Stop),
        None | Some(StopReason::Stop | StopReason::ToolCalls) => {
            Err(ProviderError::new(ProviderErrorKind::Empty, "the answer holds neither text nor tool calls"))
        }
        Some(other) => Ok(other),
    }
}

/// What a provider reports inside an answer that began well.
pub(crate) fn reported(error: &Value) -> ProviderError {
    Refusal::from_value(error).into_error()
}

/// An answer, or a piece of one, that is no JSON of the expected form.
pub(crate) fn unreadable(error: &serde_json::Error) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Protocol, format!("the answer cannot be read: {error}"))
}

/// An answer that is out of all bounds.
pub(crate) fn too_many_calls() -> ProviderError {
    let message = format!("the answer holds more than {MAX_CALLS} tool calls");
    ProviderError::new(ProviderErrorKind::Protocol, message)
}

//! Tokens and reasons in OpenAI's words.

use roster_engine::turn::FinishReason;
use roster_model::provider::Usage;
use serde::Serialize;

/// Numbers a provider did not tell are 0: clients expect numbers.
#[derive(Debug, Serialize)]
pub(super) struct WireUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Debug, Serialize)]
struct PromptDetails {
    cached_tokens: u64,
}

#[derive(Debug, Serialize)]
struct CompletionDetails {
    reasoning_tokens: u64,
}

impl From<Usage> for WireUsage {
    fn from(usage: Usage) -> Self {
        let prompt_tokens = usage.input_tokens.unwrap_or(0);
        let completion_tokens = usage.output_tokens.unwrap_or(0);
        Self {
            prompt_tokens,
            completion_tokens,
            total_tokens: usage.total_tokens.unwrap_or(prompt_tokens.saturating_add(completion_tokens)),
            prompt_tokens_details: usage.cached_input_tokens.map(|cached_tokens| PromptDetails { cached_tokens }),
            completion_tokens_details: usage
                .reasoning_tokens
                .map(|reasoning_tokens| CompletionDetails { reasoning_tokens }),
        }
    }
}

/// `None` for a turn that failed: it has no finish reason at all. An agent out of steps was cut short, which clients
/// know as `length`; `tool_calls` would ask them to run tools they never get.
pub(super) fn finish_reason(reason: FinishReason) -> Option<&'static str> {
    match reason {
        FinishReason::Stop => Some("stop"),
        FinishReason::Length | FinishReason::ToolCalls => Some("length"),
        FinishReason::ContentFilter => Some("content_filter"),
        FinishReason::Error | FinishReason::Interrupted => None,
    }
}

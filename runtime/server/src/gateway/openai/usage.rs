//! Tokens and reasons in OpenAI's words.

use roster_engine::turn::FinishReason;
use roster_model::provider::Usage;
use serde::Serialize;

/// Tokens. Clients expect all three numbers: where one is neither told nor follows from the others, there is no usage
/// at all, since a 0 would be false.
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

impl WireUsage {
    /// `None` when it is not known.
    pub(super) fn of(usage: Usage) -> Option<Self> {
        let (input, output, total) = (usage.input_tokens, usage.output_tokens, usage.total_tokens);
        let rest = |known: Option<u64>| Some(total?.saturating_sub(known?));
        let prompt_tokens = input.or_else(|| rest(output))?;
        let completion_tokens = output.or_else(|| rest(input))?;
        Some(Self {
            prompt_tokens,
            completion_tokens,
            total_tokens: total.unwrap_or(prompt_tokens.saturating_add(completion_tokens)),
            prompt_tokens_details: usage.cached_input_tokens.map(|cached_tokens| PromptDetails { cached_tokens }),
            completion_tokens_details: usage
                .reasoning_tokens
                .map(|reasoning_tokens| CompletionDetails { reasoning_tokens }),
        })
    }
}

/// `None` for a turn that failed: it has no finish reason at all. An agent out of steps was cut short, which clients
/// know as `length`; `tool_calls` would ask them to run tools they never get. One that
/// waits for a person stops here; what waits stands beside the choices.
pub(super) fn finish_reason(reason: FinishReason) -> Option<&'static str> {
    match reason {
        FinishReason::Stop | FinishReason::Suspended => Some("stop"),
        FinishReason::Length | FinishReason::ToolCalls => Some("length"),
        FinishReason::ClientCalls => Some("tool_calls"),
        FinishReason::ContentFilter => Some("content_filter"),
        FinishReason::Error | FinishReason::Interrupted => None,
    }
}

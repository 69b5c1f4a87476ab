//! How a model is asked to think: newer ones are told an effort, older ones a budget of tokens.

use roster_model::provider::{Completion, PromptMessage, ToolChoice};

use super::NAME;

/// What a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinking<'a> {
    /// Nothing; most models then do not think.
    Unasked,
    /// To think as it sees fit, with this effort.
    Effort(&'a str),
    /// To think for at most so many tokens.
    Budget(u32),
}

/// The least budget that is taken.
const LEAST: u32 = 1024;

/// What the settings ask of this model. A forced tool call rules thinking out, and so does, with a budget, a call of this
/// turn that was made without thinking: the provider refuses both.
pub(super) fn asked<'a>(completion: &'a Completion, max_tokens: u32) -> Thinking<'a> {
    let settings = &completion.settings;
    let forced = matches!(settings.tool_choice, Some(ToolChoice::Required | ToolChoice::Named(_)));
    if settings.provider_options.contains_key("thinking") || (forced && !completion.tools.is_empty()) {
        return Thinking::Unasked;
    }
    let Some(effort) = settings.reasoning_effort.as_deref() else { return Thinking::Unasked };
    let budget = match effort {
        "none" | "minimal" => return Thinking::Unasked,
        "low" => 2048,
        "medium" => 8192,
        _ => 24_576,
    };
    if version(&completion.model) >= (4, 6) {
        return Thinking::Effort(effort);
    }
    let budget = budget.min(max_tokens / 2);
    if budget < LEAST || calls_without_thinking(&completion.messages) {
        return Thinking::Unasked;
    }
    Thinking::Budget(budget)
}

/// Major and minor version in a model's name: `claude-sonnet-4-5-20250929`, `claude-3-7-sonnet-latest`. A name without
/// one belongs to the newest.
pub(super) fn version(model: &str) -> (u32, u32) {
    let numbers = model.split(['-', '.', '@', ':']).skip_while(|part| part.parse::<u32>().is_err());
    // Eight digits are a date.
    let mut numbers = numbers.map_while(|part| part.parse().ok()).filter(|number| *number < 1000);
    let major = numbers.next().unwrap_or(u32::MAX);
    (major, numbers.next().unwrap_or(0))
}

/// Whether the model's messages since the person spoke hold one without thinking.
fn calls_without_thinking(messages: &[PromptMessage]) -> bool {
    let of_turn = messages.iter().rev().take_while(|message| !matches!(message, PromptMessage::User(_)));
    of_turn.into_iter().any(|message| match message {
        PromptMessage::Assistant { reasoning, .. } => {
            !reasoning.iter().any(|(_, opaque)| opaque.as_ref().is_some_and(|opaque| opaque.get(NAME).is_some()))
        }
        _ => false,
    })
}

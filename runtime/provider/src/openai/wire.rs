//! How answers look: chunks of a stream and whole ones. Every field may be absent, null or of another type.

use roster_model::provider::Usage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::lenient::{Count, Words};

/// A chunk of a stream, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Answer<'a> {
    pub(super) object: Words,
    pub(super) model: Words,
    #[serde(borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    pub(super) usage: Option<WireUsage>,
    pub(super) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    pub(super) index: Count,
    /// In a chunk.
    #[serde(borrow)]
    pub(super) delta: Option<Said<'a>>,
    /// In a whole answer.
    #[serde(borrow)]
    pub(super) message: Option<Said<'a>>,
    pub(super) finish_reason: Words,
    /// Some servers tell the tokens here.
    pub(super) usage: Option<WireUsage>,
    pub(super) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Said<'a> {
    pub(super) content: Words,
    pub(super) reasoning_content: Words,
    pub(super) reasoning: Words,
    pub(super) refusal: Words,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallPiece<'a>>>,
    /// What tool calls were called before there were several.
    #[serde(borrow)]
    pub(super) function_call: Option<Function<'a>>,
}

/// A tool call, or a piece of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallPiece<'a> {
    pub(super) index: Count,
    pub(super) id: Words,
    #[serde(borrow)]
    pub(super) function: Option<Function<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Function<'a> {
    pub(super) name: Words,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl Function<'_> {
    /// The JSON text of the arguments, or the piece of it: mostly sent inside a string, by a few servers as it is.
    pub(super) fn arguments(&self) -> String {
        let Some(raw) = self.arguments else { return String::new() };
        match raw.get() {
            "null" => String::new(),
            text if text.starts_with('"') => serde_json::from_str(text).unwrap_or_default(),
            text => text.to_owned(),
        }
    }
}

/// Tokens as told.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    prompt_tokens: Count,
    completion_tokens: Count,
    total_tokens: Count,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's name for cached tokens.
    prompt_cache_hit_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Count,
}

impl WireUsage {
    /// Puts what is told here over what was told before; what is not told here stays.
    pub(super) fn add_to(&self, usage: &mut Usage) {
        let cached = self.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens.0);
        let reasoning = self.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens.0);
        usage.input_tokens = self.prompt_tokens.0.or(usage.input_tokens);
        usage.output_tokens = self.completion_tokens.0.or(usage.output_tokens);
        usage.cached_input_tokens = cached.or(self.prompt_cache_hit_tokens.0).or(usage.cached_input_tokens);
        usage.reasoning_tokens = reasoning.or(usage.reasoning_tokens);
        let sum = usage.input_tokens.zip(usage.output_tokens).map(|(input, output)| input.saturating_add(output));
        usage.total_tokens = self.total_tokens.0.or(sum).or(usage.total_tokens);
    }
}

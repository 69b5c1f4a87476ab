//! How answers look: a stream's chunks are small answers. Every field may be absent, null or of another type.

use roster_model::provider::Usage;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::lenient::{Count, Words};

/// A chunk of a stream, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Answer {
    pub(super) candidates: Option<Vec<Candidate>>,
    pub(super) prompt_feedback: Option<Feedback>,
    pub(super) usage_metadata: Option<WireUsage>,
    pub(super) model_version: Words,
    pub(super) error: Option<Value>,
}

/// Why there are no candidates.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Feedback {
    pub(super) block_reason: Words,
    pub(super) block_reason_message: Words,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Candidate {
    pub(super) index: Count,
    pub(super) content: Option<Content>,
    pub(super) finish_reason: Words,
    pub(super) finish_message: Words,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Content {
    pub(super) parts: Option<Vec<Part>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Part {
    pub(super) text: Words,
    pub(super) thought: Option<bool>,
    pub(super) thought_signature: Words,
    pub(super) function_call: Option<FunctionCall>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionCall {
    pub(super) id: Words,
    pub(super) name: Words,
    pub(super) args: Option<Map<String, Value>>,
}

/// Tokens so far; thinking is not among the candidates'.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WireUsage {
    prompt_token_count: Count,
    tool_use_prompt_token_count: Count,
    cached_content_token_count: Count,
    candidates_token_count: Count,
    thoughts_token_count: Count,
    total_token_count: Count,
}

impl WireUsage {
    /// Puts what is told here over what was told before; what is not told here stays.
    pub(super) fn add_to(&self, usage: &mut Usage) {
        let sum = |counts: [Count; 2]| counts.iter().filter_map(|count| count.0).reduce(u64::saturating_add);
        let input = sum([self.prompt_token_count, self.tool_use_prompt_token_count]);
        let output = sum([self.candidates_token_count, self.thoughts_token_count]);
        usage.input_tokens = input.or(usage.input_tokens);
        usage.output_tokens = output.or(usage.output_tokens);
        usage.cached_input_tokens = self.cached_content_token_count.0.or(usage.cached_input_tokens);
        usage.reasoning_tokens = self.thoughts_token_count.0.or(usage.reasoning_tokens);
        let both = usage.input_tokens.zip(usage.output_tokens).map(|(input, output)| input.saturating_add(output));
        usage.total_tokens = self.total_token_count.0.or(both).or(usage.total_tokens);
    }
}

//! How answers look: events of a stream, and whole ones. Every field may be absent, null or of another type.

use roster_model::provider::Usage;
use serde::Deserialize;
use serde_json::Value;

use crate::lenient::{Count, Words};

/// An event of a stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Told {
    pub(super) r#type: Words,
    pub(super) output_index: Count,
    pub(super) summary_index: Count,
    pub(super) delta: Words,
    pub(super) arguments: Words,
    pub(super) item: Option<Value>,
    pub(super) response: Option<Response>,
}

/// An answer: at the beginning of a stream with nothing in it, else whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Response {
    pub(super) status: Words,
    pub(super) model: Words,
    pub(super) output: Option<Vec<Value>>,
    pub(super) error: Option<Value>,
    pub(super) incomplete_details: Option<Incomplete>,
    pub(super) usage: Option<WireUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Incomplete {
    pub(super) reason: Words,
}

/// An item of an answer, as far as something is made of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Item {
    pub(super) r#type: Words,
    pub(super) call_id: Words,
    pub(super) id: Words,
    pub(super) name: Words,
    pub(super) arguments: Words,
    /// Of a message.
    pub(super) content: Option<Vec<Content>>,
    /// Of reasoning.
    pub(super) summary: Option<Vec<Content>>,
    pub(super) encrypted_content: Words,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Content {
    pub(super) text: Words,
    pub(super) refusal: Words,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    input_tokens: Count,
    input_tokens_details: Option<InputDetails>,
    output_tokens: Count,
    output_tokens_details: Option<OutputDetails>,
    total_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Count,
}

impl WireUsage {
    pub(super) fn usage(&self) -> Usage {
        let (input, output) = (self.input_tokens.0, self.output_tokens.0);
        let sum = input.zip(output).map(|(input, output)| input.saturating_add(output));
        Usage {
            input_tokens: input,
            output_tokens: output,
            total_tokens: self.total_tokens.0.or(sum),
            cached_input_tokens: self.input_tokens_details.as_ref().and_then(|details| details.cached_tokens.0),
            reasoning_tokens: self.output_tokens_details.as_ref().and_then(|details| details.reasoning_tokens.0),
        }
    }
}

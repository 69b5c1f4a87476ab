//! How answers look: events of a stream, and whole ones. Every field may be absent, null or of another type.

use roster_model::provider::Usage;
use serde::Deserialize;
use serde_json::Value;

use crate::lenient::{Count, Words};

/// An event of a stream; also a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    pub(super) r#type: Words,
    /// Of `message_start`.
    pub(super) message: Option<Message>,
    /// Of blocks.
    pub(super) index: Count,
    pub(super) content_block: Option<Block>,
    pub(super) delta: Option<Delta>,
    pub(super) usage: Option<WireUsage>,
    pub(super) error: Option<Value>,
}

/// A message: at the beginning of a stream with nothing in it, else whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    pub(super) r#type: Words,
    pub(super) model: Words,
    pub(super) content: Option<Vec<Block>>,
    pub(super) stop_reason: Words,
    pub(super) usage: Option<WireUsage>,
    pub(super) error: Option<Value>,
}

/// A piece of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block {
    pub(super) r#type: Words,
    pub(super) text: Words,
    pub(super) thinking: Words,
    pub(super) signature: Words,
    /// Of redacted thinking.
    pub(super) data: Words,
    pub(super) id: Words,
    pub(super) name: Words,
    pub(super) input: Option<Value>,
}

/// What is new in a block, or at the message's end.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta {
    pub(super) r#type: Words,
    pub(super) text: Words,
    pub(super) thinking: Words,
    pub(super) signature: Words,
    pub(super) partial_json: Words,
    pub(super) stop_reason: Words,
}

/// Tokens as told; what was read from the cache and written to it is not among the input.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    input_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    output_tokens: Count,
}

/// The newest counts: later events repeat them, larger.
#[derive(Debug, Default)]
pub(super) struct Tokens(WireUsage);

impl Tokens {
    pub(super) fn take(&mut self, told: &WireUsage) {
        let all = &mut self.0;
        for (there, told) in [
            (&mut all.input_tokens, told.input_tokens),
            (&mut all.cache_creation_input_tokens, told.cache_creation_input_tokens),
            (&mut all.cache_read_input_tokens, told.cache_read_input_tokens),
            (&mut all.output_tokens, told.output_tokens),
        ] {
            there.0 = told.0.or(there.0);
        }
    }

    pub(super) fn usage(&self) -> Usage {
        let WireUsage { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = &self.0;
        let prompt = [input_tokens, cache_creation_input_tokens, cache_read_input_tokens].map(|count| count.0);
        let input = prompt.iter().flatten().copied().reduce(u64::saturating_add);
        let output = output_tokens.0;
        Usage {
            input_tokens: input,
            output_tokens: output,
            total_tokens: input.zip(output).map(|(input, output)| input.saturating_add(output)),
            cached_input_tokens: cache_read_input_tokens.0,
            reasoning_tokens: None,
        }
    }
}

//! How answers look: chunks of a stream and whole ones. Every field may be absent, null or of another type.

use std::fmt;

use roster_model::provider::Usage;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

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

/// Text, or nothing: a string, the text parts of a list, and empty for anything else.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words(pub(super) String);

impl Words {
    pub(super) fn given(self) -> Option<String> {
        (!self.0.is_empty()).then_some(self.0)
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordsVisitor)
    }
}

struct WordsVisitor;

impl<'de> Visitor<'de> for WordsVisitor {
    type Value = Words;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E>(self, text: &str) -> Result<Words, E> {
        Ok(Words(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Words, E> {
        Ok(Words(text))
    }

    fn visit_unit<E>(self) -> Result<Words, E> {
        Ok(Words::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Words, E> {
        Ok(Words::default())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Words, E> {
        Ok(Words(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Words, E> {
        Ok(Words(number.to_string()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Words, E> {
        Ok(Words::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Words, A::Error> {
        let mut all = Words::default();
        while let Some(part) = parts.next_element::<TextPart>()? {
            all.0.push_str(&part.text.0);
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Words, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Words::default())
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TextPart {
    text: Words,
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

/// Larger numbers are no counts of anything, and no JSON number of every reader.
const MAX_COUNT: u64 = 1 << 53;

/// A whole number from 0 to [`MAX_COUNT`], where one stands; also inside a string.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count(pub(super) Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let whole = value.as_u64().or_else(|| value.as_f64().and_then(whole_number));
        let whole = whole.or_else(|| value.as_str()?.parse().ok());
        Ok(Self(whole.filter(|count| *count <= MAX_COUNT)))
    }
}

/// Some servers write whole numbers with a fraction of zero.
fn whole_number(number: f64) -> Option<u64> {
    let is_count = number.fract() == 0.0 && (0.0..9e15).contains(&number);
    is_count.then_some(number as u64)
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

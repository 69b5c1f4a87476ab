//! Thinking that goes back to the provider it came from.
//!
//! Providers want their own thinking back unchanged, signed or encrypted, and in its place: before the words or the call
//! it led to. The stored form therefore names the dialect and what had been said before; another dialect leaves it out.

use roster_model::message::ToolCall;
use serde_json::{Map, Value, json};

/// What an answer had said when a piece of thinking ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct After {
    /// Some words.
    pub(crate) text: bool,
    /// So many calls.
    pub(crate) calls: usize,
}

/// The form stored: `{"<dialect>": data, "after": {"text", "calls"}}`.
pub(crate) fn opaque(dialect: &str, after: After, data: Value) -> Value {
    let after = json!({ "text": after.text, "calls": after.calls });
    Value::Object(Map::from_iter([(dialect.to_owned(), data), ("after".to_owned(), after)]))
}

/// A piece of a model's message.
#[derive(Debug, PartialEq)]
pub(crate) enum Said<'a> {
    /// Thinking of this dialect.
    Thought {
        /// The words that were shown.
        text: &'a str,
        /// What the dialect stored with them.
        data: &'a Value,
    },
    /// Words.
    Text(&'a str),
    /// A call.
    Call(&'a ToolCall),
}

struct Thought<'a> {
    text: &'a str,
    data: &'a Value,
    after: After,
}

/// A model's message in the order in which it was said, with the thinking of this dialect.
pub(crate) fn in_order<'a>(
    dialect: &str,
    text: &'a str,
    reasoning: &'a [(String, Option<Value>)],
    calls: &'a [ToolCall],
) -> Vec<Said<'a>> {
    let thoughts = reasoning.iter().filter_map(|(text, opaque)| thought(dialect, text, opaque.as_ref()?));
    let (first, rest): (Vec<_>, Vec<_>) = thoughts.partition(|thought| thought.after == After::default());
    let mut all: Vec<Said<'a>> = first.into_iter().map(Said::from).collect();
    if !text.is_empty() {
        all.push(Said::Text(text));
    }
    let mut rest = rest.into_iter().peekable();
    for (number, call) in calls.iter().enumerate() {
        while let Some(thought) = rest.next_if(|thought| thought.after.calls <= number) {
            all.push(thought.into());
        }
        all.push(Said::Call(call));
    }
    all.extend(rest.map(Said::from));
    all
}

fn thought<'a>(dialect: &str, text: &'a str, opaque: &'a Value) -> Option<Thought<'a>> {
    let data = opaque.get(dialect)?;
    let after = &opaque["after"];
    let calls = after["calls"].as_u64().and_then(|calls| usize::try_from(calls).ok()).unwrap_or(0);
    Some(Thought { text, data, after: After { text: after["text"].as_bool().unwrap_or(false), calls } })
}

impl<'a> From<Thought<'a>> for Said<'a> {
    fn from(thought: Thought<'a>) -> Self {
        Self::Thought { text: thought.text, data: thought.data }
    }
}

#[cfg(test)]
mod tests;

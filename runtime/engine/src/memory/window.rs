//! Tier 1: the newest N stored rows before the turn, within an optional budget of estimated tokens.

use roster_model::message::{Message, Part, StoredMessage, ToolResult};
use serde::Serialize;

use super::transcript::{FedResult, ResultCap, is_orchestration};

/// Tokens a text is taken to cost: one for each 4 bytes of ASCII and one for each other character (a Chinese character
/// is about one token).
#[must_use]
pub(super) fn estimate_text(text: &str) -> u32 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    u32::try_from(ascii.div_ceil(4) + other).unwrap_or(u32::MAX)
}

/// Tokens a message is taken to cost: those of its texts, of its calls' arguments and results, 256 for each file, and 4
/// for the message itself. The engine's own records count nothing, they are not fed; results count as they are fed, cut where they are above the cap. An estimate: providers count
/// differently.
#[must_use]
pub fn estimate_tokens(parts: &[Part], cap: ResultCap) -> u32 {
    measure(parts, cap).tokens
}

/// What a message costs, and which of its results are cut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) tokens: u32,
    pub(super) cut: Vec<CutResult>,
}

/// A result that is not fed whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CutResult {
    /// The call.
    pub call: String,
    /// The tool, by the name the model was offered.
    pub tool: String,
    /// How long it is.
    pub bytes: usize,
    /// How much is fed, the note included.
    pub fed: usize,
}

/// Estimates, and tells what is cut.
pub(super) fn measure(parts: &[Part], cap: ResultCap) -> Measured {
    let mut cut = Vec::new();
    let of_part = |part: &Part| match part {
        part if is_orchestration(part) => 0,
        Part::Text { text } | Part::Reasoning { text, .. } => estimate_text(text),
        Part::ToolCall(call) => {
            let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
            estimate_text(&call.name).saturating_add(estimate_text(&arguments))
        }
        Part::ToolResult(result) => {
            let fed = cap.fed(&result.output);
            cut.extend(CutResult::of(result, &fed));
            estimate_text(&fed.text)
        }
        Part::File { .. } => 256,
        Part::Error { .. } => 0,
    };
    let tokens = parts.iter().map(of_part).fold(4, u32::saturating_add);
    Measured { tokens, cut }
}

impl CutResult {
    /// What is told of a result that is fed like this; none when it is fed whole.
    #[must_use]
    pub fn of(result: &ToolResult, fed: &FedResult<'_>) -> Option<Self> {
        let bytes = fed.cut_from?;
        Some(Self { call: result.call_id.clone(), tool: result.name.clone(), bytes, fed: fed.text.len() })
    }
}

/// What has parts.
pub trait Spoken {
    /// The parts.
    fn parts(&self) -> &[Part];
}

impl Spoken for StoredMessage {
    fn parts(&self) -> &[Part] {
        &self.message.parts
    }
}

impl Spoken for Message {
    fn parts(&self) -> &[Part] {
        &self.parts
    }
}

/// Rows that are fed, rows that no longer fit, and what is left of the budget.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted<T> {
    /// Oldest first.
    pub kept: Vec<T>,
    /// Oldest first.
    pub cut: Vec<T>,
    /// Estimated tokens left; `None`: no budget.
    pub left: Option<u32>,
}

/// Cuts the oldest rows until the rest fits `max_tokens`. A row is never split, so neither is a call and its result:
/// both are parts of one row.
#[must_use]
pub fn fit<T: Spoken>(rows: Vec<T>, max_tokens: Option<u32>, cap: ResultCap) -> Fitted<T> {
    let Some(budget) = max_tokens else { return Fitted { kept: rows, cut: Vec::new(), left: None } };
    let mut left = budget;
    let mut from = rows.len();
    for row in rows.iter().rev() {
        let Some(rest) = left.checked_sub(estimate_tokens(row.parts(), cap)) else { break };
        left = rest;
        from -= 1;
    }
    let mut cut = rows;
    let kept = cut.split_off(from);
    Fitted { kept, cut, left: Some(left) }
}

#[cfg(test)]
mod tests;

//! Tier 1: the newest N stored rows before the turn, within an optional budget of estimated tokens.

use roster_model::message::{Part, StoredMessage};

/// Tokens a message is taken to cost: one for each 4 bytes of ASCII and one for each other character (a Chinese
/// character is about one token), and 4 for the message itself. An estimate: providers count differently.
#[must_use]
pub fn estimate_tokens(parts: &[Part]) -> u32 {
    let of_text = |text: &str| {
        let ascii = text.bytes().filter(u8::is_ascii).count();
        let other = text.chars().filter(|c| !c.is_ascii()).count();
        ascii.div_ceil(4) + other
    };
    let of_part = |part: &Part| match part {
        Part::Text { text } | Part::Reasoning { text, .. } => of_text(text),
        Part::ToolCall(call) => {
            of_text(&call.name) + of_text(&serde_json::to_string(&call.arguments).unwrap_or_default())
        }
        Part::ToolResult(result) => of_text(&result.output.to_string()),
        Part::File { .. } => 256,
        Part::Error { .. } => 0,
    };
    u32::try_from(parts.iter().map(of_part).sum::<usize>()).unwrap_or(u32::MAX).saturating_add(4)
}

/// Cuts the oldest rows until the rest fits `max_tokens`. A row is never split, so neither is a call and its result:
/// both are parts of one row.
#[must_use]
pub fn fit(rows: Vec<StoredMessage>, max_tokens: Option<u32>) -> Vec<StoredMessage> {
    let Some(budget) = max_tokens else { return rows };
    let mut left = budget;
    let mut kept = 0;
    for row in rows.iter().rev() {
        let cost = estimate_tokens(&row.message.parts);
        let Some(rest) = left.checked_sub(cost) else { break };
        left = rest;
        kept += 1;
    }
    let cut = rows.len() - kept;
    rows.into_iter().skip(cut).collect()
}

//! The transcript reader: the only way from stored rows to a provider.
//!
//! What it yields is legal for every provider: whole call/result pairs in order, no orphan, no repeated call id, no
//! empty message. A call that never got its result (the client left, the process died) is answered by a result that
//! says so; a made-up success never is. No other code cuts, merges or reorders messages.

use std::collections::HashSet;

use roster_model::message::{Part, Role, ToolCall, ToolResult};
use roster_model::provider::{PromptMessage, UserPart};
use serde_json::Value;

/// What the model is told of a call whose result never came.
pub const INTERRUPTED_RESULT: &str =
    "This call was interrupted before its result was known. It may or may not have taken effect.";

/// Reads rows, oldest first, into prompt messages. System rows, reasoning without an opaque part and error parts are
/// left out; a row with nothing left is left out whole.
pub fn read<'a>(rows: impl IntoIterator<Item = (Role, &'a [Part])>) -> Vec<PromptMessage> {
    let mut reader = Reader::default();
    for (role, parts) in rows {
        match role {
            Role::System => {}
            Role::User => reader.user(parts),
            Role::Assistant => reader.assistant(parts),
        }
    }
    reader.prompt
}

#[derive(Default)]
struct Reader {
    prompt: Vec<PromptMessage>,
    /// Call ids already in the prompt: an id that comes twice is renamed, call and result alike.
    seen: HashSet<String>,
}

/// One model call's worth of an assistant row.
#[derive(Default)]
struct Step {
    text: String,
    reasoning: Vec<(String, Option<Value>)>,
    calls: Vec<ToolCall>,
    results: Vec<ToolResult>,
}

impl Reader {
    fn user(&mut self, parts: &[Part]) {
        let parts: Vec<UserPart> = parts.iter().filter_map(user_part).collect();
        if !parts.is_empty() {
            self.prompt.push(PromptMessage::User(parts));
        }
    }

    fn assistant(&mut self, parts: &[Part]) {
        let mut step = Step::default();
        for part in parts {
            if !matches!(part, Part::ToolResult(_)) && !step.results.is_empty() {
                self.close(std::mem::take(&mut step));
            }
            match part {
                Part::Text { text } => step.text.push_str(text),
                Part::Reasoning { text, opaque } => {
                    if opaque.is_some() {
                        step.reasoning.push((text.clone(), opaque.clone()));
                    }
                }
                Part::ToolCall(call) => step.calls.push(call.clone()),
                Part::ToolResult(result) => step.results.push(result.clone()),
                Part::File { .. } | Part::Error { .. } => {}
            }
        }
        self.close(step);
    }

    /// Pairs a step's calls with its results and puts both into the prompt.
    fn close(&mut self, step: Step) {
        let Step { text, reasoning, calls, mut results } = step;
        let mut paired_calls = Vec::with_capacity(calls.len());
        let mut paired_results = Vec::with_capacity(calls.len());
        for mut call in calls {
            let found = results.iter().position(|result| result.call_id == call.id);
            let mut result = found.map_or_else(|| interrupted(&call), |at| results.remove(at));
            let id = self.unique(&call.id);
            call.id.clone_from(&id);
            result.call_id = id;
            paired_calls.push(call);
            paired_results.push(result);
        }
        if text.is_empty() && paired_calls.is_empty() {
            return;
        }
        self.prompt.push(PromptMessage::Assistant { text, reasoning, calls: paired_calls });
        if !paired_results.is_empty() {
            self.prompt.push(PromptMessage::Tool(paired_results));
        }
    }

    fn unique(&mut self, id: &str) -> String {
        let mut candidate = if id.is_empty() { "call".to_owned() } else { id.to_owned() };
        let mut n = 1;
        while !self.seen.insert(candidate.clone()) {
            n += 1;
            candidate = format!("{id}_{n}");
        }
        candidate
    }
}

fn user_part(part: &Part) -> Option<UserPart> {
    match part {
        Part::Text { text } if !text.is_empty() => Some(UserPart::Text(text.clone())),
        Part::File { media_type, data, .. } => {
            Some(UserPart::File { media_type: media_type.clone(), data: data.clone() })
        }
        _ => None,
    }
}

fn interrupted(call: &ToolCall) -> ToolResult {
    ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        output: Value::String(INTERRUPTED_RESULT.to_owned()),
        is_error: true,
        duration_ms: 0,
    }
}

#[cfg(test)]
mod tests;

//! The transcript reader: the only way from stored rows to a provider.
//!
//! What it yields is legal for every provider ([`rules`] says what that means, dialect by dialect): whole call/result
//! pairs in order, no orphan, no repeated or illegal call id, no empty message, a person's words first. A call that never
//! got its result (the client left, the process died) is answered by a result that says so; a made-up success never is. A
//! result above the cap ([`ResultCap`]) is fed as its beginning and end. No other code cuts, merges or reorders messages.

mod cut;
pub mod rules;

use std::collections::{HashMap, HashSet, VecDeque};

use roster_model::message::{Part, Role, ToolCall, ToolResult};
use roster_model::provider::{PromptMessage, UserPart};
use serde_json::Value;

use crate::definition::orchestration::ORCHESTRATE;

pub use cut::{FedResult, ResultCap};

/// What the model is told of a call whose result never came.
pub const INTERRUPTED_RESULT: &str =
    "This call was interrupted before its result was known. It may or may not have taken effect.";

/// What stands for a person's words where a provider wants some and the rows have none: before a window that begins with
/// the model's answer.
pub const PLACEHOLDER: &str = ".";
/// Longest call id every provider takes, and longest tool name.
const LONGEST_ID: usize = 40;
const LONGEST_NAME: usize = 64;

/// Reads rows into the messages of a model call: they begin and end so that a model can answer, and no result in them is
/// longer than the cap.
pub fn for_model<'a>(rows: impl IntoIterator<Item = (Role, &'a [Part])>, cap: ResultCap) -> Vec<PromptMessage> {
    let mut prompt = read(rows, cap);
    let placeholder = || PromptMessage::User(vec![UserPart::Text(PLACEHOLDER.to_owned())]);
    if matches!(prompt.last(), Some(PromptMessage::Assistant { .. })) {
        prompt.push(placeholder());
    }
    if !matches!(prompt.first(), Some(PromptMessage::User(_))) {
        prompt.insert(0, placeholder());
    }
    prompt
}

/// Reads rows, oldest first, into prompt messages. System rows, reasoning without an opaque part and error parts are
/// left out; a row with nothing left is left out whole.
fn read<'a>(rows: impl IntoIterator<Item = (Role, &'a [Part])>, cap: ResultCap) -> Vec<PromptMessage> {
    let mut reader = Reader { cap, ..Reader::default() };
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
    cap: ResultCap,
    prompt: Vec<PromptMessage>,
    /// Call ids already in the prompt: an id that comes twice is renamed, call and result alike.
    seen: HashSet<String>,
    /// The last number each repeated id was given.
    repeats: HashMap<String, usize>,
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
        for part in parts.iter().filter(|part| !is_orchestration(part)) {
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
                Part::ToolResult(result) => step.results.push(self.cap.result(result)),
                Part::File { .. } | Part::Error { .. } => {}
            }
        }
        self.close(step);
    }

    /// Pairs a step's calls with its results and puts both into the prompt.
    fn close(&mut self, step: Step) {
        let Step { text, reasoning, calls, results } = step;
        let mut by_call: HashMap<String, VecDeque<ToolResult>> = HashMap::new();
        for result in results {
            by_call.entry(result.call_id.clone()).or_default().push_back(result);
        }
        let mut paired_calls = Vec::with_capacity(calls.len());
        let mut paired_results = Vec::with_capacity(calls.len());
        for mut call in calls {
            let found = by_call.get_mut(&call.id).and_then(VecDeque::pop_front);
            let mut result = found.unwrap_or_else(|| interrupted(&call));
            let id = self.unique(&call.id);
            call.id.clone_from(&id);
            call.name = legal(&call.name, LONGEST_NAME, "unknown");
            result.call_id = id;
            result.name.clone_from(&call.name);
            paired_calls.push(call);
            paired_results.push(result);
        }
        let text = if text.trim().is_empty() { String::new() } else { text };
        if text.is_empty() && paired_calls.is_empty() {
            return;
        }
        self.answer(text, reasoning, paired_calls);
        if !paired_results.is_empty() {
            self.prompt.push(PromptMessage::Tool(paired_results));
        }
    }

    /// An answer that follows an answer (its question was cut away or said nothing) goes on with it: a call must follow a
    /// person's words or a tool's result.
    fn answer(&mut self, text: String, reasoning: Vec<(String, Option<Value>)>, calls: Vec<ToolCall>) {
        if let Some(PromptMessage::Assistant { text: said, reasoning: thought, calls: called }) = self.prompt.last_mut()
            && called.is_empty()
        {
            if !said.is_empty() && !text.is_empty() {
                said.push_str("\n\n");
            }
            said.push_str(&text);
            thought.extend(reasoning);
            *called = calls;
            return;
        }
        self.prompt.push(PromptMessage::Assistant { text, reasoning, calls });
    }

    fn unique(&mut self, id: &str) -> String {
        let first = legal(id, LONGEST_ID, "call");
        if self.seen.insert(first.clone()) {
            return first;
        }
        // Each id goes on where its last repeat ended: a thousand repeats are a thousand steps.
        let next = self.repeats.entry(first.clone()).or_insert(1);
        loop {
            *next += 1;
            let tail = format!("_{next}");
            let candidate = format!("{}{tail}", &first[..first.len().min(LONGEST_ID - tail.len())]);
            if self.seen.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

/// The record of an orchestration: the engine's own, no model made the call, and what it came to stands in words beside it.
pub(crate) fn is_orchestration(part: &Part) -> bool {
    match part {
        Part::ToolCall(call) => call.name == ORCHESTRATE && call.arguments.contains_key("pattern"),
        Part::ToolResult(result) => result.name == ORCHESTRATE && result.output.get("stages").is_some(),
        _ => false,
    }
}

/// The letters every provider takes in ids and names; others become `_`.
fn legal(text: &str, longest: usize, instead: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    if text.is_empty() { instead.to_owned() } else { text.chars().map(legal).take(longest).collect() }
}

fn user_part(part: &Part) -> Option<UserPart> {
    match part {
        Part::Text { text } if !text.trim().is_empty() => Some(UserPart::Text(text.clone())),
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

//! The assistant's message as it grows.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use roster_model::id::IdSource;
use roster_model::message::{Part, Role, ToolCall, ToolResult};
use roster_model::processor::Row;
use roster_model::provider::{Delta, Usage};
use roster_model::time::Timestamp;
use serde_json::Value;

use super::pattern::StageReport;
use super::step::MOST_BYTES;
use crate::memory::feed::ModelCall;
use crate::memory::transcript::{ResultCap, is_orchestration};
use crate::memory::{CutResult, estimate_tokens};
use crate::tool::parse_arguments;

/// A call being written by the model.
pub(super) struct OpenCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) text: String,
}

/// Everything said in this turn so far.
pub(super) struct Answer {
    pub(super) parts: Vec<Part>,
    pub(super) usage: Usage,
    /// Call ids known to be taken.
    taken: HashSet<String>,
    /// True when `taken` holds every id of the thread. Else a short id of the provider's is not believed to be new.
    all_known: bool,
    /// Where this step's parts begin: text of two steps is never joined.
    step_start: usize,
    /// How much of a result is fed.
    cap: ResultCap,
    /// Results that are not fed whole, by their calls, and what is fed instead: cut once, not for each model call.
    cut: HashMap<String, (CutResult, Value)>,
    /// The model calls so far, one a step.
    pub(super) model_calls: Vec<ModelCall>,
    /// The number of this step, from 1.
    step: u32,
    /// What did not fit the form of answers, while the model tries once more.
    rejected: Option<Rejected>,
    /// Bytes said so far, calls and thinking included.
    bytes: usize,
    /// What other agents did for the model.
    pub(super) stages: Vec<StageReport>,
}

/// Parts of an answer that did not fit, and what the model is told of it after them.
struct Rejected {
    parts: Range<usize>,
    told: String,
}

/// Ids at least this long are taken to be random.
const BELIEVED_RANDOM: usize = 16;

impl Answer {
    /// An empty answer after these messages.
    pub(super) fn after<'a>(
        history: impl Iterator<Item = (Role, &'a [Part])>,
        all_known: bool,
        cap: ResultCap,
    ) -> Self {
        let mut taken = HashSet::new();
        for (_, parts) in history {
            for part in parts {
                if let Part::ToolCall(call) = part {
                    taken.insert(call.id.clone());
                }
            }
        }
        Self {
            parts: Vec::new(),
            usage: Usage::default(),
            taken,
            all_known,
            step_start: 0,
            cap,
            cut: HashMap::new(),
            model_calls: Vec::new(),
            step: 0,
            rejected: None,
            bytes: 0,
            stages: Vec::new(),
        }
    }

    /// The answer of a turn that goes on: what it said before it was suspended.
    pub(super) fn resumed(mut self, parts: Vec<Part>) -> Self {
        for part in &parts {
            match part {
                Part::ToolCall(call) => _ = self.taken.insert(call.id.clone()),
                Part::ToolResult(result) if !is_orchestration(part) => self.note_cut(result),
                _ => {}
            }
        }
        let begins =
            |pair: &[&Part]| matches!(pair, [Part::ToolResult(_), next] if !matches!(next, Part::ToolResult(_)));
        let of_models: Vec<&Part> = parts.iter().filter(|part| !is_orchestration(part)).collect();
        let more = of_models.windows(2).filter(|pair| begins(pair)).count();
        self.step = u32::try_from(more).unwrap_or(u32::MAX).saturating_add(1);
        self.step_start = parts.len();
        self.parts = parts;
        self
    }

    /// What stands after the question so far, as the model is told it but for the length of results.
    pub(super) fn said(&self) -> Vec<Row> {
        self.said_as(Part::clone)
    }

    /// The same with results as they are fed.
    pub(super) fn said_cut(&self) -> Vec<Row> {
        self.said_as(|part| match part {
            Part::ToolResult(ToolResult { call_id, name, is_error, duration_ms, .. }) => {
                let Some((_, output)) = self.cut.get(call_id) else { return part.clone() };
                let (call_id, name, output) = (call_id.clone(), name.clone(), output.clone());
                Part::ToolResult(ToolResult { call_id, name, output, is_error: *is_error, duration_ms: *duration_ms })
            }
            part => part.clone(),
        })
    }

    fn said_as(&self, told: impl Fn(&Part) -> Part) -> Vec<Row> {
        let assistant = |parts: &[Part]| (Role::Assistant, parts.iter().map(&told).collect());
        let mut rows = match &self.rejected {
            None => vec![assistant(&self.parts)],
            Some(rejected) => {
                let (before, after) = self.parts.split_at(rejected.parts.end);
                vec![assistant(before), (Role::User, vec![Part::text(rejected.told.as_str())]), assistant(after)]
            }
        };
        rows.retain(|(_, parts)| !parts.is_empty());
        rows
    }

    /// The words of this step.
    pub(super) fn step_words(&self) -> String {
        super::open::text_of(&self.parts[self.step_start..])
    }

    /// Puts this in place of the words of this step.
    pub(super) fn set_step_words(&mut self, words: &str) {
        let step = self.parts.split_off(self.step_start);
        self.parts.extend(step.into_iter().filter(|part| !matches!(part, Part::Text { .. })));
        self.parts.push(Part::text(words));
    }

    /// This step's answer does not stand; the model is told why.
    pub(super) fn reject(&mut self, told: String) {
        self.rejected = Some(Rejected { parts: self.step_start..self.parts.len(), told });
    }

    /// Takes a rejected answer out, now that there is another; true when there was one.
    pub(super) fn drop_rejected(&mut self) -> bool {
        let Some(Rejected { parts, .. }) = self.rejected.take() else { return false };
        self.step_start -= parts.len();
        self.parts.drain(parts);
        true
    }

    /// How many steps there were.
    pub(super) fn steps(&self) -> u32 {
        self.step
    }

    /// Counts a piece; false when the turn has said too much already.
    pub(super) fn has_room(&mut self, delta: &Delta) -> bool {
        self.bytes += match delta {
            Delta::Text(piece) | Delta::Reasoning(piece) => piece.len(),
            Delta::ToolArguments { fragment, .. } => fragment.len(),
            Delta::ToolCall { name, .. } => name.len(),
            Delta::ReasoningOpaque(value) => value.to_string().len(),
            Delta::End { .. } => 0,
        };
        self.bytes <= MOST_BYTES
    }

    pub(super) fn begin_step(&mut self) {
        self.step_start = self.parts.len();
        self.step += 1;
    }

    /// Notes that a model is asked, and what it is told that this turn said; the next model asked in the same step stands
    /// in its place.
    pub(super) fn asked(&mut self, model: &str, at: Timestamp, said: &[Row]) {
        let step = self.step;
        self.model_calls.retain(|call| call.step != step);
        let tokens = said.iter().map(|(_, parts)| u64::from(estimate_tokens(parts, self.cap))).sum();
        let parts = said.iter().map(|(_, parts)| parts.len()).sum();
        let cut = self.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => self.cut.get(&result.call_id).map(|(cut, _)| cut.clone()),
            _ => None,
        });
        let (model, cut) = (model.to_owned(), cut.collect());
        self.model_calls.push(ModelCall { step, at, model, parts, tokens, cut, usage: Usage::default() });
    }

    pub(super) fn text(&mut self, piece: &str) {
        if self.parts.len() > self.step_start
            && let Some(Part::Text { text }) = self.parts.last_mut()
        {
            text.push_str(piece);
        } else if !piece.is_empty() {
            self.parts.push(Part::text(piece));
        }
    }

    pub(super) fn reasoning(&mut self, piece: &str) {
        if self.parts.len() > self.step_start
            && let Some(Part::Reasoning { text, opaque: None }) = self.parts.last_mut()
        {
            text.push_str(piece);
        } else if !piece.is_empty() {
            self.parts.push(Part::Reasoning { text: piece.to_owned(), opaque: None });
        }
    }

    pub(super) fn reasoning_opaque(&mut self, value: Value) {
        if self.parts.len() > self.step_start
            && let Some(Part::Reasoning { opaque, .. }) = self.parts.last_mut()
            && opaque.is_none()
        {
            *opaque = Some(value);
        } else {
            self.parts.push(Part::Reasoning { text: String::new(), opaque: Some(value) });
        }
    }

    /// The id a new call gets: the provider's own when it is surely new in the thread, else a fresh one.
    pub(super) fn call_id(&mut self, offered: Option<String>, ids: &dyn IdSource) -> String {
        let surely_new =
            |id: &String| !id.is_empty() && !self.taken.contains(id) && (self.all_known || id.len() >= BELIEVED_RANDOM);
        let id = offered.filter(surely_new).unwrap_or_else(|| format!("call_{:032x}", ids.fresh()));
        self.taken.insert(id.clone());
        id
    }

    /// Writes down a call that is whole.
    pub(super) fn call(&mut self, open: OpenCall) -> ToolCall {
        let OpenCall { id, name, text } = open;
        let call = match parse_arguments(&text) {
            Ok(arguments) => ToolCall { id, name, arguments, malformed: None },
            Err(_) => ToolCall { id, name, arguments: serde_json::Map::new(), malformed: Some(text) },
        };
        self.parts.push(Part::ToolCall(call.clone()));
        call
    }

    fn note_cut(&mut self, result: &ToolResult) {
        let fed = self.cap.fed(&result.output);
        if let Some(cut) = CutResult::of(result, &fed) {
            self.cut.insert(result.call_id.clone(), (cut, Value::String(fed.text.into_owned())));
        }
    }

    pub(super) fn result(&mut self, result: ToolResult) {
        self.note_cut(&result);
        self.parts.push(Part::ToolResult(result));
    }

    /// The words of the last step that said any: what a caller of this agent is given.
    pub(super) fn last_text(&self) -> String {
        let mut last = String::new();
        let mut step = String::new();
        for part in &self.parts {
            match part {
                Part::Text { text } => step.push_str(text),
                Part::ToolResult(_) if !step.is_empty() => last = std::mem::take(&mut step),
                _ => {}
            }
        }
        if step.is_empty() { last } else { step }
    }

    /// Adds a step's tokens.
    pub(super) fn spend(&mut self, usage: Usage) {
        if let Some(call) = self.model_calls.last_mut() {
            call.usage = usage;
        }
        self.usage = add_usage(self.usage, usage);
    }

    /// Adds the tokens of a turn below this one.
    pub(super) fn spend_below(&mut self, usage: Usage) {
        self.usage = add_usage(self.usage, usage);
    }

    /// Writes down a call that the engine makes by itself.
    pub(super) fn fixed_call(&mut self, call: ToolCall) {
        self.taken.insert(call.id.clone());
        self.parts.push(Part::ToolCall(call));
    }

    /// The result of an orchestration that began before the turn waited.
    pub(super) fn orchestration(&self) -> Option<ToolResult> {
        self.parts.iter().find_map(|part| match part {
            Part::ToolResult(result) if is_orchestration(part) => Some(result.clone()),
            _ => None,
        })
    }

    /// Its result so far, in place of what was known before.
    pub(super) fn fixed_result(&mut self, result: ToolResult) {
        let known = self.parts.iter_mut().find_map(|part| match part {
            Part::ToolResult(known) if known.call_id == result.call_id => Some(known),
            _ => None,
        });
        match known {
            Some(known) => *known = result,
            None => self.parts.push(Part::ToolResult(result)),
        }
    }
}

/// Two counts of tokens together.
pub(super) fn add_usage(a: Usage, b: Usage) -> Usage {
    let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
    };
    Usage {
        input_tokens: add(a.input_tokens, b.input_tokens),
        output_tokens: add(a.output_tokens, b.output_tokens),
        total_tokens: add(a.total_tokens, b.total_tokens),
        cached_input_tokens: add(a.cached_input_tokens, b.cached_input_tokens),
        reasoning_tokens: add(a.reasoning_tokens, b.reasoning_tokens),
    }
}

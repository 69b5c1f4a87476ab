//! What came of a turn against what was expected.

use roster_engine::turn::{Failure, FinishReason};
use roster_model::provider::Usage;
use serde::Serialize;
use serde_json::{Map, Value};

use super::file::{ExpectedCall, Finish, Turn};

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Fault {
    /// The turn, counted from 1; 0: of no single turn.
    pub(super) turn: usize,
    /// What is wrong.
    pub(super) what: String,
    /// What was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expected: Option<String>,
    /// What came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) got: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

impl Fault {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { turn: 0, what: what.into(), expected: None, got: None, hint: None }
    }

    fn differing(what: impl Into<String>, expected: String, got: String) -> Self {
        Self { expected: Some(expected), got: Some(got), ..Self::new(what) }
    }
}

/// A call as it came.
#[derive(Debug)]
pub(super) struct Called {
    /// As the model is offered it.
    pub(super) offered: String,
    /// As definitions write it.
    pub(super) written: String,
    pub(super) arguments: Map<String, Value>,
}

/// What came of a turn.
#[derive(Debug)]
pub(super) struct Came {
    pub(super) answer: String,
    pub(super) calls: Vec<Called>,
    pub(super) model_calls: usize,
    pub(super) usage: Usage,
    pub(super) end: Result<FinishReason, Failure>,
}

/// Everything that is not as expected.
pub(super) fn judge(turn: &Turn, came: &Came) -> Vec<Fault> {
    let reason = match &came.end {
        Ok(reason) => *reason,
        Err(failure) if turn.finish == Finish::Error => failure.reason,
        // What it said until then is no answer to be judged.
        Err(failure) => return vec![Fault::new(format!("the turn failed ({}): {}", failure.code, failure.message))],
    };
    let mut faults = Vec::new();
    let wanted = turn.finish.reason().as_str();
    if reason.as_str() != wanted {
        faults.push(Fault::differing("the turn ends otherwise", wanted.to_owned(), reason.as_str().to_owned()));
    }
    faults.extend(turn.calls.as_ref().and_then(|calls| calls_differ(calls, &came.calls)));
    let answer = || Some(came.answer.clone());
    for text in turn.contains.iter().filter(|text| !came.answer.contains(text.as_str())) {
        faults.push(Fault { got: answer(), ..Fault::new(format!("the answer does not contain \"{text}\"")) });
    }
    for text in turn.lacks.iter().filter(|text| came.answer.contains(text.as_str())) {
        faults.push(Fault { got: answer(), ..Fault::new(format!("the answer contains \"{text}\"")) });
    }
    for pattern in turn.matches.iter().filter(|pattern| !pattern.0.is_match(&came.answer)) {
        faults.push(Fault { got: answer(), ..Fault::new(format!("nothing in the answer matches `{}`", pattern.0)) });
    }
    faults.extend(limits(turn, came));
    faults
}

fn limits(turn: &Turn, came: &Came) -> Vec<Fault> {
    let mut faults = Vec::new();
    if let Some(most) = turn.max_model_calls.filter(|most| came.model_calls > *most) {
        faults.push(Fault::differing(
            "more model calls than `max_model_calls`",
            most.to_string(),
            came.model_calls.to_string(),
        ));
    }
    match (turn.max_tokens, came.usage.total_tokens) {
        (Some(most), Some(used)) if used > most => {
            faults.push(Fault::differing("more tokens than `max_tokens`", most.to_string(), used.to_string()));
        }
        (Some(_), None) => faults.push(Fault::new("`max_tokens` cannot be told: the provider counts no tokens")),
        _ => {}
    }
    faults
}

fn calls_differ(expected: &[ExpectedCall], came: &[Called]) -> Option<Fault> {
    let is_as = |(expected, came): (&ExpectedCall, &Called)| {
        (expected.tool == came.written || expected.tool == came.offered) && holds(&came.arguments, &expected.arguments)
    };
    if expected.len() == came.len() && expected.iter().zip(came).all(is_as) {
        return None;
    }
    let line = |tool: &str, arguments: &Map<String, Value>| format!("{tool} {}", Value::Object(arguments.clone()));
    let wanted = expected.iter().map(|call| line(&call.tool, &call.arguments));
    let got = came.iter().map(|call| line(&call.written, &call.arguments));
    Some(Fault::differing("the calls of tools differ", listed(wanted), listed(got)))
}

fn listed(lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { "(no call)".to_owned() } else { lines.join("\n") }
}

/// Whether everything of `wanted` is in `there`, tables within tables too.
pub(super) fn holds(there: &Map<String, Value>, wanted: &Map<String, Value>) -> bool {
    wanted.iter().all(|(key, wanted)| match (there.get(key), wanted) {
        (Some(Value::Object(there)), Value::Object(wanted)) => holds(there, wanted),
        (Some(Value::Number(there)), Value::Number(wanted)) => there == wanted || there.as_f64() == wanted.as_f64(),
        (there, wanted) => there == Some(wanted),
    })
}

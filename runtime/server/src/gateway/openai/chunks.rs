//! The streamed answer: chunks, the last with the reason, the usage where asked for, and the done mark.

use roster_engine::turn::{Failure, FailureKind, TurnEvent};
use serde::Serialize;

use super::Head;
use super::suspended::{Suspended, Waiting};
use super::usage::{WireUsage, finish_reason};
use crate::http::error::ApiError;
use crate::http::sse::{Encode, Frames};

/// Encodes a turn.
pub(super) struct Chunks {
    head: Head,
    /// The usage is told in a chunk of its own, and every other chunk says that it has none.
    with_usage: bool,
    begun: bool,
    /// Calls that wait for a person.
    waiting: Vec<Waiting>,
    /// Ids of the calls of the client's tools, each with whether anything of its arguments went out.
    calls: Vec<(String, bool)>,
}

#[derive(Serialize)]
struct Chunk<'a, C> {
    id: &'a str,
    object: &'static str,
    created: i64,
    model: &'a str,
    choices: C,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<WireUsage>>,
    /// On the last chunk of a turn that waits for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    roster: Option<Suspended<'a>>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    delta: Delta<'a>,
    logprobs: Option<()>,
    finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[CallPiece<'a>; 1]>,
}

/// The beginning of a call, or a piece of its arguments.
#[derive(Serialize)]
struct CallPiece<'a> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    function: FunctionPiece<'a>,
}

#[derive(Serialize)]
struct FunctionPiece<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    arguments: &'a str,
}

impl Chunks {
    pub(super) fn new(head: Head, with_usage: bool) -> Self {
        Self { head, with_usage, begun: false, waiting: Vec::new(), calls: Vec::new() }
    }

    pub(super) fn remembers(&self) -> bool {
        self.head.remembers
    }

    fn chunk<C: Serialize>(&self, choices: C, usage: Option<Option<WireUsage>>, ends: bool, out: &mut Frames) {
        out.json(&Chunk {
            id: &self.head.id,
            object: "chat.completion.chunk",
            created: self.head.created,
            model: &self.head.model,
            choices,
            usage,
            roster: if ends { Suspended::new(&self.head.turn, &self.waiting) } else { None },
        });
    }

    fn delta(&mut self, delta: Delta<'_>, finish_reason: Option<&'static str>, out: &mut Frames) {
        if !self.begun {
            self.begun = true;
            self.delta(Delta { role: Some("assistant"), content: Some(""), ..Delta::default() }, None, out);
        }
        let choice = Choice { index: 0, delta, logprobs: None, finish_reason };
        self.chunk([choice], self.with_usage.then_some(None), finish_reason.is_some(), out);
    }

    fn call_begins(&mut self, id: String, name: &str, out: &mut Frames) {
        let function = FunctionPiece { name: Some(name), arguments: "" };
        let piece = CallPiece { index: self.calls.len(), id: Some(&id), kind: Some("function"), function };
        self.delta(Delta { tool_calls: Some([piece]), ..Delta::default() }, None, out);
        self.calls.push((id, false));
    }

    fn arguments(&mut self, id: &str, arguments: &str, out: &mut Frames) {
        let Some(index) = self.calls.iter().position(|(call, _)| call == id) else { return };
        self.calls[index].1 = true;
        let function = FunctionPiece { name: None, arguments };
        let piece = CallPiece { index, id: None, kind: None, function };
        self.delta(Delta { tool_calls: Some([piece]), ..Delta::default() }, None, out);
    }

    fn usage(&self, usage: Option<WireUsage>, out: &mut Frames) {
        if self.with_usage {
            self.chunk([(); 0], Some(usage), false, out);
        }
    }

    fn failed(&mut self, failure: Failure, out: &mut Frames) {
        if let Some(known) = WireUsage::of(failure.usage) {
            self.usage(Some(known), out);
        }
        out.json(&ApiError::from(failure).openai());
        out.done_mark();
    }
}

impl Encode for Chunks {
    fn event(&mut self, event: TurnEvent, out: &mut Frames) {
        self.waiting.extend(Waiting::of(&event));
        match event {
            TurnEvent::Text(piece) => self.delta(Delta { content: Some(&piece), ..Delta::default() }, None, out),
            TurnEvent::Reasoning(piece) => {
                self.delta(Delta { reasoning_content: Some(&piece), ..Delta::default() }, None, out);
            }
            TurnEvent::ToolStarted { id, name } if self.head.tools.has(&name) => self.call_begins(id, &name, out),
            TurnEvent::ToolArguments { id, fragment } => self.arguments(&id, &fragment, out),
            // Clients read the arguments as JSON, also those of a call without any.
            TurnEvent::ToolCalled { id, .. } if self.calls.contains(&(id.clone(), false)) => {
                self.arguments(&id, "{}", out);
            }
            TurnEvent::Finished { reason, usage } => {
                self.delta(Delta::default(), finish_reason(reason), out);
                self.usage(WireUsage::of(usage), out);
                out.done_mark();
            }
            TurnEvent::Failed(failure) => self.failed(failure, out),
            TurnEvent::Started { .. }
            | TurnEvent::ToolStarted { .. }
            | TurnEvent::ToolCalled { .. }
            | TurnEvent::ToolFinished(_)
            | TurnEvent::StepFinished { .. } => {}
        }
    }

    fn broken_off(&mut self, out: &mut Frames) {
        self.failed(Failure::new(FailureKind::Internal, "internal", "the turn broke off"), out);
    }
}

#[cfg(test)]
mod tests;

//! The frames of `/api/chat`: `{"type","content","metadata"?}`, the content always a text.

use roster_engine::turn::{ClientTools, Failure, FailureKind, FinishReason, TurnEvent, TurnStream};
use roster_model::id::{MessageId, ThreadId, TurnId};
use roster_model::provider::Usage;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::http::sse::{Encode, Frames};
use crate::http::usage::WireUsage;

#[derive(Serialize)]
struct Frame<'a, M> {
    #[serde(rename = "type")]
    kind: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<M>,
}

#[derive(Serialize)]
struct CallFields<'a> {
    id: &'a str,
    name: &'a str,
    arguments: &'a Map<String, Value>,
    /// True when the call waits for a person.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    approval: bool,
    /// True when the client is to run it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    client: bool,
}

#[derive(Serialize)]
struct ResultFields<'a> {
    id: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Value>,
    /// Milliseconds.
    duration: u64,
}

#[derive(Serialize)]
struct ErrorFields {
    code: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DoneFields<'a> {
    conversation_id: &'a ThreadId,
    /// Absent when no answer was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<&'a MessageId>,
    turn_id: &'a TurnId,
    finish_reason: FinishReason,
    usage: WireUsage,
}

/// Encodes a turn for `/api/chat`. The `done` frame comes exactly once and last, whatever happened.
pub(in crate::gateway) struct ChatEvents {
    conversation: ThreadId,
    message: MessageId,
    turn: TurnId,
    /// False as long as the answer is empty: an empty one is not stored.
    said: bool,
    /// Tools that the client runs.
    tools: ClientTools,
}

impl ChatEvents {
    pub(in crate::gateway) fn new(turn: &TurnStream, tools: ClientTools) -> Self {
        Self {
            conversation: turn.key.thread.clone(),
            message: turn.message.clone(),
            turn: turn.turn.clone(),
            said: false,
            tools,
        }
    }

    fn words(kind: &'static str, content: &str, out: &mut Frames) {
        out.json(&Frame::<()> { kind, content, metadata: None });
    }

    fn done(&self, message_id: Option<&MessageId>, finish_reason: FinishReason, usage: Usage, out: &mut Frames) {
        let metadata = DoneFields {
            conversation_id: &self.conversation,
            message_id,
            turn_id: &self.turn,
            finish_reason,
            usage: usage.into(),
        };
        out.json(&Frame { kind: "done", content: "", metadata: Some(metadata) });
    }

    fn failed(&self, failure: &Failure, out: &mut Frames) {
        let metadata = Some(ErrorFields { code: failure.code });
        out.json(&Frame { kind: "error", content: &failure.message, metadata });
        self.done(failure.row.as_ref(), failure.reason, failure.usage, out);
    }
}

impl Encode for ChatEvents {
    fn event(&mut self, event: TurnEvent, out: &mut Frames) {
        self.said |= matches!(event, TurnEvent::Text(_) | TurnEvent::Reasoning(_) | TurnEvent::ToolCalled { .. });
        match event {
            TurnEvent::Text(piece) => Self::words("text", &piece, out),
            TurnEvent::Reasoning(piece) => Self::words("thinking", &piece, out),
            TurnEvent::ToolCalled { id, name, arguments, approval } => {
                let client = self.tools.has(&name);
                let metadata = Some(CallFields { id: &id, name: &name, arguments: &arguments, approval, client });
                out.json(&Frame { kind: "tool_call", content: "", metadata });
            }
            TurnEvent::ToolFinished(result) => {
                let output = Some(&result.output);
                let metadata = ResultFields {
                    id: &result.call_id,
                    name: &result.name,
                    result: output.filter(|_| !result.is_error),
                    error: output.filter(|_| result.is_error),
                    duration: result.duration_ms,
                };
                out.json(&Frame { kind: "tool_result", content: "", metadata: Some(metadata) });
            }
            TurnEvent::Finished { reason, usage } => {
                self.done(self.said.then_some(&self.message), reason, usage, out);
            }
            TurnEvent::Failed(failure) => self.failed(&failure, out),
            TurnEvent::Started { .. }
            | TurnEvent::ToolStarted { .. }
            | TurnEvent::ToolArguments { .. }
            | TurnEvent::StepFinished { .. } => {}
        }
    }

    fn broken_off(&mut self, out: &mut Frames) {
        self.failed(&Failure::new(FailureKind::Internal, "internal", "the turn broke off"), out);
    }
}

#[cfg(test)]
mod tests;

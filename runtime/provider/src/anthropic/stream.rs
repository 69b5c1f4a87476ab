//! Reads an answer: event by event, or whole.

use std::collections::HashMap;

use roster_model::provider::{Delta, ProviderError, ProviderErrorKind, StopReason, Usage};
use serde_json::{Value, json};

use super::NAME;
use super::wire::{Block, Delta as Piece, Event as Told, Message, Tokens};
use crate::call::{Deltas, MAX_CALLS, Reader, ending, reported, too_many_calls, unreadable};
use crate::sse::Event;
use crate::thought::{After, opaque};

/// One answer being read.
#[derive(Default)]
pub(super) struct MessageReader {
    begun: bool,
    /// Blocks that have begun and not ended, by their numbers.
    open: HashMap<u64, Open>,
    after: After,
    stop: Option<StopReason>,
    done: bool,
    tokens: Tokens,
    model: Option<String>,
}

/// A block under way.
enum Open {
    Text,
    Thinking {
        signature: String,
    },
    Call {
        index: usize,
        /// The arguments that came with the beginning; they count if no piece follows.
        first: Option<String>,
    },
    /// Of a kind that nothing is made of.
    Other,
}

impl Reader for MessageReader {
    fn event(&mut self, event: &Event, deltas: &mut Deltas) -> Result<(), ProviderError> {
        let data = event.data.trim();
        let is_error = event.name.as_deref() == Some("error");
        if !data.starts_with('{') {
            // Pings and other chatter; an end that is missing is noticed at the end.
            return if is_error && !data.is_empty() { Err(reported(&Value::from(data))) } else { Ok(()) };
        }
        let told: Told = serde_json::from_str(data).map_err(|error| unreadable(&error))?;
        let name = if told.r#type.0.is_empty() { event.name.as_deref().unwrap_or_default() } else { &told.r#type.0 };
        if is_error || name == "error" {
            return Err(reported(&serde_json::from_str(data).unwrap_or_default()));
        }
        match name {
            "message_start" => self.begin(told.message.unwrap_or_default()),
            "content_block_start" => self.open(number(&told), told.content_block.unwrap_or_default(), deltas),
            "content_block_delta" => self.more(number(&told), told.delta.unwrap_or_default(), deltas),
            "content_block_stop" => {
                self.close(number(&told), deltas);
                Ok(())
            }
            "message_delta" => self.stopped(&told),
            "message_stop" => {
                self.done = true;
                Ok(())
            }
            // Pings, and events that are newer than this.
            _ => Ok(()),
        }
    }

    fn whole(&mut self, body: &[u8], deltas: &mut Deltas) -> Result<(), ProviderError> {
        let message: Message = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
        let Some(blocks) = message.content.filter(|_| message.r#type.0 != "error" && message.error.is_none()) else {
            return Err(reported(&serde_json::from_slice(body).unwrap_or_default()));
        };
        if let Some(usage) = &message.usage {
            self.tokens.take(usage);
        }
        self.model = message.model.given();
        for (number, block) in (0..).zip(blocks) {
            self.open(number, block, deltas)?;
            self.close(number, deltas);
        }
        self.stop = message.stop_reason.given().map(|reason| stop_reason(&reason));
        self.done = true;
        Ok(())
    }

    fn end(&mut self, deltas: &mut Deltas) -> Result<(), ProviderError> {
        if self.stop.is_none() && !self.done {
            return Err(ProviderError::new(ProviderErrorKind::Truncated, "the answer broke off before its end"));
        }
        let reason = ending(self.stop, self.after.text, self.after.calls > 0)?;
        deltas.push_back(Delta::End { reason, usage: self.usage(), model: self.model.take() });
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.stop.is_some()
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn usage(&self) -> Usage {
        self.tokens.usage()
    }
}

impl MessageReader {
    fn begin(&mut self, message: Message) -> Result<(), ProviderError> {
        if let Some(usage) = &message.usage {
            self.tokens.take(usage);
        }
        if std::mem::replace(&mut self.begun, true) {
            let message = "a second message begins in the answer";
            return Err(ProviderError::new(ProviderErrorKind::Protocol, message));
        }
        self.model = message.model.given();
        Ok(())
    }

    /// A block begins, with nothing in it yet or with all of it.
    fn open(&mut self, number: u64, block: Block, deltas: &mut Deltas) -> Result<(), ProviderError> {
        let open = match block.r#type.0.as_str() {
            "text" => {
                self.text(block.text.0, deltas);
                Open::Text
            }
            "thinking" => {
                thinking(block.thinking.0, deltas);
                Open::Thinking { signature: block.signature.0 }
            }
            "redacted_thinking" => {
                deltas.push_back(self.opaque(json!({"redacted": block.data.0})));
                Open::Other
            }
            "tool_use" => self.call(block, deltas)?,
            _ => Open::Other,
        };
        self.open.insert(number, open);
        Ok(())
    }

    fn call(&mut self, block: Block, deltas: &mut Deltas) -> Result<Open, ProviderError> {
        let index = self.after.calls;
        if index == MAX_CALLS {
            return Err(too_many_calls());
        }
        let Some(name) = block.name.given() else {
            let message = "the answer holds a tool call without a name";
            return Err(ProviderError::new(ProviderErrorKind::Protocol, message));
        };
        self.after.calls += 1;
        deltas.push_back(Delta::ToolCall { index, id: block.id.given(), name });
        let is_empty = |input: &Value| input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty);
        Ok(Open::Call { index, first: block.input.filter(|input| !is_empty(input)).map(|input| input.to_string()) })
    }

    fn more(&mut self, number: u64, piece: Piece, deltas: &mut Deltas) -> Result<(), ProviderError> {
        match (piece.r#type.0.as_str(), self.open.get_mut(&number)) {
            // Some servers leave the beginning of a block out.
            ("text_delta", Some(Open::Text) | None) => self.text(piece.text.0, deltas),
            ("thinking_delta", Some(Open::Thinking { .. }) | None) => thinking(piece.thinking.0, deltas),
            ("signature_delta", Some(Open::Thinking { signature })) => signature.push_str(&piece.signature.0),
            ("input_json_delta", Some(Open::Call { index, first })) => {
                if let Some(fragment) = piece.partial_json.given() {
                    *first = None;
                    deltas.push_back(Delta::ToolArguments { index: *index, fragment });
                }
            }
            ("input_json_delta", None) => {
                let message = "arguments of a tool call came before the call";
                return Err(ProviderError::new(ProviderErrorKind::Protocol, message));
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, number: u64, deltas: &mut Deltas) {
        match self.open.remove(&number) {
            Some(Open::Thinking { signature }) if !signature.is_empty() => {
                deltas.push_back(self.opaque(json!({"signature": signature})));
            }
            Some(Open::Call { index, first: Some(fragment) }) => {
                deltas.push_back(Delta::ToolArguments { index, fragment });
            }
            _ => {}
        }
    }

    fn stopped(&mut self, told: &Told) -> Result<(), ProviderError> {
        if let Some(usage) = &told.usage {
            self.tokens.take(usage);
        }
        if let Some(error) = told.error.as_ref().filter(|error| !error.is_null()) {
            return Err(reported(error));
        }
        let reason = told.delta.as_ref().map(|delta| delta.stop_reason.0.as_str()).unwrap_or_default();
        if !reason.is_empty() {
            self.stop = Some(stop_reason(reason));
        }
        Ok(())
    }

    fn text(&mut self, text: String, deltas: &mut Deltas) {
        if !text.is_empty() {
            self.after.text = true;
            deltas.push_back(Delta::Text(text));
        }
    }

    fn opaque(&self, data: Value) -> Delta {
        Delta::ReasoningOpaque(opaque(NAME, self.after, data))
    }
}

fn thinking(text: String, deltas: &mut Deltas) {
    if !text.is_empty() {
        deltas.push_back(Delta::Reasoning(text));
    }
}

fn number(told: &Told) -> u64 {
    told.index.0.unwrap_or(0)
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        // A paused turn of the provider's own tools is not the end of what it had to say.
        "max_tokens" | "model_context_window_exceeded" | "pause_turn" => StopReason::Length,
        "tool_use" => StopReason::ToolCalls,
        "refusal" => StopReason::ContentFilter,
        _ => StopReason::Stop,
    }
}

//! Reads an answer: event by event, or whole.

use std::collections::HashMap;

use roster_model::provider::{Delta, ProviderError, ProviderErrorKind, StopReason, Usage};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::NAME;
use super::wire::{Content, Item, Response, Told};
use crate::call::{Deltas, MAX_CALLS, Reader, ending, reported, too_many_calls, unreadable};
use crate::lenient::Words;
use crate::sse::Event;
use crate::thought::{After, opaque};

/// What of a reasoning item goes back.
const SENT_BACK: [&str; 5] = ["type", "id", "summary", "content", "encrypted_content"];

/// One answer being read.
#[derive(Default)]
pub(super) struct ResponseReader {
    /// Items under way or over, by their numbers.
    items: HashMap<u64, Seen>,
    after: After,
    stop: Option<StopReason>,
    done: bool,
    usage: Usage,
    model: Option<String>,
}

/// How much of an item was handed on.
#[derive(Default)]
struct Seen {
    /// The call it is.
    call: Option<usize>,
    /// Pieces of it came; else the whole at its end counts.
    pieces: bool,
    ended: bool,
}

impl Reader for ResponseReader {
    fn event(&mut self, event: &Event, deltas: &mut Deltas) -> Result<(), ProviderError> {
        let data = event.data.trim();
        let is_error = event.name.as_deref() == Some("error");
        if !data.starts_with('{') {
            // Pings, other chatter and the end mark of chat completions.
            return if is_error && !data.is_empty() { Err(reported(&Value::from(data))) } else { Ok(()) };
        }
        let told: Told = serde_json::from_str(data).map_err(|error| unreadable(&error))?;
        let name =
            if told.r#type.0.is_empty() { event.name.clone().unwrap_or_default() } else { told.r#type.0.clone() };
        if is_error || name == "error" || (name.is_empty() && data.contains("\"error\"")) {
            return Err(reported(&serde_json::from_str(data).unwrap_or_default()));
        }
        self.told(&name, told, deltas)
    }

    fn whole(&mut self, body: &[u8], deltas: &mut Deltas) -> Result<(), ProviderError> {
        let response: Response = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
        if response.output.is_none() {
            return Err(reported(&serde_json::from_slice(body).unwrap_or_default()));
        }
        self.finished(response, deltas)
    }

    fn end(&mut self, deltas: &mut Deltas) -> Result<(), ProviderError> {
        if !self.done {
            return Err(ProviderError::new(ProviderErrorKind::Truncated, "the answer broke off before its end"));
        }
        let reason = ending(self.stop, self.after.text, self.after.calls > 0)?;
        deltas.push_back(Delta::End { reason, usage: self.usage, model: self.model.take() });
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn usage(&self) -> Usage {
        self.usage
    }
}

impl ResponseReader {
    fn told(&mut self, name: &str, told: Told, deltas: &mut Deltas) -> Result<(), ProviderError> {
        let number = told.output_index.0.unwrap_or(0);
        match name {
            "response.output_item.added" => self.begun(number, told.item, deltas),
            "response.output_text.delta" | "response.refusal.delta" => {
                self.items.entry(number).or_default().pieces = true;
                self.text(told.delta, deltas);
                Ok(())
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.items.entry(number).or_default().pieces = true;
                deltas.extend(told.delta.given().map(Delta::Reasoning));
                Ok(())
            }
            "response.reasoning_summary_part.added" if told.summary_index.0.unwrap_or(0) > 0 => {
                deltas.push_back(Delta::Reasoning("\n\n".to_owned()));
                Ok(())
            }
            "response.function_call_arguments.delta" => self.arguments(number, told.delta, deltas),
            "response.function_call_arguments.done" => self.arguments_at_once(number, told.arguments, deltas),
            "response.output_item.done" => self.ended(number, &told.item.unwrap_or_default(), deltas),
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                self.finished(told.response.unwrap_or_default(), deltas)
            }
            // Beginnings, parts, annotations, the provider's own tools, and events that are newer than this.
            _ => Ok(()),
        }
    }

    /// An item begins: only a call shows at once.
    fn begun(&mut self, number: u64, item: Option<Value>, deltas: &mut Deltas) -> Result<(), ProviderError> {
        let item = read(&item.unwrap_or_default())?;
        if item.r#type.0 == "function_call" {
            self.call(number, item, deltas)?;
        }
        Ok(())
    }

    fn call(&mut self, number: u64, item: Item, deltas: &mut Deltas) -> Result<(), ProviderError> {
        let index = self.after.calls;
        if index == MAX_CALLS {
            return Err(too_many_calls());
        }
        let Some(name) = item.name.given() else {
            let message = "the answer holds a tool call without a name";
            return Err(ProviderError::new(ProviderErrorKind::Protocol, message));
        };
        self.after.calls += 1;
        self.items.insert(number, Seen { call: Some(index), ..Seen::default() });
        deltas.push_back(Delta::ToolCall { index, id: item.call_id.given().or_else(|| item.id.given()), name });
        Ok(())
    }

    fn arguments(&mut self, number: u64, piece: Words, deltas: &mut Deltas) -> Result<(), ProviderError> {
        let Some(seen) = self.items.get_mut(&number) else { return Err(call_unknown()) };
        let index = seen.call.ok_or_else(call_unknown)?;
        if let Some(fragment) = piece.given() {
            seen.pieces = true;
            deltas.push_back(Delta::ToolArguments { index, fragment });
        }
        Ok(())
    }

    fn arguments_at_once(&mut self, number: u64, whole: Words, deltas: &mut Deltas) -> Result<(), ProviderError> {
        match self.items.get(&number) {
            Some(seen) if seen.pieces => Ok(()),
            _ => self.arguments(number, whole, deltas),
        }
    }

    /// An item is over: what was not handed on piece by piece is now.
    fn ended(&mut self, number: u64, item: &Value, deltas: &mut Deltas) -> Result<(), ProviderError> {
        let wire = read(item)?;
        let seen = self.items.entry(number).or_default();
        if std::mem::replace(&mut seen.ended, true) {
            return Ok(());
        }
        let (has_pieces, is_call) = (seen.pieces, seen.call.is_some());
        match wire.r#type.0.as_str() {
            "message" if !has_pieces => {
                for content in wire.content.into_iter().flatten() {
                    self.text(content.text, deltas);
                    self.text(content.refusal, deltas);
                }
            }
            "reasoning" => self.reasoned(wire, item, has_pieces, deltas),
            "function_call" => {
                let arguments = Words(wire.arguments.0.clone());
                if !is_call {
                    self.call(number, wire, deltas)?;
                }
                self.arguments_at_once(number, arguments, deltas)?;
                self.items.entry(number).or_default().ended = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// Reasoning that cannot be read back without the provider's store is of no use to anybody later.
    fn reasoned(&mut self, wire: Item, item: &Value, has_pieces: bool, deltas: &mut Deltas) {
        if !has_pieces {
            let shown = |content: Option<Vec<Content>>| -> Vec<String> {
                content.into_iter().flatten().filter_map(|content| content.text.given()).collect()
            };
            let summary = shown(wire.summary);
            let text = if summary.is_empty() { shown(wire.content) } else { summary }.join("\n\n");
            if !text.is_empty() {
                deltas.push_back(Delta::Reasoning(text));
            }
        }
        if !wire.encrypted_content.0.is_empty() {
            let kept: Map<String, Value> =
                SENT_BACK.iter().filter_map(|key| Some(((*key).to_owned(), item.get(*key)?.clone()))).collect();
            deltas.push_back(Delta::ReasoningOpaque(opaque(NAME, self.after, Value::Object(kept))));
        }
    }

    /// The answer is over; where nothing of it came before, it counts now.
    fn finished(&mut self, response: Response, deltas: &mut Deltas) -> Result<(), ProviderError> {
        if let Some(usage) = &response.usage {
            self.usage = usage.usage();
        }
        self.model = response.model.given().or_else(|| self.model.take());
        let status = response.status.0.as_str();
        if let Some(error) = response.error.filter(|error| !error.is_null()) {
            return Err(reported(&error));
        }
        if matches!(status, "failed" | "cancelled") {
            let message = format!("the provider gave the answer up: `{status}`");
            return Err(ProviderError::new(ProviderErrorKind::Server, message));
        }
        if matches!(status, "queued" | "in_progress") {
            return Err(ProviderError::new(ProviderErrorKind::Truncated, "the answer came before it was ready"));
        }
        // In a stream it repeats what came before.
        if self.items.is_empty() {
            for (number, item) in (0..).zip(response.output.into_iter().flatten()) {
                self.ended(number, &item, deltas)?;
            }
        }
        let reason = response.incomplete_details.unwrap_or_default().reason.0;
        self.stop = Some(match reason.as_str() {
            "content_filter" => StopReason::ContentFilter,
            "" if status != "incomplete" => StopReason::Stop,
            _ => StopReason::Length,
        });
        self.done = true;
        Ok(())
    }

    fn text(&mut self, text: Words, deltas: &mut Deltas) {
        if let Some(text) = text.given() {
            self.after.text = true;
            deltas.push_back(Delta::Text(text));
        }
    }
}

/// # Errors
/// `Protocol` when the item is no object of the expected form.
fn read(item: &Value) -> Result<Item, ProviderError> {
    if item.is_null() {
        return Ok(Item::default());
    }
    Item::deserialize(item).map_err(|error| unreadable(&error))
}

fn call_unknown() -> ProviderError {
    ProviderError::new(ProviderErrorKind::Protocol, "arguments of a tool call came before the call")
}

//! Reads an answer: chunk by chunk, or whole.

use roster_model::provider::{Delta, ProviderError, ProviderErrorKind, StopReason, Usage};
use serde_json::Value;

use super::calls::{Calls, Piece};
use super::wire::{Answer, CallPiece, Choice, Function, Said};
use crate::call::{Deltas, Reader, ending, reported, unreadable};
use crate::lenient::Words;
use crate::sse::Event;

/// One answer being read.
#[derive(Default)]
pub(super) struct ChatReader {
    calls: Calls,
    has_text: bool,
    /// The model said why it stopped.
    stop: Option<StopReason>,
    /// `[DONE]` was read, or the answer came as one readable body.
    done: bool,
    usage: Usage,
    model: Option<String>,
}

impl Reader for ChatReader {
    fn event(&mut self, event: &Event, deltas: &mut Deltas) -> Result<(), ProviderError> {
        let data = event.data.trim();
        let is_error = event.name.as_deref() == Some("error");
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        if !data.starts_with('{') {
            // Pings and other chatter; an end that is missing is noticed at the end.
            return if is_error && !data.is_empty() { Err(reported(&Value::from(data))) } else { Ok(()) };
        }
        let answer: Answer<'_> = serde_json::from_str(data).map_err(|error| unreadable(&error))?;
        if is_error || answer.object.0 == "error" {
            return Err(reported(&serde_json::from_str(data).unwrap_or_default()));
        }
        self.answer(answer, deltas)
    }

    fn whole(&mut self, body: &[u8], deltas: &mut Deltas) -> Result<(), ProviderError> {
        let answer: Answer<'_> = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
        if answer.object.0 == "error" || (answer.choices.is_none() && answer.error.is_none()) {
            return Err(reported(&serde_json::from_slice(body).unwrap_or_default()));
        }
        self.answer(answer, deltas)?;
        self.done = true;
        Ok(())
    }

    fn end(&mut self, deltas: &mut Deltas) -> Result<(), ProviderError> {
        if self.stop.is_none() && !self.done {
            return Err(ProviderError::new(ProviderErrorKind::Truncated, "the answer broke off before its end"));
        }
        self.calls.check()?;
        let reason = ending(self.stop, self.has_text, !self.calls.is_empty())?;
        deltas.push_back(Delta::End { reason, usage: self.usage, model: self.model.take() });
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.stop.is_some()
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn usage(&self) -> Usage {
        self.usage
    }
}

impl ChatReader {
    fn answer(&mut self, answer: Answer<'_>, deltas: &mut Deltas) -> Result<(), ProviderError> {
        // First, so that a failure told together with them carries the tokens.
        if let Some(usage) = &answer.usage {
            usage.add_to(&mut self.usage);
        }
        self.model = answer.model.given().or_else(|| self.model.take());
        check_error(answer.error.as_ref())?;
        for choice in answer.choices.into_iter().flatten() {
            // Only the first candidate is ever asked for.
            if choice.index.0.unwrap_or(0) == 0 {
                self.choice(choice, deltas)?;
            }
        }
        Ok(())
    }

    fn choice(&mut self, choice: Choice<'_>, deltas: &mut Deltas) -> Result<(), ProviderError> {
        if let Some(usage) = &choice.usage {
            usage.add_to(&mut self.usage);
        }
        check_error(choice.error.as_ref())?;
        if let Some(said) = choice.delta {
            self.said(said, false, deltas)?;
        } else if let Some(said) = choice.message {
            self.said(said, true, deltas)?;
        }
        if let Some(reason) = choice.finish_reason.given() {
            self.stop = Some(stop_reason(&reason)?);
        }
        Ok(())
    }

    fn said(&mut self, said: Said<'_>, is_whole: bool, deltas: &mut Deltas) -> Result<(), ProviderError> {
        // Where both names are sent, they hold the same words.
        if let Some(thinking) = said.reasoning_content.given().or_else(|| said.reasoning.given()) {
            deltas.push_back(Delta::Reasoning(thinking));
        }
        for text in [said.content, said.refusal].into_iter().filter_map(Words::given) {
            self.has_text = true;
            deltas.push_back(Delta::Text(text));
        }
        let pieces = said.tool_calls.unwrap_or_default();
        let several = pieces.len() > 1;
        for (place, piece) in pieces.into_iter().enumerate() {
            // In one frame, calls without numbers are numbered by their places.
            let place = u64::try_from(place).ok().filter(|_| several);
            self.call(piece_of(piece, place), is_whole, deltas)?;
        }
        if let Some(function) = said.function_call {
            let piece = CallPiece { function: Some(function), ..CallPiece::default() };
            self.call(piece_of(piece, None), is_whole, deltas)?;
        }
        Ok(())
    }

    fn call(&mut self, piece: Piece, is_whole: bool, deltas: &mut Deltas) -> Result<(), ProviderError> {
        let says_nothing = piece.id.is_none() && piece.name.is_none() && piece.arguments.is_empty();
        if says_nothing {
            return Ok(());
        }
        if is_whole { self.calls.take_whole(piece, deltas) } else { self.calls.take(piece, deltas) }
    }
}

fn piece_of(piece: CallPiece<'_>, place: Option<u64>) -> Piece {
    let function = piece.function.unwrap_or_default();
    let arguments = function.arguments();
    let Function { name, .. } = function;
    Piece { number: piece.index.0.or(place), id: piece.id.given(), name: name.given(), arguments }
}

/// # Errors
/// For reasons that are failures under another name.
fn stop_reason(reason: &str) -> Result<StopReason, ProviderError> {
    let failure = |kind| Err(ProviderError::new(kind, format!("the model stopped with `{reason}`")));
    match reason {
        "length" | "max_tokens" | "model_length" => Ok(StopReason::Length),
        "tool_calls" | "function_call" | "tool_use" => Ok(StopReason::ToolCalls),
        "content_filter" | "safety" | "sensitive" => Ok(StopReason::ContentFilter),
        "error" | "network_error" => failure(ProviderErrorKind::Server),
        "insufficient_system_resource" => failure(ProviderErrorKind::Overloaded),
        "abort" => failure(ProviderErrorKind::Truncated),
        _ => Ok(StopReason::Stop),
    }
}

fn check_error(error: Option<&Value>) -> Result<(), ProviderError> {
    match error {
        None | Some(Value::Null | Value::Bool(false)) => Ok(()),
        Some(Value::String(text)) if text.is_empty() => Ok(()),
        Some(error) => Err(reported(error)),
    }
}

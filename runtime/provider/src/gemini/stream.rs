//! Reads an answer: chunk by chunk, or whole.

use roster_model::provider::{Delta, ProviderError, ProviderErrorKind, StopReason, Usage};
use serde_json::{Value, json};

use super::NAME;
use super::wire::{Answer, Candidate, Feedback, FunctionCall, Part};
use crate::call::{Deltas, MAX_CALLS, Reader, ending, reported, too_many_calls, unreadable};
use crate::sse::Event;
use crate::thought::{After, opaque};

/// One answer being read.
#[derive(Default)]
pub(super) struct ContentReader {
    after: After,
    stop: Option<StopReason>,
    /// What the provider called the stop, for people.
    reason: String,
    /// The answer came as one readable body.
    done: bool,
    usage: Usage,
    model: Option<String>,
}

impl Reader for ContentReader {
    fn event(&mut self, event: &Event, deltas: &mut Deltas) -> Result<(), ProviderError> {
        let data = event.data.trim();
        let is_error = event.name.as_deref() == Some("error");
        if is_error && !data.is_empty() {
            return Err(reported(&serde_json::from_str(data).unwrap_or_else(|_| Value::from(data))));
        }
        // A failure in the middle of a stream comes as a list with one error.
        if !data.starts_with(['{', '[']) {
            return Ok(());
        }
        if data.starts_with('[') {
            return Err(reported(&serde_json::from_str(data).map_err(|error| unreadable(&error))?));
        }
        self.answer(serde_json::from_str(data).map_err(|error| unreadable(&error))?, deltas)
    }

    fn whole(&mut self, body: &[u8], deltas: &mut Deltas) -> Result<(), ProviderError> {
        let value: Value = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
        // Without `alt=sse`, which some servers do not know, a stream is a list of its chunks.
        let chunks = match value {
            Value::Array(chunks) => chunks,
            chunk => vec![chunk],
        };
        for chunk in chunks {
            let answer: Answer = serde_json::from_value(chunk.clone()).map_err(|error| unreadable(&error))?;
            if answer.candidates.is_none() && answer.prompt_feedback.is_none() && answer.usage_metadata.is_none() {
                return Err(reported(&chunk));
            }
            self.answer(answer, deltas)?;
        }
        self.done = true;
        Ok(())
    }

    fn end(&mut self, deltas: &mut Deltas) -> Result<(), ProviderError> {
        if self.stop.is_none() && !self.done {
            return Err(ProviderError::new(ProviderErrorKind::Truncated, "the answer broke off before its end"));
        }
        let reason = ending(self.stop, self.after.text, self.after.calls > 0)?;
        if reason == StopReason::ContentFilter && !self.after.text {
            let message = format!("the answer was withheld: `{}`", self.reason);
            return Err(ProviderError::new(ProviderErrorKind::ContentFilter, message));
        }
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

impl ContentReader {
    fn answer(&mut self, answer: Answer, deltas: &mut Deltas) -> Result<(), ProviderError> {
        // First, so that a failure told together with them carries the tokens.
        if let Some(usage) = &answer.usage_metadata {
            usage.add_to(&mut self.usage);
        }
        self.model = answer.model_version.given().or_else(|| self.model.take());
        if let Some(error) = answer.error.filter(|error| !error.is_null()) {
            return Err(reported(&error));
        }
        if let Some(blocked) = answer.prompt_feedback.as_ref().and_then(blocked) {
            return Err(blocked);
        }
        for candidate in answer.candidates.into_iter().flatten() {
            // Only the first candidate is ever asked for.
            if candidate.index.0.unwrap_or(0) == 0 {
                self.candidate(candidate, deltas)?;
            }
        }
        Ok(())
    }

    fn candidate(&mut self, candidate: Candidate, deltas: &mut Deltas) -> Result<(), ProviderError> {
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.part(part, deltas)?;
        }
        if let Some(reason) = candidate.finish_reason.given() {
            self.stop = Some(stop_reason(&reason, &candidate.finish_message.0)?);
            self.reason = reason;
        }
        Ok(())
    }

    fn part(&mut self, part: Part, deltas: &mut Deltas) -> Result<(), ProviderError> {
        let signature = part.thought_signature.given();
        if let Some(call) = part.function_call {
            if let Some(signature) = signature {
                deltas.push_back(self.opaque(json!({"signature": signature, "of": "call"})));
            }
            return self.call(call, deltas);
        }
        if let Some(text) = part.text.given() {
            if part.thought == Some(true) {
                deltas.push_back(Delta::Reasoning(text));
            } else {
                self.after.text = true;
                deltas.push_back(Delta::Text(text));
            }
        }
        if let Some(signature) = signature {
            deltas.push_back(self.opaque(json!({"signature": signature})));
        }
        Ok(())
    }

    /// Calls come whole: each is one of its own, whatever its id.
    fn call(&mut self, call: FunctionCall, deltas: &mut Deltas) -> Result<(), ProviderError> {
        let index = self.after.calls;
        if index == MAX_CALLS {
            return Err(too_many_calls());
        }
        let Some(name) = call.name.given() else {
            let message = "the answer holds a tool call without a name";
            return Err(ProviderError::new(ProviderErrorKind::Protocol, message));
        };
        self.after.calls += 1;
        deltas.push_back(Delta::ToolCall { index, id: call.id.given(), name });
        if let Some(args) = call.args.filter(|args| !args.is_empty()) {
            deltas.push_back(Delta::ToolArguments { index, fragment: Value::Object(args).to_string() });
        }
        Ok(())
    }

    fn opaque(&self, data: Value) -> Delta {
        Delta::ReasoningOpaque(opaque(NAME, self.after, data))
    }
}

fn blocked(feedback: &Feedback) -> Option<ProviderError> {
    let reason = Some(feedback.block_reason.0.as_str()).filter(|reason| !reason.is_empty())?;
    let message = match feedback.block_reason_message.0.as_str() {
        "" => format!("the prompt was blocked: `{reason}`"),
        words => format!("the prompt was blocked: `{reason}`: {words}"),
    };
    Some(ProviderError::new(ProviderErrorKind::ContentFilter, message))
}

/// # Errors
/// For reasons that are failures under another name.
fn stop_reason(reason: &str, message: &str) -> Result<StopReason, ProviderError> {
    let failure = |kind| {
        let words = if message.is_empty() { String::new() } else { format!(": {message}") };
        Err(ProviderError::new(kind, format!("the model stopped with `{reason}`{words}")))
    };
    match reason {
        "STOP" => Ok(StopReason::Stop),
        "MAX_TOKENS" => Ok(StopReason::Length),
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "MODEL_ARMOR" => Ok(StopReason::ContentFilter),
        // The model wrote a call that nobody can read, or one of a tool it was not offered: asked again it mostly does
        // better.
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" | "MALFORMED_RESPONSE" => {
            failure(ProviderErrorKind::Protocol)
        }
        "MISSING_THOUGHT_SIGNATURE" => failure(ProviderErrorKind::BadRequest),
        "FINISH_REASON_UNSPECIFIED" | "OTHER" | "NO_IMAGE" | "IMAGE_OTHER" => failure(ProviderErrorKind::Server),
        _ => Ok(StopReason::Stop),
    }
}

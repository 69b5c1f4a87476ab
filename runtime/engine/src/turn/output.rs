//! Answers of a form: an agent with an `output_schema` answers with a JSON object that fits it.
//!
//! Words are held back until they are checked, so that nothing reaches a client that is no answer. An answer that does
//! not fit is shown to the model once more, with what is wrong; the next one fits, or the turn fails.

use roster_model::provider::{ProviderErrorKind, StopReason};
use serde_json::Value;

use super::answer::Answer;
use super::event::{Failure, FailureKind, TurnEvent};
use super::run::Turn;
use super::step::Step;
use crate::tool::Validator;

impl Turn {
    /// Whether words are held back until they are checked.
    pub(super) fn holds_back(&self) -> bool {
        self.request.agent.output.is_some()
    }

    /// Checks what a step said, where the agent's answers have a form and the step is an answer; words beside calls are
    /// none, and what a filter cut off is none. True when the model must try once more.
    ///
    /// # Errors
    /// `output_invalid` when the answer does not fit for the second time.
    pub(super) async fn check_output(&self, step: &Step, answer: &mut Answer) -> Result<bool, Failure> {
        let Some((_, validator)) = &self.request.agent.output else { return Ok(false) };
        if !step.calls.is_empty() || step.reason == StopReason::ContentFilter {
            return Ok(false);
        }
        let second = answer.drop_rejected();
        match document(&answer.step_words(), validator) {
            Ok(document) => {
                answer.set_step_words(&document);
                self.emit(TurnEvent::Text(document)).await;
                Ok(false)
            }
            Err(fault) if second => {
                let message = format!("the model's answer does not fit the agent's `output_schema`: {fault}");
                Err(Failure::new(FailureKind::Provider(ProviderErrorKind::Protocol), "output_invalid", message))
            }
            Err(fault) => {
                let mut told =
                    format!("Your answer was not accepted: {fault}. Answer again with one JSON object alone");
                validator.tell_schema(&mut told);
                answer.reject(told);
                Ok(true)
            }
        }
    }
}

/// The document in an answer, as the model wrote it but for a fence around it.
fn document(answer: &str, validator: &Validator) -> Result<String, String> {
    let text = unfenced(answer.trim());
    let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON document ({error})"))?;
    validator.faults(&value).map_or_else(|| Ok(text.to_owned()), Err)
}

/// What stands in the one code fence that the text is.
fn unfenced(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inner = inner.and_then(|inner| inner.split_once('\n')).map(|(_language, inner)| inner.trim());
    inner.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(answer: &str) -> Result<String, String> {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        document(answer, &Validator::new(&schema).expect("legal"))
    }

    #[test]
    fn a_document_is_taken_with_or_without_a_fence() {
        for answer in ["{\"n\": 1}", " {\"n\": 1}\n", "```json\n{\"n\": 1}\n```", "```\n{\"n\": 1}```"] {
            assert_eq!(check(answer).as_deref(), Ok("{\"n\": 1}"), "{answer:?}");
        }
    }

    #[test]
    fn what_is_none_is_told() {
        let long = format!("{{\"n\": \"{}\"}}", "x".repeat(5_000));
        for (answer, told) in [
            ("", "no JSON"),
            ("Sure! {\"n\": 1}", "no JSON"),
            ("{\"n\": 1}{\"n\": 2}", "no JSON"),
            ("[]", "object"),
            ("{\"n\": \"1\"}", "/n"),
            ("{}", "n"),
            (&long, "/n"),
        ] {
            let fault = check(answer).expect_err(answer);
            assert!(fault.contains(told) && fault.len() < 600, "{answer:?}: {fault}");
        }
    }
}

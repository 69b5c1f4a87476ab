//! Asking the person at the terminal whether a tool may be called.

use roster_engine::turn::{self, Input, Verdict};
use roster_model::id::TurnId;
use serde_json::{Map, Value};

use super::input::{Line, Lines};
use super::{Conversation, Outcome};
use crate::error::HostError;
use crate::output;

/// A call a person is asked about.
pub(super) struct Asked {
    pub(super) turn: TurnId,
    pub(super) call: String,
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
}

/// What a line says to the question; `None`: it is something else.
pub(super) fn decision(line: &str) -> Option<bool> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    }
}

impl Conversation<'_> {
    /// Puts the question, where there is one.
    pub(super) fn put_question(&self) {
        if let Some(Asked { name, arguments, .. }) = self.asked.as_ref().filter(|_| self.answers) {
            output::note(format_args!("may `{name}` be called with {}? (y/n)", Value::Object(arguments.clone())));
        }
    }

    /// A line of the conversation: an answer to the question, or something new, which leaves what waited undone.
    pub(super) async fn said_now(&mut self, line: &str) -> Result<Outcome, HostError> {
        match (decision(line), self.asked.take()) {
            (Some(approved), Some(asked)) => self.decide(asked, approved).await,
            _ => self.turn(line).await,
        }
    }

    /// Asks until nothing waits, or the person says something else.
    pub(super) async fn ask(&mut self, lines: &mut Lines, mut outcome: Outcome) -> Result<Outcome, HostError> {
        while self.asked.is_some() {
            let line = lines.next().await;
            let line = line.map_err(|error| HostError::environment(format!("cannot read the input: {error}")))?;
            let Line::Text(text) = line else { break };
            match decision(&text) {
                Some(approved) => {
                    let Some(asked) = self.asked.take() else { break };
                    outcome = self.decide(asked, approved).await?;
                }
                None => self.put_question(),
            }
        }
        Ok(outcome)
    }

    async fn decide(&mut self, asked: Asked, approved: bool) -> Result<Outcome, HostError> {
        let gone = || HostError::problem("the call does not wait any more");
        let Some(memory) = &self.agent.memory else { return Err(gone()) };
        let waiting = memory.store.suspended_turn(&self.key.resource, &asked.turn).await;
        let waiting = waiting.map_err(|error| HostError::problem(error.to_string()))?.ok_or_else(gone)?;
        let verdict = Verdict { call: Some(asked.call), approved, reason: None };
        let request = self.request(Input::default());
        let stream = turn::resume(&self.assembly.services, request, &waiting, verdict)
            .map_err(|refused| HostError::problem(refused.to_string()))?;
        self.follow(stream, "").await
    }

    /// The end of a turn that waits for a person where there is none.
    pub(super) fn nobody_answers(&self, Asked { turn, name, arguments, .. }: &Asked) -> HostError {
        let arguments = Value::Object(arguments.clone());
        let message =
            format!("`{name}` needs a person's approval to be called with {arguments}, and this is no terminal");
        HostError::problem(message).hint(format!(
            "a runtime that serves takes the decision: POST /api/turns/{turn}/approve or /decline with the resource `{}`; \
             or ask again at a terminal",
            self.key.resource
        ))
    }

    /// Says where a call that nobody decided about here can be decided.
    pub(super) fn leave_waiting(&self) {
        if let Some(Asked { name, turn, .. }) = &self.asked {
            output::note(format_args!(
                "the call of `{name}` waits: POST /api/turns/{turn}/approve or /decline with the resource `{}`",
                self.key.resource
            ));
        }
    }
}

//! What a turn writes: its row as it grows, its last word, and the thread given back.

use roster_model::id::MessageId;
use roster_model::message::{Message, MessageStatus, Origin, Part, Role};
use roster_model::storage::{SaveAnswer, StoreError};
use serde_json::Map;

use super::answer::Answer;
use super::event::{Failure, FailureKind, FinishReason};
use super::run::{Done, Turn};
use crate::memory::working::without_calls;

impl Turn {
    pub(super) fn row(&self, role: Role, parts: Vec<Part>, status: MessageStatus) -> Message {
        Message {
            id: MessageId::fresh(self.services.ids.as_ref()),
            role,
            parts,
            created_at: self.services.clock.now(),
            status,
            origin: None,
            metadata: Map::new(),
        }
    }

    /// Which definition answers, and in which generation of the registry.
    pub(super) fn origin(&self) -> Origin {
        let definition = &self.request.agent.definition;
        Origin {
            agent: definition.id.clone(),
            generation: self.request.snapshot.generation,
            fingerprint: definition.fingerprint.clone(),
        }
    }

    fn answer_row(&self, parts: Vec<Part>, status: MessageStatus) -> Message {
        Message { id: self.message.clone(), origin: Some(self.origin()), ..self.row(Role::Assistant, parts, status) }
    }

    /// What of the answer is stored: everything but the model's notes to itself.
    fn stored(&self, parts: &[Part]) -> Vec<Part> {
        match self.memory().and_then(|memory| memory.policy.working.as_ref()) {
            Some(_) => without_calls(parts),
            None => parts.to_vec(),
        }
    }

    /// Writes the row as it is now; nothing for a turn that stores nothing.
    pub(super) async fn save_running(&self, answer: &Answer) -> Result<(), Failure> {
        let Some(memory) = self.memory() else { return Ok(()) };
        let parts = self.stored(&answer.parts);
        if parts.is_empty() {
            return Ok(());
        }
        let message = Some(self.answer_row(parts, MessageStatus::Running));
        let save = SaveAnswer { key: self.request.key.clone(), turn: self.id.clone(), message, last: false };
        memory.store.save_answer(save).await.map_err(|error| self.store_failed(&error))
    }

    pub(super) async fn save_last(&self, message: Option<Message>) -> Result<(), Failure> {
        let Some(memory) = self.memory() else { return Ok(()) };
        let save = SaveAnswer { key: self.request.key.clone(), turn: self.id.clone(), message, last: true };
        memory.store.save_answer(save).await.map_err(|error| self.store_failed(&error))
    }

    /// The last write; only after it may the door say that the turn is over.
    pub(super) async fn close(
        &self,
        outcome: Result<FinishReason, Failure>,
        mut answer: Answer,
    ) -> Result<Done, Failure> {
        if outcome.is_ok() {
            // What was rejected is no answer, also where the turn ends before there was another.
            answer.drop_rejected();
        }
        let text = answer.last_text();
        let usage = answer.usage;
        let status = match &outcome {
            Ok(FinishReason::Suspended) => MessageStatus::Suspended,
            Ok(FinishReason::ClientCalls) => MessageStatus::Awaiting,
            Ok(_) => MessageStatus::Complete,
            Err(failure) if failure.kind == FailureKind::Cancelled => MessageStatus::Interrupted,
            Err(failure) => {
                answer.parts.push(Part::Error { code: failure.code.to_owned(), message: failure.message.clone() });
                MessageStatus::Failed
            }
        };
        // An interrupted turn that said nothing leaves no row: nothing empty stands as an answer.
        let parts = self.stored(&answer.parts);
        let message = (!parts.is_empty()).then(|| self.answer_row(parts, status));
        let has_row = message.is_some() && self.remembers();
        let saved = self.save_last(message).await;
        if saved.is_err() {
            // The row is lost and the turn says so; the thread must not be lost with it.
            self.save_last(None).await.ok();
        }
        let stored = has_row && saved.is_ok();
        let ended = match (outcome, saved) {
            (Ok(reason), Ok(())) => Ok(Done { reason, usage, text, model: None }),
            // Deleting a conversation cancels its turn: that it is gone is what the client wants to know.
            (Err(failure), Err(gone)) if failure.kind == FailureKind::Cancelled && gone.is_of_deleted() => Err(gone),
            (Err(failure), _) | (Ok(_), Err(failure)) => Err(failure),
        };
        ended.map_err(|mut failure| {
            failure.usage = usage;
            failure.row = stored.then(|| self.message.clone());
            failure.question_stored = self.remembers();
            failure
        })
    }

    pub(super) fn store_failed(&self, error: &StoreError) -> Failure {
        let failure = Failure::from(error);
        if !failure.is_of_deleted() {
            tracing::error!(agent = %self.request.agent.definition.id, turn = %self.id, kind = ?error.kind, %error, "sessions store failed");
        }
        failure
    }
}

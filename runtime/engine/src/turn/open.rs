//! The opening of a turn: the question stored, what is fed read.

use roster_model::message::{Message, MessageStatus, Part, Role};
use roster_model::provider::ModelSettings;
use roster_model::storage::{BeginTurn, NewThread};

use super::answer::Answer;
use super::context::{Context, merge};
use super::event::Failure;
use super::request::InputMessage;
use super::run::Turn;
use crate::memory::fit;

impl Turn {
    /// Stores the question and reads what is fed.
    pub(super) async fn open(&self) -> Result<(Context, Answer), Failure> {
        let settings = merge(&self.request.agent.definition.model_settings, &self.request.settings);
        let Some(memory) = self.memory() else {
            let context = self.stateless(settings);
            let answer = Answer::after(context.rows(), true);
            return Ok((context, answer));
        };
        let (question, seed) = self.question_and_seed();
        let input = (question.role, question.parts.clone());
        let seeded_input: Vec<_> = seed.iter().map(|message| (message.role, message.parts.clone())).collect();
        let begin = BeginTurn {
            key: self.request.key.clone(),
            turn: self.id.clone(),
            seed,
            question,
            thread: NewThread {
                agent: Some(self.request.agent.definition.id.clone()),
                parent: self.lineage.parent.clone(),
                ..NewThread::default()
            },
        };
        let begun = memory.store.begin_turn(begin).await.map_err(|error| self.store_failed(&error))?;
        let window = memory.policy.window;
        let history = match window.last_messages {
            0 => Vec::new(),
            n => {
                let tail = memory.store.tail(&self.request.key, n as usize, Some(begun.first)).await;
                fit(tail.map_err(|error| self.store_failed(&error))?, window.max_tokens)
            }
        };
        let all_known = begun.first.0.saturating_sub(1) == history.len() as u64;
        let mut rows: Vec<_> = history.into_iter().map(|row| (row.message.role, row.message.parts)).collect();
        if begun.seeded {
            rows.extend(seeded_input);
        }
        rows.push(input);
        let context = Context { system: Vec::new(), rows, settings };
        let answer = Answer::after(context.rows(), all_known);
        Ok((context, answer))
    }

    fn stateless(&self, settings: ModelSettings) -> Context {
        let is_system = |message: &&InputMessage| message.role == Role::System;
        let messages = &self.request.input.messages;
        let system = messages.iter().filter(is_system).map(|message| text_of(&message.parts)).collect();
        let rows = messages.iter().filter(|message| !is_system(message));
        Context { system, rows: rows.map(|message| (message.role, message.parts.clone())).collect(), settings }
    }

    /// The newest user message, and all before it but system entries.
    fn question_and_seed(&self) -> (Message, Vec<Message>) {
        let messages = &self.request.input.messages;
        let at = messages.iter().rposition(|message| message.role == Role::User).unwrap_or(0);
        let seed = messages[..at].iter().filter(|message| message.role != Role::System && !message.parts.is_empty());
        let seed = seed.map(|message| self.row(message.role, message.parts.clone(), MessageStatus::Complete)).collect();
        let question = messages.get(at).map(|message| message.parts.clone()).unwrap_or_default();
        (self.row(Role::User, question, MessageStatus::Complete), seed)
    }
}

fn text_of(parts: &[Part]) -> String {
    let words = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    words.collect()
}

//! The opening of a turn: the question stored, what is fed read.

use futures_util::future::join3;
use roster_model::id::ThreadKey;
use roster_model::message::{Message, MessageStatus, Part, Role, Seq, StoredMessage};
use roster_model::provider::ModelSettings;
use roster_model::storage::{BeginTurn, Begun, NewThread, StoreError};

use super::answer::Answer;
use super::context::{Context, Remembered, merge};
use super::event::Failure;
use super::request::InputMessage;
use super::run::Turn;
use crate::definition::RecallConfig;
use crate::memory::feed::Feed;
use crate::memory::recall::{Gathered, Question, Searched, block, gather};
use crate::memory::working::OpenWorking;
use crate::memory::{Fitted, Memory, fit};

impl Turn {
    /// Stores the question and reads what is fed.
    pub(super) async fn open(&self) -> Result<(Context, Answer), Failure> {
        let settings = self.settings();
        let Some(memory) = self.memory() else {
            let context = self.stateless(settings);
            let answer = Answer::after(context.rows(), true, self.cap());
            return Ok((context, answer));
        };
        let (question, seed) = self.question_and_seed();
        let begun = self.begin(memory, question.clone(), seed.clone()).await?;
        self.remembering(memory, settings, question, seed, &begun).await.map_err(|error| self.store_failed(&error))
    }

    /// The definition's settings and the request's.
    pub(super) fn settings(&self) -> ModelSettings {
        merge(&self.request.agent.definition.model_settings, &self.request.settings)
    }

    async fn begin(&self, memory: &Memory, question: Message, seed: Vec<Message>) -> Result<Begun, Failure> {
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
        if let Some(elsewhere) = &memory.elsewhere {
            elsewhere.refuses(&begin.key).await.map_err(|error| self.store_failed(&error))?;
        }
        memory.store.begin_turn(begin).await.map_err(|error| self.store_failed(&error))
    }

    /// The three tiers, read at once as far as they can be.
    pub(super) async fn remembering(
        &self,
        memory: &Memory,
        settings: ModelSettings,
        question: Message,
        seed: Vec<Message>,
        begun: &Begun,
    ) -> Result<(Context, Answer), StoreError> {
        let policy = &memory.policy;
        // A fresh thread: the client's own list is the history, whole but for the budget of tokens.
        let seed = if begun.seeded { seed } else { Vec::new() };
        let words = question.text();
        let (tail, working, vector) =
            join3(self.tail(memory, begun.first), self.working(memory), self.vector(memory, &words)).await;
        let (tail, working) = (tail?, working?);
        let whole = begun.first.0.saturating_sub(1) == tail.len() as u64;
        let window = fit(tail, policy.window.max_tokens, self.cap());
        let seeded = fit(seed, if begun.seeded { policy.window.max_tokens } else { None }, self.cap());
        // Only what is in the prompt is looked through for call ids that are taken.
        let all_known = whole && window.cut.is_empty() && seeded.cut.is_empty();
        let from = window.kept.first().map_or(begun.first, |row| row.seq);
        let budget = if begun.seeded { seeded.left } else { window.left };
        let recalled = match &policy.recall {
            Some(config) => self.recalled(memory, config, (&words, vector.as_deref()), from, budget).await,
            None => None,
        };
        let mut feed = Feed::new(self.cap());
        let system = self.system(&mut feed, working.as_ref(), recalled.as_ref());
        let written = 1 + seeded.kept.len() + seeded.cut.len();
        let rows = self.rows(&mut feed, recalled, &window, seeded, begun.first, &question);
        feed.limits(policy.window);
        let remembered =
            Some(Remembered { feed, first: begun.first, written, question: words, fed_question: None, vector });
        let context = Context { system, rows, settings, working, remembered };
        let answer = Answer::after(context.rows(), all_known, self.cap());
        Ok((context, answer))
    }

    async fn tail(&self, memory: &Memory, first: Seq) -> Result<Vec<StoredMessage>, StoreError> {
        match memory.policy.window.last_messages {
            0 => Ok(Vec::new()),
            n => memory.store.tail(&self.request.key, n as usize, Some(first)).await,
        }
    }

    async fn working(&self, memory: &Memory) -> Result<Option<OpenWorking>, StoreError> {
        let Some(config) = &memory.policy.working else { return Ok(None) };
        let (key, named) = (&self.request.key, self.request.owner_named);
        OpenWorking::open(memory.store.as_ref(), config, key, named).await.map(Some)
    }

    async fn vector(&self, memory: &Memory, words: &str) -> Option<Vec<f32>> {
        memory.policy.recall.as_ref()?;
        self.services.recall.embed(memory.embedder.as_ref(), words).await
    }

    /// Tier 2. It serves the answer but is not needed for one: a failure of the index is logged, and the turn goes on.
    async fn recalled(
        &self,
        memory: &Memory,
        config: &RecallConfig,
        (text, vector): (&str, Option<&[f32]>),
        before: Seq,
        budget: Option<u32>,
    ) -> Option<Recalled> {
        let key: &ThreadKey = &self.request.key;
        let (owner_named, now) = (self.request.owner_named, self.services.clock.now());
        let question = Question { memory, config, key, owner_named, before, now, text, vector };
        let found = async {
            let searched = self.services.recall.search(question).await?;
            let gathered = gather(&memory.store, config, key, before, &searched.hits, (budget, self.cap())).await?;
            Ok::<_, StoreError>(Recalled { config: config.clone(), searched, gathered })
        };
        match found.await {
            Ok(recalled) => Some(recalled),
            Err(error) => {
                tracing::warn!(turn = %self.id, kind = ?error.kind, %error, "recall failed; the turn goes on without");
                None
            }
        }
    }

    /// The system texts after the agent's instructions.
    fn system(&self, feed: &mut Feed, working: Option<&OpenWorking>, recalled: Option<&Recalled>) -> Vec<String> {
        let mut system = Vec::new();
        feed.system("instructions", &self.request.agent.definition.instructions);
        if let Some(working) = working {
            feed.working(&working.block, &working.scope, working.version());
            system.push(working.block.clone());
        }
        if let Some(lines) = recalled.and_then(|recalled| block(&recalled.gathered.elsewhere)) {
            feed.system("recalled", &lines);
            system.push(lines);
        }
        system
    }

    /// Recalled rows of this thread, the window (or what the client brought), the question.
    fn rows(
        &self,
        feed: &mut Feed,
        recalled: Option<Recalled>,
        window: &Fitted<StoredMessage>,
        seeded: Fitted<Message>,
        first: Seq,
        question: &Message,
    ) -> Vec<(Role, Vec<Part>)> {
        let mut rows = Vec::new();
        if let Some(Recalled { config, searched, gathered }) = recalled {
            feed.recall(&config, &searched, &gathered);
            rows.extend(gathered.here.into_iter().map(|found| (found.row.message.role, found.row.message.parts)));
        }
        let oldest = window.cut.first().or(window.kept.first()).map_or(first, |row| row.seq);
        feed.window(&window.kept, &window.cut, oldest.0.saturating_sub(1));
        rows.extend(window.kept.iter().map(|row| (row.message.role, row.message.parts.clone())));
        for message in seeded.kept.into_iter().chain(std::iter::once(question.clone())) {
            feed.input(&message.id, message.role.as_str(), &message.parts);
            rows.push((message.role, message.parts));
        }
        rows
    }

    fn stateless(&self, settings: ModelSettings) -> Context {
        let is_system = |message: &&InputMessage| message.role == Role::System;
        let messages = &self.request.input.messages;
        let system = messages.iter().filter(is_system).map(|message| text_of(&message.parts)).collect();
        let rows = messages.iter().filter(|message| !is_system(message));
        let rows = rows.map(|message| (message.role, message.parts.clone())).collect();
        Context { system, rows, settings, working: None, remembered: None }
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

/// What tier 2 found.
struct Recalled {
    config: RecallConfig,
    searched: Searched,
    gathered: Gathered,
}

pub(super) fn text_of(parts: &[Part]) -> String {
    let words = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    words.collect()
}

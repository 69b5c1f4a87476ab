//! What one model call is given: pure.

use std::sync::Arc;

use roster_model::message::{Part, Role, Seq};
use roster_model::processor::Row;
use roster_model::provider::{Completion, ModelSettings, PromptMessage};

use super::request::TurnRequest;
use crate::memory::feed::Feed;
use crate::memory::transcript::{self, ResultCap};
use crate::memory::working::OpenWorking;

/// History and input of a turn, before the model's own steps.
pub(super) struct Context {
    /// Working memory, recalled lines and system texts of the request, after the agent's instructions.
    pub(super) system: Vec<String>,
    /// Stored rows, oldest first, then the input.
    pub(super) rows: Vec<(Role, Vec<Part>)>,
    /// Settings of definition and request.
    pub(super) settings: ModelSettings,
    /// The working memory, where there is one.
    pub(super) working: Option<OpenWorking>,
    /// What the turn does with its memory when it is over; absent without memory.
    pub(super) remembered: Option<Remembered>,
}

/// What a turn with memory found when it began.
pub(super) struct Remembered {
    /// What was fed and why.
    pub(super) feed: Feed,
    /// The first row this turn wrote.
    pub(super) first: Seq,
    /// How many rows it wrote before the answer.
    pub(super) written: usize,
    /// The question's words.
    pub(super) question: String,
    /// The same as processors made them, where there are any: what models may read.
    pub(super) fed_question: Option<String>,
    /// Their vector, where one was made.
    pub(super) vector: Option<Vec<f32>>,
}

impl Context {
    /// The rows as the transcript reader takes them.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Role, &[Part])> {
        self.rows.iter().map(|(role, parts)| (*role, parts.as_slice()))
    }

    /// Lets go of what of the rows is not fed.
    pub(super) fn cut(&mut self, cap: ResultCap) {
        self.rows.iter_mut().for_each(|(_, parts)| cap.cut(parts));
    }

    /// The next model call: instructions, history, input, and what this turn said so far.
    pub(super) fn completion(&self, request: &TurnRequest, model: &str, said: &[Row], cap: ResultCap) -> Completion {
        let agent = &request.agent;
        let system = std::iter::once(&agent.definition.instructions).chain(&self.system);
        let mut messages: Vec<PromptMessage> =
            system.filter(|text| !text.trim().is_empty()).cloned().map(PromptMessage::System).collect();
        let rows = self.rows().chain(said.iter().map(|(role, parts)| (*role, parts.as_slice())));
        messages.extend(transcript::for_model(rows, cap));
        let tools = match self.working {
            Some(_) => agent.tools.offered(),
            None => agent.tools.offered_without_memory(),
        };
        let tools = request.tools.beside(tools);
        Completion {
            model: model.to_owned(),
            messages,
            tools,
            output_schema: agent.output.as_ref().map(|(schema, _)| Arc::clone(schema)),
            settings: self.settings.clone(),
            attempts: Arc::default(),
        }
    }
}

/// The definition's settings, each one overridden by the request's where given.
pub(super) fn merge(base: &ModelSettings, over: &ModelSettings) -> ModelSettings {
    let mut provider_options = base.provider_options.clone();
    provider_options.extend(over.provider_options.clone());
    ModelSettings {
        temperature: over.temperature.or(base.temperature),
        top_p: over.top_p.or(base.top_p),
        top_k: over.top_k.or(base.top_k),
        max_output_tokens: over.max_output_tokens.or(base.max_output_tokens),
        stop: if over.stop.is_empty() { base.stop.clone() } else { over.stop.clone() },
        seed: over.seed.or(base.seed),
        presence_penalty: over.presence_penalty.or(base.presence_penalty),
        frequency_penalty: over.frequency_penalty.or(base.frequency_penalty),
        reasoning_effort: over.reasoning_effort.clone().or_else(|| base.reasoning_effort.clone()),
        tool_choice: over.tool_choice.clone().or_else(|| base.tool_choice.clone()),
        max_retries: over.max_retries.or(base.max_retries),
        timeout: over.timeout.or(base.timeout),
        provider_options,
    }
}

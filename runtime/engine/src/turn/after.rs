//! What a turn leaves to be done when its answer is out: the index, the feed records, the title. None of it delays a
//! turn, and none of it fails one.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use roster_model::feed::FeedRecord;
use roster_model::id::ThreadKey;
use roster_model::message::Seq;
use roster_model::provider::{Completion, Delta, ModelSettings, PromptMessage, ProviderError, UserPart};

use super::context::Remembered;
use super::run::Turn;
use super::services::Services;
use crate::memory::feed::{ModelCall, keep_after};
use crate::memory::recall::AfterTurn;
use crate::memory::{Memory, title};
use crate::registry::BoundModel;

/// How long naming a thread may take.
const TITLE_TIMEOUT: Duration = Duration::from_secs(60);

impl Turn {
    /// Hands over what is to be done now. `said` is what was answered, when the turn came to its end.
    pub(super) fn leave(&self, remembered: Remembered, calls: &[ModelCall], said: Option<&str>) {
        let Some(memory) = self.memory() else { return };
        let feed = self.records(&remembered, calls);
        let Remembered { first, written, question, fed_question, vector, .. } = remembered;
        if let (true, Seq(1), None, Some(said)) =
            (memory.policy.generate_title, first, &self.lineage.parent, said.filter(|said| !said.trim().is_empty()))
        {
            self.name_thread(memory, title::prompt(fed_question.as_ref().unwrap_or(&question), said));
        }
        self.services.indexer.after(AfterTurn {
            memory: memory.clone(),
            key: self.request.key.clone(),
            first: memory.policy.recall.is_some().then_some(first),
            rows: written + 1,
            question: vector.map(|vector| (question, vector)),
            feed,
            keep_after: keep_after(self.services.clock.now()),
        });
    }

    /// The same for a turn that waits for a person: its row is indexed, and the thread named, when it is whole.
    pub(super) fn leave_waiting(&self, remembered: &Remembered, calls: &[ModelCall]) {
        let Some(memory) = self.memory() else { return };
        let feed = self.records(remembered, calls);
        let (memory, key) = (memory.clone(), self.request.key.clone());
        let keep_after = keep_after(self.services.clock.now());
        self.services.indexer.after(AfterTurn { memory, key, first: None, rows: 0, question: None, feed, keep_after });
    }

    fn records(&self, remembered: &Remembered, calls: &[ModelCall]) -> Vec<FeedRecord> {
        let origin = self.origin();
        calls.iter().map(|call| remembered.feed.record(&self.id, &origin, call)).collect()
    }

    /// Names the thread with a model call of its own, in the background.
    fn name_thread(&self, memory: &Memory, prompt: String) {
        let (services, memory, key) = (Arc::clone(&self.services), memory.clone(), self.request.key.clone());
        let models = self.request.agent.models.clone();
        self.services.tracker.spawn(async move {
            let stop = services.stop.clone();
            let work = tokio::time::timeout(TITLE_TIMEOUT, name(&services, &memory, &key, &models, &prompt));
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                done = work => if done.is_err() {
                    tracing::warn!(thread = %key.thread, "the model gave no title in time");
                }
            }
        });
    }
}

/// Asks for a title, unless somebody gave one already, and sets it, unless somebody gave one meanwhile.
async fn name(services: &Services, memory: &Memory, key: &ThreadKey, models: &[BoundModel], prompt: &str) {
    match memory.store.thread(key).await {
        Ok(Some(thread)) if thread.title.is_empty() => {}
        Ok(_) => return,
        Err(error) => return tracing::warn!(kind = ?error.kind, %error, "no title: the thread could not be read"),
    }
    for bound in models {
        match ask(services, bound, prompt).await {
            Ok(answer) => {
                let Some(title) = title::title_in(&answer) else { return };
                if let Err(error) = memory.store.set_title_if_empty(key, title).await {
                    tracing::warn!(kind = ?error.kind, %error, "the title could not be set");
                }
                return;
            }
            Err(error) => {
                tracing::warn!(model = %bound.name, code = error.kind.code(), %error, "no title from this model");
            }
        }
    }
}

async fn ask(services: &Services, bound: &BoundModel, prompt: &str) -> Result<String, ProviderError> {
    let completion = Completion {
        model: bound.model.clone(),
        messages: vec![
            PromptMessage::System(title::INSTRUCTION.to_owned()),
            PromptMessage::User(vec![UserPart::Text(prompt.to_owned())]),
        ],
        tools: Arc::default(),
        output_schema: None,
        settings: ModelSettings::default(),
        attempts: Arc::default(),
    };
    let mut stream = bound.provider.complete(completion).await?;
    let mut answer = String::new();
    while let Some(delta) = stream.next().await {
        match delta? {
            Delta::Text(piece) => answer.push_str(&piece),
            Delta::End { usage, .. } => {
                services.metrics.model_call(&bound.name, "ok", usage);
                break;
            }
            _ => {}
        }
    }
    Ok(answer)
}

//! A model server that looks at the system text of every request: which version of the saved agent it is, and whether
//! that version ever existed whole.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use roster_testkit::scripted::{RecordedRequest, Reply, ScriptedServer};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// The agent that is saved.
pub const SAVED: &str = "saved";
/// Lines of its instructions.
const LINES: usize = 12;
/// Saves after which its memory section changes.
const MEMORY_EVERY: u64 = 7;

/// The system text of version `number`: it names the number in every line, so that a mixture shows.
#[must_use]
pub fn instructions(number: u64) -> String {
    let lines: Vec<String> = (1..=LINES).map(|line| format!("Version {number}, line {line} of {LINES}.")).collect();
    lines.join("\n")
}

/// The file of version `number`. The memory section stands last, so that a file cut before it still parses.
#[must_use]
pub fn definition(number: u64) -> String {
    let (instructions, last_messages) = (instructions(number), 5 + memory_changes(number) % 20);
    format!(
        "id = \"{SAVED}\"\ninstructions = \"\"\"\n{instructions}\"\"\"\n\n[memory]\nfactory = \"create_memory\"\n\
         last_messages = {last_messages}\n"
    )
}

/// How often the memory section changed up to version `number`.
#[must_use]
pub fn memory_changes(number: u64) -> u64 {
    number / MEMORY_EVERY
}

/// The server. Clones are the same one.
#[derive(Clone)]
pub struct Witness(Arc<Inner>);

struct Inner {
    server: ScriptedServer,
    state: Arc<Mutex<State>>,
    /// The newest version that was answered from, and when first.
    newest: watch::Sender<Option<(u64, Instant)>>,
}

#[derive(Default)]
struct State {
    /// The newest version whose save has begun.
    begun: u64,
    /// The version each question came with that is not answered yet.
    asked: HashMap<u64, u64>,
    torn: u64,
    first_torn: Option<String>,
}

impl Witness {
    /// Starts the server; version 0 is there.
    pub async fn start() -> Self {
        let server = ScriptedServer::builder().without_records().start().await;
        let state = Arc::new(Mutex::new(State::default()));
        let seen = Arc::clone(&state);
        let answer = Reply::text("The third box on the left weighs three kilograms.");
        server.default_reply(move |request| {
            lock(&seen).see(request);
            answer.clone()
        });
        Self(Arc::new(Inner { server, state, newest: watch::Sender::new(None) }))
    }

    /// The server itself.
    #[must_use]
    pub fn server(&self) -> &ScriptedServer {
        &self.0.server
    }

    /// Version `number` is about to be saved.
    pub fn begin(&self, number: u64) {
        lock(&self.0.state).begun = number;
    }

    /// A question to the saved agent was answered at `at`. Gives the version; `None` when the model was not asked.
    pub fn answered(&self, question: u64, at: Instant) -> Option<u64> {
        let version = lock(&self.0.state).asked.remove(&question)?;
        self.0.newest.send_if_modified(|newest| {
            let newer = newest.is_none_or(|(known, _)| version > known);
            if newer {
                *newest = Some((version, at));
            }
            newer
        });
        Some(version)
    }

    /// When an answer from version `number`, or a newer one, first ended.
    ///
    /// # Errors
    /// When there is none within `patience`.
    pub async fn first_answer(&self, number: u64, patience: Duration) -> anyhow::Result<Instant> {
        let mut newest = self.0.newest.subscribe();
        let served = newest.wait_for(|newest| newest.is_some_and(|(version, _)| version >= number));
        let late = || format!("no answer from version {number} within {} s of its save", patience.as_secs());
        let found = *timeout(patience, served).await.with_context(late)??;
        found.map(|(_, at)| at).context("the wait ended without an answer")
    }

    /// How often the model was sent a text that is no version's, or one of a version not saved yet; and the first.
    #[must_use]
    pub fn torn(&self) -> (u64, Option<String>) {
        let state = lock(&self.0.state);
        (state.torn, state.first_torn.clone())
    }
}

impl State {
    fn see(&mut self, request: &RecordedRequest) {
        let words = request.last_user_text();
        // Others than the saved agent are asked without a number.
        let Some(question) = words.strip_prefix("Question ").and_then(|number| number.parse().ok()) else { return };
        let system = request.messages().iter().find(|message| message["role"] == "system");
        let system = system.and_then(|message| message["content"].as_str()).unwrap_or_default();
        match version_of(system).filter(|version| *version <= self.begun) {
            Some(version) => drop(self.asked.insert(question, version)),
            None => {
                self.torn += 1;
                self.asked.insert(question, 0);
                self.first_torn.get_or_insert_with(|| system.to_owned());
            }
        }
    }
}

/// The version of which this is the whole text.
fn version_of(system: &str) -> Option<u64> {
    let number = system.strip_prefix("Version ")?.split(',').next()?.parse().ok()?;
    (system == instructions(number)).then_some(number)
}

/// What is asked of the saved agent.
#[must_use]
pub fn question(number: u64) -> String {
    format!("Question {number}")
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

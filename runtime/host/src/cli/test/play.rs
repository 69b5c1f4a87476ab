//! A test file from beginning to end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use roster_engine::definition::ModelChoice;
use roster_engine::registry::{Agent, Catalog, Snapshot};
use roster_engine::turn::{self, ClientTools, Input, InputMessage, TurnEvent, TurnRequest};
use roster_model::id::{ResourceId, ThreadId, ThreadKey};
use roster_model::message::{Part, Role};
use roster_model::provider::{ModelSettings, Usage};
use roster_model::time::Timestamp;
use serde_json::Map;

use super::file::{NOW, Test, TestFile, Turn};
use super::judge::{Called, Came, Fault, judge};
use super::report::{FileReport, TestReport};
use super::stub::Stubs;
use super::tape::{Mode, Tape, Taped};
use super::{Found, cassette};
use crate::assemble::rehearsal::rehearse;
use crate::assemble::{Assembly, Project};
use crate::cli::chat;
use crate::config::{ProviderKey, ProxyConfig, RuntimeConfig};
use crate::environment;
use crate::error::HostError;

/// How long what a turn leaves behind (titles, the recall index) is waited for.
const SETTLE: Duration = Duration::from_secs(5);

/// Plays all tests of a file. `project` was read for it alone.
///
/// # Errors
/// [`HostError`] when the project cannot be assembled; what is wrong with the file or its agent is in the report.
pub(super) async fn play(project: &mut Project, found: &Found, mode: Mode) -> Result<FileReport, HostError> {
    let mut report = FileReport::new(&found.shown, &found.agent);
    let file = match &found.file {
        Ok(file) => file,
        Err(problem) => return Ok(report.with_problem(problem)),
    };
    let path = cassette::beside(&found.path, &found.stem);
    let exchanges = match mode {
        Mode::Record => Vec::new(),
        Mode::Replay => match cassette::load(&path) {
            Ok(exchanges) => exchanges,
            Err(fault) => return Ok(report.with_problem(&format!("`{}` {fault}", shown(&path)))),
        },
    };
    let tape = Tape::new(mode, exchanges, format!("roster test --record {}", found.shown));
    let mut keys = keys(project.config()?);
    let stubs = Stubs::new(file.tools.clone(), Arc::clone(&tape));
    let change = |catalog: Catalog| Catalog {
        models: Arc::new(Taped { models: catalog.models, tape: Arc::clone(&tape) }),
        tools: stubs.makers(catalog.tools),
        servers: stubs.servers(catalog.servers),
        ..catalog
    };
    let now = file.now.unwrap_or(Timestamp::from_millis(NOW));
    let assembly = rehearse(project, &found.agent, now, change).await?;
    keys.extend(keys_of_agents(&assembly.registry.snapshot()));
    let result = all(&assembly, project, found, file, &stubs, &tape, &mut report).await;
    assembly.close().await;
    if let Err(error) = result {
        return Ok(report.with_error(&error));
    }
    // A title may be asked for after the last answer.
    report.problems.extend(tape.take_faults());
    match mode {
        Mode::Record => write(&tape, &path, &keys, &mut report),
        Mode::Replay => report.unused = tape.exchanges().1,
    }
    Ok(report)
}

async fn all(
    assembly: &Assembly,
    project: &Project,
    found: &Found,
    file: &TestFile,
    stubs: &Stubs,
    tape: &Tape,
    report: &mut FileReport,
) -> Result<(), HostError> {
    let snapshot = assembly.registry.snapshot();
    let agent = chat::find(&snapshot, project, &found.agent)?;
    for name in stubs.unmet() {
        report.problems.push(Fault::new(format!("[[tools]] names `{name}`, which is no tool of any agent here")));
    }
    for (at, test) in file.tests.iter().enumerate() {
        let mut conversation = Conversation::open(assembly, &snapshot, &agent, at)?;
        report.tests.push(conversation.test(test, tape).await?);
    }
    Ok(())
}

fn write(tape: &Tape, path: &Path, keys: &[String], report: &mut FileReport) {
    let (exchanges, _) = tape.exchanges();
    // Half of a conversation would be no cassette; without a provider to be asked there is none.
    if !tape.is_whole() || exchanges.is_empty() {
        return;
    }
    // A failure that the tests do not expect is no answer to keep.
    if let Some(failure) = tape.failure().filter(|_| report.tests.iter().any(|test| !test.faults.is_empty())) {
        report.problems.push(Fault::new(format!("the provider failed, so nothing is recorded: {failure}")));
        return;
    }
    match cassette::save(path, &exchanges, keys) {
        Ok(()) => report.recorded = Some((shown(path), exchanges.len())),
        Err(error) => report.problems.push(Fault::new(format!("cannot write `{}`: {error}", shown(path)))),
    }
}

fn shown(path: &Path) -> String {
    path.file_name().map_or_else(|| PathBuf::from(path), PathBuf::from).display().to_string()
}

/// The values of all keys, which no cassette may hold.
fn keys(config: &RuntimeConfig) -> Vec<String> {
    let key = |key: &ProviderKey| match key {
        ProviderKey::Set(secret) => Some(secret.expose().to_owned()),
        ProviderKey::None | ProviderKey::Missing { .. } => None,
    };
    let proxy = |proxy: &ProxyConfig| match proxy {
        ProxyConfig::Through(address) => Some(address.expose().to_owned()),
        ProxyConfig::System | ProxyConfig::Direct => None,
    };
    config
        .providers
        .iter()
        .flat_map(|provider| key(&provider.key).into_iter().chain(proxy(&provider.reach.proxy)))
        .collect()
}

/// The same of the models that definitions name by a table.
fn keys_of_agents(snapshot: &Snapshot) -> impl Iterator<Item = String> {
    let tables = snapshot.serving().flat_map(|agent| &agent.definition.model);
    let variables = tables.filter_map(|choice| match choice {
        ModelChoice::Table(table) => table.api_key_env.as_deref(),
        ModelChoice::Named(_) => None,
    });
    variables.filter_map(environment::variable)
}

/// A thread of its own, of an owner of its own.
struct Conversation<'a> {
    assembly: &'a Assembly,
    snapshot: &'a Arc<Snapshot>,
    agent: &'a Arc<Agent>,
    key: ThreadKey,
    /// What was said so far; kept only for an agent without memory, which is handed all of it each turn.
    said: Vec<InputMessage>,
}

impl<'a> Conversation<'a> {
    fn open(
        assembly: &'a Assembly,
        snapshot: &'a Arc<Snapshot>,
        agent: &'a Arc<Agent>,
        at: usize,
    ) -> Result<Self, HostError> {
        let internal = |fault: roster_model::id::IdError| HostError::Internal(fault.to_string());
        let resource = ResourceId::new(format!("test-{}", at + 1)).map_err(internal)?;
        let thread = ThreadId::new("test").map_err(internal)?;
        Ok(Self { assembly, snapshot, agent, key: ThreadKey { resource, thread }, said: Vec::new() })
    }

    /// The turns until one is not as expected: those after it would answer something else.
    async fn test(&mut self, test: &Test, tape: &Tape) -> Result<TestReport, HostError> {
        let mut report = TestReport::new(&test.name);
        for (at, turn) in test.turns.iter().enumerate() {
            let came = self.turn(turn).await?;
            let mut faults = tape.take_faults();
            // Its own faults say why it failed, better than the failure does.
            if faults.is_empty() || came.end.is_ok() {
                faults.extend(judge(turn, &came));
            }
            report.model_calls += came.model_calls;
            report.tokens += came.usage.total_tokens.unwrap_or_default();
            report.turns = at + 1;
            if !faults.is_empty() {
                report.faults = faults.into_iter().map(|fault| Fault { turn: at + 1, ..fault }).collect();
                report.said = Some(turn.say.clone());
                break;
            }
        }
        Ok(report)
    }

    async fn turn(&mut self, turn: &Turn) -> Result<Came, HostError> {
        let services = &self.assembly.services;
        let before = services.tracker.len();
        let came = self.ask(&turn.say).await?;
        // What follows may recall what this turn left; a settled index answers the same each time.
        let settled = async {
            while services.tracker.len() > before {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let _ = tokio::time::timeout(SETTLE, settled).await;
        if self.agent.memory.is_none() {
            self.said.push(message(Role::User, &turn.say));
            if !came.answer.is_empty() {
                self.said.push(message(Role::Assistant, &came.answer));
            }
        }
        Ok(came)
    }

    async fn ask(&self, say: &str) -> Result<Came, HostError> {
        let mut messages = self.said.clone();
        messages.push(message(Role::User, say));
        let request = TurnRequest {
            agent: Arc::clone(self.agent),
            snapshot: Arc::clone(self.snapshot),
            key: self.key.clone(),
            owner_named: true,
            stored: true,
            input: Input { messages },
            tools: ClientTools::default(),
            settings: ModelSettings::default(),
        };
        let mut stream =
            turn::start(&self.assembly.services, request).map_err(|refused| HostError::problem(refused.to_string()))?;
        let (mut answer, mut calls, mut model_calls) = (String::new(), Vec::new(), 0);
        let (usage, end) = loop {
            match stream.next().await {
                Some(TurnEvent::Text(words)) => answer.push_str(&words),
                Some(TurnEvent::ToolCalled { name, arguments, .. }) => calls.push(self.called(name, arguments)),
                Some(TurnEvent::StepFinished { .. }) => model_calls += 1,
                Some(TurnEvent::Finished { reason, usage }) => break (usage, Ok(reason)),
                Some(TurnEvent::Failed(failure)) => break (failure.usage, Err(failure)),
                Some(_) => {}
                None => return Err(HostError::Internal("the turn ended without saying how".to_owned())),
            }
        };
        let usage: Usage = usage;
        Ok(Came { answer, calls, model_calls, usage, end })
    }

    fn called(&self, offered: String, arguments: Map<String, serde_json::Value>) -> Called {
        let written = self.agent.tools.find(&offered).map_or_else(|| offered.clone(), |tool| tool.written.clone());
        Called { offered, written, arguments }
    }
}

fn message(role: Role, text: &str) -> InputMessage {
    InputMessage { role, parts: vec![Part::text(text)] }
}

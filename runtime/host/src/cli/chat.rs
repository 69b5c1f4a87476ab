//! `roster chat`: a turn, or a conversation, in the terminal. The same assembly and the same store as serving.

mod approval;
mod input;
mod screen;
#[cfg(test)]
mod tests;

use std::io::{IsTerminal, Stderr, Stdout, stderr, stdin, stdout};
use std::path::Path;
use std::sync::Arc;

use roster_engine::definition::suggest;
use roster_engine::registry::{Agent, Snapshot};
use roster_engine::turn::{
    self, ClientTools, Failure, FinishReason, Input, InputMessage, TurnEvent, TurnRequest, TurnStream,
};
use roster_model::id::{AgentId, ResourceId, ThreadId, ThreadKey};
use roster_model::message::{Part, Role};
use roster_model::provider::{ModelSettings, ProviderErrorKind};
use roster_model::storage::StoreErrorKind;
use tokio::signal;

use self::approval::Asked;
use self::input::{Line, Lines};
use self::screen::{Screen, Style};
use super::ChatArgs;
use crate::assemble::{self, Assembly, Project};
use crate::error::{Exit, HostError};
use crate::{log, output};

/// Talks to an agent: one turn when there is a text, else line by line.
///
/// # Errors
/// [`HostError`] for an unknown agent, an id that is none, a failed turn, or a project that cannot be assembled.
pub(super) fn run(root: Option<&Path>, args: &ChatArgs) -> Result<Exit, HostError> {
    log::start_quiet()?;
    if args.text.as_ref().is_some_and(|text| text.trim().is_empty()) {
        return Err(HostError::environment("there is nothing to say: the text is empty")
            .hint("write a text, or leave it out: then lines are read until the input ends"));
    }
    let mut project = assemble::read(root)?;
    assemble::runtime()?.block_on(async {
        let assembly = assemble::assemble(&mut project, &args.agent).await?;
        let result = match Conversation::open(&assembly, &project, args) {
            Ok(conversation) => conversation.hold(args.text.as_deref()).await,
            Err(error) => Err(error),
        };
        assembly.close().await;
        result
    })
}

/// One thread with one agent.
struct Conversation<'a> {
    assembly: &'a Assembly,
    snapshot: Arc<Snapshot>,
    agent: Arc<Agent>,
    key: ThreadKey,
    /// What was said so far; kept only for an agent without memory, which is handed all of it each turn.
    said: Vec<InputMessage>,
    /// The call a person is asked about.
    asked: Option<Asked>,
    /// Whether somebody can answer: at a terminal, or line by line.
    answers: bool,
    screen: Screen<Stdout, Stderr>,
}

/// How a turn went.
enum Outcome {
    Answered,
    Cancelled,
    Failed(Failure),
}

impl<'a> Conversation<'a> {
    fn open(assembly: &'a Assembly, project: &Project, args: &ChatArgs) -> Result<Self, HostError> {
        let snapshot = assembly.registry.snapshot();
        let agent = find(&snapshot, project, &args.agent)?;
        let resource = match &args.resource {
            Some(text) => ResourceId::new(text).map_err(|fault| HostError::environment(fault.to_string()))?,
            None => agent.definition.resource.clone(),
        };
        let thread = match &args.thread {
            Some(text) => ThreadId::new(text).map_err(|fault| HostError::environment(fault.to_string()))?,
            None => ThreadId::fresh(assembly.services.ids.as_ref()),
        };
        if args.thread.is_some() && agent.memory.is_none() {
            output::note(format_args!("note: agent `{}` has no memory, so `--thread` continues nothing", args.agent));
        }
        let key = ThreadKey { resource, thread };
        let answers = args.text.is_none() || stdin().is_terminal();
        Ok(Self { assembly, snapshot, agent, key, said: Vec::new(), asked: None, answers, screen: screen() })
    }

    async fn hold(mut self, text: Option<&str>) -> Result<Exit, HostError> {
        let result = match text {
            Some(text) => self.once(text).await,
            None => self.line_by_line().await,
        };
        if self.agent.memory.is_some() {
            let id = &self.agent.definition.id;
            output::note(format_args!("thread {0} (continue: roster chat {id} --thread '{0}')", self.key.thread));
        }
        result
    }

    async fn once(&mut self, text: &str) -> Result<Exit, HostError> {
        let mut outcome = self.turn(text).await?;
        if let Some(asked) = self.asked.as_ref().filter(|_| !self.answers) {
            return Err(self.nobody_answers(asked));
        }
        if self.asked.is_some() {
            outcome = self.ask(&mut Lines::read(), outcome).await?;
        }
        self.leave_waiting();
        match outcome {
            Outcome::Answered => Ok(Exit::Good),
            Outcome::Cancelled => {
                output::note("(cancelled)");
                Ok(Exit::Signalled)
            }
            Outcome::Failed(failure) => Err(explained(&failure)),
        }
    }

    async fn line_by_line(&mut self) -> Result<Exit, HostError> {
        let mut lines = Lines::read();
        loop {
            let line = lines.next().await;
            let line = line.map_err(|error| HostError::environment(format!("cannot read the input: {error}")))?;
            match line {
                Line::Text(text) if text.trim().is_empty() => {}
                Line::Text(text) => match self.said_now(&text).await? {
                    Outcome::Answered => {}
                    Outcome::Cancelled => output::note("(cancelled)"),
                    Outcome::Failed(failure) => output::report(&explained(&failure)),
                },
                Line::End => {
                    self.leave_waiting();
                    return Ok(Exit::Good);
                }
            }
        }
    }

    /// Runs one turn and shows it. Ctrl-C cancels it: what was said is stored and marked.
    async fn turn(&mut self, text: &str) -> Result<Outcome, HostError> {
        let mut messages = self.said.clone();
        messages.push(message(Role::User, text));
        let request = self.request(Input { messages });
        let stream =
            turn::start(&self.assembly.services, request).map_err(|refused| HostError::problem(refused.to_string()))?;
        self.follow(stream, text).await
    }

    /// Shows a turn to its end.
    async fn follow(&mut self, mut stream: TurnStream, text: &str) -> Result<Outcome, HostError> {
        let mut answer = String::new();
        self.asked = None;
        let interrupt = signal::ctrl_c();
        tokio::pin!(interrupt);
        loop {
            let event = tokio::select! {
                event = stream.next() => event,
                _ = &mut interrupt => {
                    drop(stream);
                    self.screen.end()?;
                    return Ok(Outcome::Cancelled);
                }
            };
            let Some(event) = event else {
                self.screen.end()?;
                return Err(HostError::Internal("the turn ended without saying how".to_owned()));
            };
            self.screen.show(&event)?;
            match event {
                TurnEvent::Text(words) => answer.push_str(&words),
                TurnEvent::ToolCalled { id, name, arguments, approval: true } if self.asked.is_none() => {
                    self.asked = Some(Asked { turn: stream.turn.clone(), call: id, name, arguments });
                }
                TurnEvent::Finished { reason, .. } => {
                    self.remember(text, answer);
                    tell(reason);
                    self.put_question();
                    return Ok(Outcome::Answered);
                }
                TurnEvent::Failed(failure) => return Ok(Outcome::Failed(failure)),
                _ => {}
            }
        }
    }

    fn request(&self, input: Input) -> TurnRequest {
        TurnRequest {
            agent: Arc::clone(&self.agent),
            snapshot: Arc::clone(&self.snapshot),
            key: self.key.clone(),
            owner_named: true,
            stored: true,
            input,
            tools: ClientTools::default(),
            settings: ModelSettings::default(),
        }
    }

    fn remember(&mut self, question: &str, answer: String) {
        if self.agent.memory.is_none() {
            self.said.push(message(Role::User, question));
            if !answer.is_empty() {
                self.said.push(message(Role::Assistant, answer));
            }
        }
    }
}

/// A person at a terminal sees all in one place; a program that reads stdout gets the answer alone.
fn screen() -> Screen<Stdout, Stderr> {
    let answer = Style { colour: output::stdout_colour(), terminal: stdout().is_terminal() };
    if answer.terminal {
        return Screen::new(stdout(), answer);
    }
    let aside = Style { colour: output::stderr_colour(), terminal: stderr().is_terminal() };
    Screen::apart(stdout(), answer, stderr(), aside)
}

fn message(role: Role, text: impl Into<String>) -> InputMessage {
    InputMessage { role, parts: vec![Part::text(text)] }
}

/// Says so when an answer is not whole.
fn tell(reason: FinishReason) {
    match reason {
        FinishReason::Length => output::note("note: the answer was cut: the model's token limit was reached"),
        FinishReason::ToolCalls => output::note("note: stopped after `max_steps` model calls"),
        FinishReason::ContentFilter => output::note("note: the provider's filter ended the answer"),
        FinishReason::Stop
        | FinishReason::Suspended
        | FinishReason::ClientCalls
        | FinishReason::Error
        | FinishReason::Interrupted => {}
    }
}

/// A failure with what a person at this terminal can do about it.
fn explained(failure: &Failure) -> HostError {
    use roster_engine::turn::FailureKind::{Provider, Store};
    let error = HostError::problem(failure.message.clone());
    match failure.kind {
        Provider(ProviderErrorKind::KeyMissing) => {
            error.hint("set the variable, or choose another model in config/runtime.toml")
        }
        Provider(ProviderErrorKind::Connect) => error.hint("`roster doctor` shows the providers and their addresses"),
        Store(StoreErrorKind::Unavailable) => {
            error.hint("`roster doctor` says what is wrong with the sessions database")
        }
        _ => error,
    }
}

/// The agent, if it can be asked.
pub(super) fn find(snapshot: &Snapshot, project: &Project, name: &str) -> Result<Arc<Agent>, HostError> {
    let entry = AgentId::new(name).ok().and_then(|id| snapshot.entry(&id));
    let Some(entry) = entry else {
        let known: Vec<&str> = snapshot.entries.iter().map(|entry| entry.id.as_str()).collect();
        let hint = match suggest(name, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if known.is_empty() => "no agent is registered; `roster new agent ID` makes one".to_owned(),
            None => format!("registered: {}", known.join(", ")),
        };
        return Err(HostError::environment(format!("unknown agent `{name}`")).hint(hint));
    };
    match &entry.agent {
        Some(agent) => Ok(Arc::clone(agent)),
        None if entry.problems.is_empty() => {
            Err(HostError::problem(format!("agent `{name}` is disabled")).hint(format!("`enabled` in {}", entry.file)))
        }
        None => {
            output::note(project.rendered(&entry.problems).trim_end());
            Err(HostError::problem(format!("agent `{name}` cannot be served"))
                .hint("`roster check` shows all problems"))
        }
    }
}

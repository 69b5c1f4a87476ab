//! From the files as taken to what the engine prepares a registry from. A pass over all lines that copies pointers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use roster_engine::definition::{Definition, Positions, Problem, suggest};
use roster_engine::registry::{AgentState, Candidate, Entry, Snapshot};
use roster_model::id::AgentId;

use super::lines::Line;
use super::unit::{Text, Unit, Value};
use super::world::{World, is_definition};
use crate::config::project::agents::{MOST_COMPARED, file_problem, other_id};
use crate::config::{ReadFailure, unknown_agents};

/// What earlier runs and operators left: versions to serve in the place of a file's.
#[derive(Default)]
pub(super) struct Past {
    /// What operators pinned.
    pub(super) pins: HashMap<AgentId, Arc<Definition>>,
    /// The last version served by an earlier run, of agents that cannot be served from their file; `None`: asked for,
    /// and there is none.
    pub(super) last_good: HashMap<AgentId, Option<Arc<Definition>>>,
    /// Agents whose file is good by itself, but names things that are not there: to be served from `last_good`.
    pub(super) unresolved: HashSet<AgentId>,
}

impl World {
    /// What is to be registered, in the order of the lines. A line whose file is not settled for the first time keeps
    /// what it had; a new one waits.
    pub(super) fn candidates(&self, previous: &Snapshot, past: &Past) -> Vec<Candidate> {
        self.roll.lines.iter().filter_map(|line| self.candidate(line, previous, past)).collect()
    }

    fn candidate(&self, line: &Line, previous: &Snapshot, past: &Past) -> Option<Candidate> {
        let mut candidate = self.of_file(line, previous)?;
        candidate.pinned = past.pins.get(&line.id).cloned();
        if past.unresolved.contains(&line.id) && previous.agent(&line.id).is_none() {
            // Its problems of this kind were found when it was last prepared.
            candidate.definition = None;
            candidate.problems = previous.entry(&line.id).map(|entry| entry.problems.clone()).unwrap_or_default();
        }
        if candidate.definition.is_none() && !candidate.gone {
            candidate.last_good = past.last_good.get(&line.id).cloned().flatten();
        }
        Some(candidate)
    }

    fn of_file(&self, line: &Line, previous: &Snapshot) -> Option<Candidate> {
        let nowhere = || Arc::new(Positions { file: line.file.as_str().into(), ..Positions::default() });
        let broken = |problem: Option<Problem>| {
            let candidate = Candidate::new(line.id.clone(), line.file.clone(), None, nowhere());
            Candidate { problems: line.problems.iter().cloned().chain(problem).collect(), ..candidate }
        };
        let Some(name) = &line.unit else { return Some(broken(None)) };
        match self.units.get(name).map(|unit| &unit.value) {
            None | Some(Value::Untaken) => previous.entry(&line.id).map(as_before),
            Some(Value::Failed(failure)) => {
                let problem = line.place(file_problem(name, failure, self.meant(name, failure)));
                let gone = *failure == ReadFailure::Missing;
                Some(Candidate { gone, ..broken(Some(problem)) })
            }
            Some(Value::Loaded(text)) => Some(of_text(line, text)),
        }
    }

    /// What was probably meant by the name of a file that is not there.
    fn meant(&self, name: &str, failure: &ReadFailure) -> Option<&str> {
        if *failure != ReadFailure::Missing || self.units.len() > MOST_COMPARED {
            return None;
        }
        // A file that another line names is not what was meant.
        let free = |(name, unit): &(&Arc<str>, &Unit)| matches!(unit.value, Value::Loaded(_)) && !self.roll.names(name);
        suggest(name, self.units.iter().filter(free).map(|(name, _)| &**name))
    }

    /// The agents that cannot be served from their files, and that nothing serves now.
    pub(super) fn lost(&self, previous: &Snapshot) -> Vec<AgentId> {
        let broken =
            |line: &&Line| match line.unit.as_ref().and_then(|name| self.units.get(name)).map(|unit| &unit.value) {
                Some(Value::Loaded(text)) => text.definition.is_none() || of_another(line, text).is_some(),
                Some(Value::Failed(failure)) => *failure != ReadFailure::Missing,
                Some(Value::Untaken) => false,
                None => true,
            };
        let lines = self.roll.lines.iter().filter(|line| previous.agent(&line.id).is_none());
        lines.filter(broken).map(|line| line.id.clone()).collect()
    }

    /// Problems that belong to no agent.
    pub(super) fn problems(&mut self) -> Vec<Problem> {
        if self.unregistered.is_none() {
            let strangers = self.units.iter().filter(|(name, _)| is_definition(name) && !self.roll.names(name));
            let with_id = strangers.filter_map(|(name, unit)| match &unit.value {
                Value::Untaken => None,
                Value::Failed(_) => Some((&**name, None)),
                Value::Loaded(text) => Some((&**name, text.positions.id.as_ref().map(|(id, _)| id.as_str()))),
            });
            self.unregistered = Some(self.roll.unregistered(with_id));
        }
        let known: Vec<&str> = self.roll.lines.iter().map(|line| line.id.as_str()).collect();
        let unknown = unknown_agents(&self.settings.config.mcp_agents, self.settings.source(), &known);
        let absent = self.absent.as_ref().and_then(|absent| absent.problem.as_ref());
        let all = self.settings.problems.iter().chain(&self.roll.problems).chain(&self.refused).chain(absent);
        all.chain(self.unregistered.iter().flatten()).chain(&unknown).cloned().collect()
    }
}

fn of_text(line: &Line, text: &Text) -> Candidate {
    let Text { definition, positions, problems, .. } = text;
    let mut found: Vec<Problem> = problems.clone();
    let (mut definition, mut positions) = (definition.clone(), Arc::clone(positions));
    if let Some(problem) = of_another(line, text) {
        found.push(problem);
        if let Some(other) = definition.take() {
            // Its names are looked up all the same.
            positions = Arc::new(Positions { broken: Some(other), ..Positions::clone(&positions) });
        }
    }
    for problem in &mut found {
        problem.agent = Some(line.id.to_string());
    }
    found.extend(line.problems.iter().cloned());
    let candidate = Candidate::new(line.id.clone(), line.file.clone(), definition, positions);
    Candidate { problems: found, ..candidate }
}

/// The file holds another agent than its line says.
fn of_another(line: &Line, text: &Text) -> Option<Problem> {
    if text.definition.as_ref().is_some_and(|definition| definition.id == line.id) {
        return None;
    }
    other_id(&line.id, &line.file, &text.positions)
}

/// A line whose new file is not settled yet stays as it is served now.
fn as_before(entry: &Entry) -> Candidate {
    let agent = entry.agent.as_ref().filter(|_| entry.state == AgentState::Serving && entry.pinned.is_none());
    let definition = agent.map(|agent| Arc::clone(&agent.definition));
    let positions = Arc::new(Positions { file: entry.file.as_str().into(), ..Positions::default() });
    let candidate = Candidate::new(entry.id.clone(), entry.file.clone(), definition, positions);
    Candidate { problems: entry.problems.clone(), ..candidate }
}

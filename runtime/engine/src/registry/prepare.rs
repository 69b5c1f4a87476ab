//! From loaded files to the next snapshot. All that may fail happens here, per agent.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use roster_model::id::AgentId;

use super::catalog::Catalog;
use super::resolve::{Resolved, Roll, resolve};
use super::snapshot::{Agent, AgentState, Entry, Snapshot};
use crate::definition::{Definition, Positions, Problem};
use crate::memory::{FactoryError, Memory};

/// One line of the registry with what its file gave.
pub struct Candidate {
    /// The key of the line.
    pub id: AgentId,
    /// Its file, relative to the root.
    pub file: String,
    /// The definition, when the file has no error.
    pub definition: Option<Definition>,
    /// Where its names stand.
    pub positions: Positions,
    /// What loading found.
    pub problems: Vec<Problem>,
}

/// A registry ready to be published.
pub struct Prepared {
    generation: u64,
    /// The entries to be.
    pub entries: Vec<Entry>,
    /// Problems of no single agent.
    pub problems: Vec<Problem>,
    /// How many agents were assembled anew.
    pub assembled: usize,
    /// How often a memory factory was called.
    pub factory_calls: usize,
}

impl Prepared {
    pub(super) fn into_snapshot(self) -> Snapshot {
        Snapshot::new(self.generation, self.entries, self.problems)
    }
}

/// Assembles what is new or changed, keeps what is not, and keeps the last good version of what is broken.
#[must_use]
pub fn prepare(catalog: &Catalog, previous: &Snapshot, candidates: Vec<Candidate>, problems: Vec<Problem>) -> Prepared {
    let generation = previous.generation + 1;
    let roll = roll_of(&candidates, previous);
    let cycles = cycles(&candidates);
    let mut prepared = Prepared { generation, entries: Vec::new(), problems, assembled: 0, factory_calls: 0 };
    for mut candidate in candidates {
        if let Some(problem) = cycles.get(&candidate.id) {
            candidate.problems.push(problem.clone());
        }
        let entry = prepared.entry(candidate, catalog, previous, &roll);
        prepared.entries.push(entry);
    }
    prepared
}

/// Problems only names can have, for `roster check`: nothing is assembled and no factory is called.
#[must_use]
pub fn check_names(catalog: &Catalog, candidates: &[Candidate]) -> Vec<Problem> {
    let empty = Snapshot::new(0, Vec::new(), Vec::new());
    let roll = roll_of(candidates, &empty);
    let mut problems: Vec<Problem> = cycles(candidates).into_values().collect();
    for candidate in candidates {
        let Some(definition) = &candidate.definition else { continue };
        if let Err(found) = resolve(definition, &candidate.positions, catalog, &roll) {
            problems.extend(found.into_iter().map(|problem| problem.of(candidate.id.as_str())));
        }
    }
    problems
}

impl Prepared {
    fn entry(&mut self, candidate: Candidate, catalog: &Catalog, previous: &Snapshot, roll: &Roll) -> Entry {
        let before = previous.agent(&candidate.id);
        let Candidate { id, file, definition, positions, mut problems } = candidate;
        let Some(definition) = definition else {
            return fallen_back(id, file, before, problems);
        };
        if !definition.enabled {
            return Entry { id, state: AgentState::Disabled, agent: None, file, problems };
        }
        let facts = facts_of(&definition, roll);
        if let Some(agent) = before.filter(|agent| agent.is_current(&definition, catalog, &facts)) {
            let agent = Some(Arc::clone(agent));
            return Entry { id, state: AgentState::Serving, agent, file, problems };
        }
        let resolved = match resolve(&definition, &positions, catalog, roll) {
            Ok(resolved) => resolved,
            Err(found) => {
                problems.extend(found.into_iter().map(|problem| problem.of(id.as_str())));
                return fallen_back(id, file, before, problems);
            }
        };
        let Resolved { models, tools, factory } = resolved;
        let memory = match self.memory(&definition, before, factory) {
            Ok(memory) => memory,
            Err(error) => {
                let message = format!("the memory factory of agent `{id}` failed: {error}");
                let span = positions.memory_factory.clone();
                problems.push(positions.error("factory_failed", span, message).of(id.as_str()));
                return fallen_back(id, file, before, problems);
            }
        };
        self.assembled += 1;
        let generation = self.generation;
        let agent = Agent { definition, models, tools, memory, generation, revision: catalog.revision, facts };
        Entry { id, state: AgentState::Serving, agent: Some(Arc::new(agent)), file, problems }
    }

    /// Calls the factory, once; an unchanged memory section and resource keep their memory.
    fn memory(
        &mut self,
        definition: &Definition,
        before: Option<&Arc<Agent>>,
        factory: Option<Arc<dyn crate::memory::MemoryFactory>>,
    ) -> Result<Option<Memory>, FactoryError> {
        let (Some(config), Some(factory)) = (&definition.memory, factory) else { return Ok(None) };
        if let Some(before) = before
            && before.definition.memory.as_ref() == Some(config)
            && before.definition.resource == definition.resource
            && let Some(memory) = &before.memory
        {
            return Ok(Some(memory.clone()));
        }
        self.factory_calls += 1;
        factory.create(config).map(Some)
    }
}

/// A broken file never removes a good agent.
fn fallen_back(id: AgentId, file: String, before: Option<&Arc<Agent>>, problems: Vec<Problem>) -> Entry {
    let state = if before.is_some() { AgentState::ServingLastGood } else { AgentState::Rejected };
    Entry { id, state, agent: before.cloned(), file, problems }
}

fn roll_of(candidates: &[Candidate], previous: &Snapshot) -> Roll {
    let one = |candidate: &Candidate| {
        let definition = candidate.definition.as_ref();
        let definition = definition.or_else(|| previous.agent(&candidate.id).map(|agent| &agent.definition));
        let facts = definition.map(|definition| (definition.name.clone(), definition.description.clone()));
        (candidate.id.clone(), facts.unwrap_or_else(|| (candidate.id.to_string(), String::new())))
    };
    candidates.iter().map(one).collect()
}

/// What the agent's tools say of its sub-agents; a change of these assembles it anew.
fn facts_of(definition: &Definition, roll: &Roll) -> Vec<(String, String)> {
    definition.agents.iter().filter_map(|id| roll.get(id).cloned()).collect()
}

impl Agent {
    fn is_current(&self, definition: &Definition, catalog: &Catalog, facts: &[(String, String)]) -> bool {
        self.definition.fingerprint == definition.fingerprint
            && self.definition.id == definition.id
            && self.revision == catalog.revision
            && self.facts == facts
    }
}

/// A warning for each agent that can reach itself: the depth limit ends such calls, but somebody should look.
fn cycles(candidates: &[Candidate]) -> HashMap<AgentId, Problem> {
    let calls: HashMap<&AgentId, &[AgentId]> = candidates
        .iter()
        .filter_map(|candidate| Some((&candidate.id, candidate.definition.as_ref()?.agents.as_slice())))
        .collect();
    let mut found = HashMap::new();
    for candidate in candidates {
        let Some(definition) = &candidate.definition else { continue };
        let guilty = definition.agents.iter().position(|id| reaches(&calls, id, &candidate.id));
        if let Some(at) = guilty {
            let via = &definition.agents[at];
            let message = if *via == candidate.id {
                format!("agent `{via}` may call itself")
            } else {
                format!("agent `{}` calls `{via}`, which can call `{}` again", candidate.id, candidate.id)
            };
            let span = candidate.positions.agents.get(at).cloned();
            let problem = candidate.positions.warning("agent_cycle", span, message).of(candidate.id.as_str());
            let help = "an agent already at work on a request is not asked again by it; the model is told so";
            found.insert(candidate.id.clone(), problem.help(help));
        }
    }
    found
}

fn reaches(calls: &HashMap<&AgentId, &[AgentId]>, from: &AgentId, to: &AgentId) -> bool {
    let mut seen = HashSet::new();
    let mut open = vec![from];
    while let Some(id) = open.pop() {
        if id == to {
            return true;
        }
        if seen.insert(id) {
            open.extend(calls.get(id).copied().unwrap_or_default());
        }
    }
    false
}

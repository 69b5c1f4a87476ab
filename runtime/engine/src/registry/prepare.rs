//! From loaded files to the next snapshot. All that may fail happens here, per agent.

use std::sync::Arc;

use roster_model::id::AgentId;

use super::catalog::Catalog;
use super::cycles::cycles;
use super::diff::{Change, diff};
use super::remote;
use super::resolve::{NOWHERE_TO_WAIT, Resolved, Roll, resolve};
use super::snapshot::{Agent, AgentState, Entry, Refusal, Snapshot};
use crate::definition::{Definition, Positions, Problem};
use crate::memory::{FactoryError, Memory, MemoryFactory};

/// One line of the registry with what its file gave. Cheap to make again for a file that did not change.
#[derive(Clone)]
pub struct Candidate {
    /// The key of the line.
    pub id: AgentId,
    /// Its file, relative to the root.
    pub file: String,
    /// The definition, when the file has no error.
    pub definition: Option<Arc<Definition>>,
    /// Where its names stand.
    pub positions: Arc<Positions>,
    /// What loading found.
    pub problems: Vec<Problem>,
    /// True when the file is gone for good: the agent leaves service, whatever served before.
    pub gone: bool,
    /// The last version that was served, from the ledger: serves when the file is broken and nothing serves now.
    pub last_good: Option<Arc<Definition>>,
    /// The version an operator pinned: serves instead of the file's until unpinned.
    pub pinned: Option<Arc<Definition>>,
}

impl Candidate {
    /// A line and its file, with neither past nor pin.
    #[must_use]
    pub fn new(id: AgentId, file: String, definition: Option<Arc<Definition>>, positions: Arc<Positions>) -> Self {
        Self { id, file, definition, positions, problems: Vec::new(), gone: false, last_good: None, pinned: None }
    }
}

/// A registry ready to be published.
pub struct Prepared {
    generation: u64,
    /// The entries to be.
    pub entries: Vec<Entry>,
    /// Problems of no single agent.
    pub problems: Vec<Problem>,
    /// What changes against the previous snapshot.
    pub changes: Vec<Change>,
    /// The agents whose memory factory was called.
    pub factory_calls: Vec<AgentId>,
}

impl Prepared {
    pub(super) fn into_snapshot(self) -> Snapshot {
        Snapshot::new(self.generation, self.entries, self.problems)
    }
}

/// Assembles what is new or changed, keeps what is not, and keeps the last good version of what is broken.
#[must_use]
pub fn prepare(catalog: &Catalog, previous: &Snapshot, candidates: Vec<Candidate>, problems: Vec<Problem>) -> Prepared {
    let roll = roll_of(&candidates, previous);
    let cycles = cycles(&candidates);
    let generation = previous.generation + 1;
    let mut assembler = Assembler { catalog, previous, roll, generation, factory_calls: Vec::new(), refusal: None };
    let mut entries = Vec::with_capacity(candidates.len());
    for mut candidate in candidates {
        candidate.problems.extend(cycles.get(&candidate.id).cloned());
        let entry = assembler.entry(candidate);
        entries.push(Entry { refusal: assembler.refusal.take(), ..entry });
    }
    let changes = diff(previous, &entries);
    let Assembler { generation, factory_calls, .. } = assembler;
    Prepared { generation, entries, problems, changes, factory_calls }
}

/// Problems only names can have, for `roster check`: nothing is assembled and no factory is called.
#[must_use]
pub fn check_names(catalog: &Catalog, candidates: &[Candidate]) -> Vec<Problem> {
    let empty = Snapshot::new(0, Vec::new(), Vec::new());
    let roll = roll_of(candidates, &empty);
    let mut problems: Vec<Problem> = cycles(candidates).into_values().collect();
    for candidate in candidates {
        let found = match &candidate.definition {
            Some(definition) => names(definition, &candidate.positions, catalog, &roll),
            None => names_of_broken(&candidate.positions, &candidate.problems, catalog, &roll),
        };
        problems.extend(found.into_iter().map(|problem| problem.of(candidate.id.as_str())));
    }
    problems
}

fn names(definition: &Definition, positions: &Positions, catalog: &Catalog, roll: &Roll) -> Vec<Problem> {
    match resolve(definition, positions, catalog, roll) {
        Ok(resolved) => resolved.warnings,
        Err(found) => found,
    }
}

/// The same for a file with errors, as far as it could be read; what follows from an error it has already is left out.
fn names_of_broken(positions: &Positions, known: &[Problem], catalog: &Catalog, roll: &Roll) -> Vec<Problem> {
    let Some(definition) = &positions.broken else { return Vec::new() };
    let mut found = names(definition, positions, catalog, roll);
    let blamed = |problem: &Problem| {
        let Some(span) = &problem.span else { return false };
        let mut places = known.iter().filter(|known| known.is_error()).filter_map(|known| known.span.as_ref());
        places.any(|place| place.start < span.end && span.start < place.end)
    };
    // Its memory may be what could not be read.
    found.retain(|problem| problem.code != NOWHERE_TO_WAIT && !blamed(problem));
    found
}

/// What one pass over the candidates needs.
struct Assembler<'a> {
    catalog: &'a Catalog,
    previous: &'a Snapshot,
    roll: Roll,
    generation: u64,
    factory_calls: Vec<AgentId>,
    /// The factory that failed for the entry in hand.
    refusal: Option<Refusal>,
}

impl Assembler<'_> {
    fn entry(&mut self, candidate: Candidate) -> Entry {
        let Candidate { id, file, definition, positions, problems, gone, last_good, pinned } = candidate;
        let before = self.previous.agent(&id).cloned();
        let state = AgentState::Rejected;
        let mut entry = Entry { id, state, agent: None, file, problems, pinned: None, gone, refusal: None };
        if gone {
            return entry;
        }
        if definition.is_none() {
            let found = names_of_broken(&positions, &entry.problems, self.catalog, &self.roll);
            entry.problems.extend(found.into_iter().map(|problem| problem.of(entry.id.as_str())));
        }
        entry.pinned = pinned.as_ref().map(|pinned| pinned.fingerprint.clone());
        let says = definition.as_ref().or(positions.broken.as_ref().filter(|_| pinned.is_some()));
        let switched_off = match says {
            Some(says) => !says.enabled,
            // What somebody switched off does not come back because its file broke.
            None => self.was_disabled(&entry.id),
        };
        if switched_off {
            return Entry { state: AgentState::Disabled, ..entry };
        }
        if let Some(pinned) = pinned {
            let nowhere = Positions { file: entry.file.as_str().into(), ..Positions::default() };
            return self.served(entry, &pinned, &nowhere, before);
        }
        match definition {
            Some(definition) => self.served(entry, &definition, &positions, before),
            None => self.fallen_back(entry, before, last_good),
        }
    }

    fn was_disabled(&self, id: &AgentId) -> bool {
        self.previous.entry(id).is_some_and(|entry| entry.state == AgentState::Disabled)
    }

    /// The entry serving `definition`, or what served before when that cannot be.
    fn served(
        &mut self,
        mut entry: Entry,
        definition: &Arc<Definition>,
        positions: &Positions,
        before: Option<Arc<Agent>>,
    ) -> Entry {
        match self.agent(definition, positions, before.as_ref()) {
            Ok(agent) => {
                let warnings = agent.warnings.iter().map(|problem| problem.clone().of(entry.id.as_str()));
                entry.problems.extend(warnings);
                Entry { state: AgentState::Serving, agent: Some(agent), ..entry }
            }
            Err(found) => {
                entry.problems.extend(found.into_iter().map(|problem| problem.of(entry.id.as_str())));
                self.fallen_back(entry, before, None)
            }
        }
    }

    /// A broken file never removes a good agent; after a restart its last good version comes from the ledger.
    fn fallen_back(&mut self, entry: Entry, before: Option<Arc<Agent>>, last_good: Option<Arc<Definition>>) -> Entry {
        let from_ledger = |this: &mut Self| this.agent(&last_good?, &Positions::default(), None).ok();
        match before.or_else(|| from_ledger(self)) {
            Some(agent) => Entry { state: AgentState::ServingLastGood, agent: Some(agent), ..entry },
            None => entry,
        }
    }

    /// The agent of this definition: the very one that serves when nothing changed, else assembled anew.
    fn agent(
        &mut self,
        definition: &Arc<Definition>,
        positions: &Positions,
        before: Option<&Arc<Agent>>,
    ) -> Result<Arc<Agent>, Vec<Problem>> {
        let facts = facts_of(definition, &self.roll, self.catalog);
        if let Some(agent) = before.filter(|agent| agent.is_current(definition, self.catalog, &facts)) {
            return Ok(Arc::clone(agent));
        }
        let Resolved { models, tools, processors, factory, embedder, output, warnings } =
            resolve(definition, positions, self.catalog, &self.roll)?;
        let mut memory = self.memory(definition, before, factory).map_err(|error| {
            let message = format!("the memory factory of agent `{}` failed: {error}", definition.id);
            vec![positions.error("factory_failed", positions.memory_factory.clone(), message)]
        })?;
        if let Some(memory) = &mut memory {
            memory.embedder = embedder;
        }
        let definition = Arc::clone(definition);
        let (generation, revision) = (self.generation, self.catalog.revision);
        Ok(Arc::new(Agent {
            definition,
            models,
            tools,
            processors,
            memory,
            output,
            generation,
            revision,
            facts,
            warnings,
        }))
    }

    /// Calls the factory, once; an unchanged memory section and resource keep their memory. One that failed for this
    /// version is not called again: the failure stands until the definition or the catalog is another.
    fn memory(
        &mut self,
        definition: &Definition,
        before: Option<&Arc<Agent>>,
        factory: Option<Arc<dyn MemoryFactory>>,
    ) -> Result<Option<Memory>, FactoryError> {
        let (Some(config), Some(factory)) = (&definition.memory, factory) else { return Ok(None) };
        if let Some(before) = before
            && before.definition.memory.as_ref() == Some(config)
            && before.definition.resource == definition.resource
            && let Some(memory) = &before.memory
        {
            return Ok(Some(memory.clone()));
        }
        if let Some(refusal) = self.refused_before(definition) {
            let error = refusal.error.clone();
            self.refusal = Some(refusal);
            return Err(error);
        }
        self.factory_calls.push(definition.id.clone());
        factory.create(config).map(Some).inspect_err(|error| {
            let (fingerprint, revision) = (definition.fingerprint.clone(), self.catalog.revision);
            self.refusal = Some(Refusal { fingerprint, revision, error: error.clone() });
        })
    }

    fn refused_before(&self, definition: &Definition) -> Option<Refusal> {
        let before = self.previous.entry(&definition.id)?.refusal.as_ref()?;
        let same = before.fingerprint == definition.fingerprint && before.revision == self.catalog.revision;
        same.then(|| before.clone())
    }
}

/// Name and description of every agent that has a line, for those that call it.
fn roll_of(candidates: &[Candidate], previous: &Snapshot) -> Roll {
    let one = |candidate: &Candidate| {
        let definition = candidate.pinned.as_ref().or(candidate.definition.as_ref());
        let served = || previous.agent(&candidate.id).map(|agent| &agent.definition);
        let definition = definition.or_else(served).or(candidate.last_good.as_ref());
        let facts = definition.map(|definition| (definition.name.clone(), definition.description.clone()));
        (candidate.id.clone(), facts.unwrap_or_else(|| (candidate.id.to_string(), String::new())))
    };
    candidates.iter().map(one).collect()
}

/// What the agent's tools say of its sub-agents, and how the servers it uses stand; a change of these assembles it anew.
fn facts_of(definition: &Definition, roll: &Roll, catalog: &Catalog) -> Vec<(String, String)> {
    let agents = definition.callees().filter_map(|id| roll.get(id).cloned());
    agents.chain(remote::facts(definition, catalog)).collect()
}

impl Agent {
    fn is_current(&self, definition: &Definition, catalog: &Catalog, facts: &[(String, String)]) -> bool {
        self.definition.fingerprint == definition.fingerprint
            && self.definition.id == definition.id
            && self.revision == catalog.revision
            && self.facts == facts
    }
}

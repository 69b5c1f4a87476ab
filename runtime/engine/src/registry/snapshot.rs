//! What is served now.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use roster_model::id::AgentId;
use roster_model::processor::Processor;
use serde::Serialize;

use crate::definition::{Definition, Problem};
use crate::memory::{FactoryError, Memory};
use crate::registry::BoundModel;
use crate::tool::{Compiled, ToolBox};

/// An agent assembled from its definition.
pub struct Agent {
    /// What its file says.
    pub definition: Arc<Definition>,
    /// Models in order of preference; never empty.
    pub models: Vec<BoundModel>,
    /// Its tools under the names the model sees.
    pub tools: ToolBox,
    /// What sees what is said on its way, by name, in the order of the definition.
    pub processors: Vec<(String, Arc<dyn Processor>)>,
    /// Its memory; `None` means none at all.
    pub memory: Option<Memory>,
    /// The schema of its answers; `None`: they are words.
    pub output: Option<Compiled>,
    /// The generation in which this version was first published.
    pub generation: u64,
    /// The catalog revision it was assembled from.
    pub(crate) revision: u64,
    /// Name and description of each sub-agent, as its tools tell the model; each server it uses, and its revision.
    pub(crate) facts: Vec<(String, String)>,
    /// What somebody should look at, although it serves.
    pub(crate) warnings: Vec<Problem>,
}

/// How an agent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// Its newest file is served.
    Serving,
    /// Its newest file was rejected; the last good version is served.
    ServingLastGood,
    /// Never served: its file has errors.
    Rejected,
    /// Its file says `enabled = false`.
    Disabled,
}

/// One line of the registry.
#[derive(Clone)]
pub struct Entry {
    /// The key of the line.
    pub id: AgentId,
    /// How it stands.
    pub state: AgentState,
    /// What is served; present for the two serving states.
    pub agent: Option<Arc<Agent>>,
    /// Its file, relative to the root.
    pub file: String,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
    /// The fingerprint of the version an operator pinned.
    pub pinned: Option<String>,
    /// True when its file is gone for good: as if it had no line, but listed.
    pub gone: bool,
    /// The memory factory that failed for it, so that it is not called again for the same.
    pub(crate) refusal: Option<Refusal>,
}

/// A memory factory that failed, and for what.
#[derive(Clone)]
pub(crate) struct Refusal {
    /// The version of the definition.
    pub(crate) fingerprint: String,
    /// The catalog the factory came from.
    pub(crate) revision: u64,
    /// What it said.
    pub(crate) error: FactoryError,
}

/// The registry at one moment, in the order of its lines.
pub struct Snapshot {
    /// Counted from 1 with each publish of this process; 0 is the empty beginning.
    pub generation: u64,
    /// One a line.
    pub entries: Vec<Entry>,
    /// Problems of no single agent: the registry file's own, unregistered files.
    pub problems: Vec<Problem>,
    by_id: HashMap<AgentId, usize>,
}

impl Snapshot {
    pub(crate) fn new(generation: u64, entries: Vec<Entry>, problems: Vec<Problem>) -> Self {
        let by_id = entries.iter().enumerate().map(|(at, entry)| (entry.id.clone(), at)).collect();
        Self { generation, entries, problems, by_id }
    }

    /// A line.
    #[must_use]
    pub fn entry(&self, id: &AgentId) -> Option<&Entry> {
        self.by_id.get(id).map(|at| &self.entries[*at])
    }

    /// An agent that can be asked now.
    #[must_use]
    pub fn agent(&self, id: &AgentId) -> Option<&Arc<Agent>> {
        self.entry(id).and_then(|entry| entry.agent.as_ref())
    }

    /// All agents that can be asked now, in registry order.
    pub fn serving(&self) -> impl Iterator<Item = &Arc<Agent>> {
        self.entries.iter().filter_map(|entry| entry.agent.as_ref())
    }
}

/// Holds the current snapshot.
pub struct Registry {
    current: ArcSwap<Snapshot>,
}

impl Default for Registry {
    fn default() -> Self {
        Self { current: ArcSwap::from_pointee(Snapshot::new(0, Vec::new(), Vec::new())) }
    }
}

impl Registry {
    /// The registry now. Hold it for a whole turn.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Makes a prepared registry the current one. Cannot fail and waits for nobody.
    pub fn publish(&self, prepared: super::Prepared) -> Arc<Snapshot> {
        let snapshot = Arc::new(prepared.into_snapshot());
        self.current.store(Arc::clone(&snapshot));
        snapshot
    }
}

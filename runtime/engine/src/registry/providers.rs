//! Providers of the models that agents use, as they stand now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use roster_model::id::AgentId;
use roster_model::provider::Provider;
use serde::Serialize;

use super::BoundModel;
use super::snapshot::Snapshot;

/// A provider, and who uses it.
#[derive(Debug, Clone, Serialize)]
pub struct ProviderStanding {
    /// Its name.
    pub name: String,
    /// `closed`: it is asked; `open`: it is left alone for a while; `half_open`: one call finds out.
    pub circuit: &'static str,
    /// Whether it can be asked at all.
    pub ready: bool,
    /// If not, why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// `provider/model`, or the alias that stands in its place, of all agents that serve.
    pub models: BTreeSet<String>,
    /// The agents.
    pub agents: BTreeSet<AgentId>,
}

impl ProviderStanding {
    fn new(provider: &dyn Provider) -> Self {
        let problem = provider.ready().err().map(|error| error.message);
        Self {
            name: provider.name().to_owned(),
            circuit: provider.circuit().as_str(),
            ready: problem.is_none(),
            problem,
            models: BTreeSet::new(),
            agents: BTreeSet::new(),
        }
    }
}

impl Snapshot {
    /// The providers of the agents that serve, by name. One a connection: a provider that an agent describes in its own
    /// file stands apart from one of the same name.
    #[must_use]
    pub fn providers(&self) -> Vec<ProviderStanding> {
        let mut standings = BTreeMap::new();
        for agent in self.serving() {
            for BoundModel { name, provider, .. } in &agent.models {
                let place = (provider.name(), Arc::as_ptr(provider).cast::<()>());
                let standing = standings.entry(place).or_insert_with(|| ProviderStanding::new(provider.as_ref()));
                standing.models.insert(name.clone());
                standing.agents.insert(agent.definition.id.clone());
            }
        }
        standings.into_values().collect()
    }
}

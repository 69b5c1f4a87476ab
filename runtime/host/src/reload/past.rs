//! Versions that earlier runs served or operators pinned, loaded from the ledger.

use std::sync::Arc;

use roster_engine::definition::{Definition, Problem};
use roster_engine::registry::Snapshot;
use roster_model::id::AgentId;
use roster_model::ledger::{LedgerStore, Version};
use roster_model::storage::StoreError;
use tokio::runtime::Handle;

use super::candidates::Past;
use super::unit::of_version;
use super::world::World;

/// The ledger as the reload thread asks it: that thread may wait.
pub(super) struct Ledger {
    pub(super) store: Option<Arc<dyn LedgerStore>>,
    pub(super) handle: Handle,
    /// Whether the pins were read.
    pinned: bool,
    /// Why it could not be read last.
    pub(super) failure: Option<String>,
}

impl Ledger {
    pub(super) fn new(store: Option<Arc<dyn LedgerStore>>, handle: Handle) -> Self {
        Self { store, handle, pinned: false, failure: None }
    }

    /// Reads the pins again with the next reload: another process of the project may have changed them.
    pub(super) fn forget_pins(&mut self) {
        self.pinned = false;
    }

    /// Fills in what is needed to serve what cannot be served from files.
    pub(super) fn recall(&mut self, past: &mut Past, world: &World, previous: &Snapshot) {
        let Some(store) = self.store.clone() else { return };
        self.failure = None;
        if !self.pinned {
            match self.handle.block_on(store.pins()) {
                Ok(versions) => {
                    self.pinned = true;
                    let loaded = versions.iter().filter_map(|version| Some((version.agent.clone(), usable(version)?)));
                    past.pins = loaded.collect();
                }
                Err(error) => self.failure = Some(error.to_string()),
            }
        }
        let unresolved = past.unresolved.iter().filter(|id| previous.agent(id).is_none()).cloned();
        for agent in world.lost(previous).into_iter().chain(unresolved.collect::<Vec<_>>()) {
            if past.last_good.contains_key(&agent) {
                continue;
            }
            match self.handle.block_on(served_at_the_end(&*store, &agent)) {
                Ok(version) => drop(past.last_good.insert(agent, version.as_ref().and_then(usable))),
                Err(error) => self.failure = Some(error.to_string()),
            }
        }
    }

    /// The listed problem while it cannot be read.
    pub(super) fn problem(&self) -> Option<Problem> {
        let reason = self.failure.as_ref()?;
        let message = format!("the ledger cannot be read: pins and last good versions may be missing: {reason}");
        Some(Problem::warning("ledger_read_failed", crate::paths::REGISTRY_FILE, message))
    }
}

/// The version that served when the last word was written; none when the agent had left service by then, also by
/// being disabled.
async fn served_at_the_end(store: &dyn LedgerStore, agent: &AgentId) -> Result<Option<Version>, StoreError> {
    let Some(version) = store.last_served(agent).await? else { return Ok(None) };
    let asked = vec![(agent.clone(), version.fingerprint.clone())];
    let served = store.are_served_last(asked).await?.first().copied().unwrap_or(false);
    Ok(served.then_some(version))
}

/// The definition of a version, when this program can still load it.
fn usable(version: &Version) -> Option<Arc<Definition>> {
    let file = format!("{}/{}.toml", crate::paths::AGENTS_FOLDER, version.agent);
    let definition = of_version(version, &file).definition.filter(|definition| definition.id == version.agent);
    if definition.is_none() {
        tracing::warn!(agent = %version.agent, fingerprint = version.fingerprint, "a version of the ledger cannot be loaded");
    }
    definition.map(Arc::new)
}

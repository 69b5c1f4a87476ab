//! Serving an older version until it is unpinned.

use std::sync::Arc;

use roster_engine::definition::{Definition, Positions};
use roster_engine::registry::{AgentState, Candidate, ControlError, Entry, Snapshot, check_names};
use roster_model::id::AgentId;
use roster_model::ledger::{LedgerEntry, Version};
use roster_model::storage::{StoreError, StoreErrorKind};
use tokio::time::Instant;

use super::inbox::Pin;
use super::reloader::Reloader;
use super::unit::of_version;

impl Reloader {
    /// Pins or unpins, and answers.
    pub(super) fn pin(&mut self, pin: Pin) {
        let Pin { agent, version, reply } = pin;
        let outcome = match version {
            Some(version) => self.pin_to(&agent, &version),
            None => self.unpin(&agent),
        };
        // Who asked may have gone.
        drop(reply.send(outcome));
    }

    fn pin_to(&mut self, agent: &AgentId, version: &Version) -> Result<Arc<Snapshot>, ControlError> {
        let began = Instant::now();
        let unservable = |reason: String| ControlError::Unservable {
            agent: agent.clone(),
            fingerprint: version.fingerprint.clone(),
            reason,
        };
        let definition = self.servable(agent, version).map_err(unservable)?;
        self.remember(agent, Some(version.fingerprint.clone()))?;
        let before = self.past.pins.insert(agent.clone(), definition);
        let previous = self.registry.snapshot();
        let prepared = self.prepare(&previous);
        let entry = prepared.entries.iter().find(|entry| entry.id == *agent);
        let serves = entry.and_then(|entry| entry.agent.as_ref());
        if serves.is_none_or(|serves| serves.definition.fingerprint != version.fingerprint) {
            let reason = entry.and_then(why_not);
            let older = before.as_ref().map(|before| before.fingerprint.clone());
            match before {
                Some(before) => drop(self.past.pins.insert(agent.clone(), before)),
                None => drop(self.past.pins.remove(agent)),
            }
            self.remember(agent, older)?;
            return Err(unservable(reason.unwrap_or_else(|| "its file is gone".to_owned())));
        }
        let noted = self.noted(agent, "pinned", version.fingerprint.clone(), &previous);
        Ok(self.publish(prepared, &previous, "pin", began, Some(noted)).snapshot)
    }

    fn unpin(&mut self, agent: &AgentId) -> Result<Arc<Snapshot>, ControlError> {
        let began = Instant::now();
        let previous = self.registry.snapshot();
        if previous.entry(agent).is_none() && !self.past.pins.contains_key(agent) {
            return Err(ControlError::UnknownAgent(agent.clone()));
        }
        self.remember(agent, None)?;
        if self.past.pins.remove(agent).is_none() {
            return Ok(previous);
        }
        let prepared = self.prepare(&previous);
        let serves = prepared.entries.iter().find(|entry| entry.id == *agent).and_then(|entry| entry.agent.as_ref());
        let fingerprint = serves.map(|agent| agent.definition.fingerprint.clone()).unwrap_or_default();
        let noted = self.noted(agent, "unpinned", fingerprint, &previous);
        Ok(self.publish(prepared, &previous, "pin", began, Some(noted)).snapshot)
    }

    /// The definition of a version, if all it names is there.
    fn servable(&self, agent: &AgentId, version: &Version) -> Result<Arc<Definition>, String> {
        let file = self.world.file_of(agent).map_or_else(|| format!("{agent}.toml"), |name| name.to_string());
        let loaded = of_version(version, &format!("{}/{file}", crate::paths::AGENTS_FOLDER));
        let first = loaded.problems.iter().find(|problem| problem.is_error()).map(|problem| problem.message.clone());
        let Some(definition) = loaded.definition.filter(|definition| definition.id == *agent).map(Arc::new) else {
            return Err(first.unwrap_or_else(|| "it cannot be loaded".to_owned()));
        };
        let names = self.world.roll.lines.iter().map(|line| {
            let mine = (line.id == *agent).then(|| Arc::clone(&definition));
            Candidate::new(line.id.clone(), line.file.clone(), mine, Arc::new(Positions::default()))
        });
        let candidates: Vec<Candidate> = names.collect();
        let fault = check_names(&self.catalog, &candidates).into_iter().find(|problem| problem.is_error());
        fault.map_or(Ok(definition), |problem| Err(problem.message))
    }

    fn remember(&self, agent: &AgentId, fingerprint: Option<String>) -> Result<(), ControlError> {
        let Some(store) = &self.ledger.store else { return Err(no_ledger()) };
        self.ledger.handle.block_on(store.pin(agent, fingerprint)).map_err(ControlError::Ledger)
    }

    fn noted(&self, agent: &AgentId, change: &str, fingerprint: String, previous: &Snapshot) -> LedgerEntry {
        LedgerEntry {
            run: self.run.clone(),
            generation: previous.generation + 1,
            at: self.services.clock.now(),
            agent: agent.clone(),
            change: change.to_owned(),
            fingerprint,
            keys: Vec::new(),
        }
    }
}

/// Why an entry does not serve the version it was pinned to.
fn why_not(entry: &Entry) -> Option<String> {
    match entry.state {
        AgentState::Disabled => Some("the agent is disabled by `enabled = false` in its file".to_owned()),
        _ => entry.problems.last().map(|problem| problem.message.clone()),
    }
}

/// There is no ledger: the sessions store cannot be used.
pub(super) fn no_ledger() -> ControlError {
    ControlError::Ledger(StoreError::new(StoreErrorKind::Unavailable, "the sessions store cannot be used"))
}

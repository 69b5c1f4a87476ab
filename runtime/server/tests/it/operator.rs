//! A double of the host's reloading: publishes what a test puts in its hands.

use std::sync::{Arc, Mutex};

use roster_engine::definition::Problem;
use roster_engine::registry::{AdminEvent, Candidate, Catalog, Control, ControlError, Registry, Snapshot, prepare};
use roster_model::BoxFuture;
use roster_model::id::AgentId;
use roster_model::ledger::LedgerEntry;
use roster_model::time::Timestamp;
use tokio::sync::broadcast;

/// Events a slow reader may be behind.
pub(crate) const KEPT: usize = 4;

pub(crate) struct Operator {
    catalog: Catalog,
    registry: Arc<Registry>,
    candidates: Mutex<Vec<Candidate>>,
    problems: Vec<Problem>,
    events: broadcast::Sender<AdminEvent>,
    pub(crate) ledger: Mutex<Vec<LedgerEntry>>,
    fault: Mutex<Option<ControlError>>,
}

impl Operator {
    pub(crate) fn new(
        catalog: Catalog,
        registry: Arc<Registry>,
        candidates: Vec<Candidate>,
        problems: Vec<Problem>,
    ) -> Self {
        let (events, _) = broadcast::channel(KEPT);
        let candidates = Mutex::new(candidates);
        Self { catalog, registry, candidates, problems, events, ledger: Mutex::default(), fault: Mutex::default() }
    }

    /// Publishes the candidates as they are now, and tells.
    pub(crate) fn publish(&self) -> Arc<Snapshot> {
        let candidates = self.candidates.lock().unwrap().clone();
        let prepared = prepare(&self.catalog, &self.registry.snapshot(), candidates, self.problems.clone());
        let changes = prepared.changes.clone();
        let snapshot = self.registry.publish(prepared);
        let (generation, at) = (snapshot.generation, Timestamp::from_millis(0));
        drop(self.events.send(AdminEvent::Published { generation, at, trigger: "request", changes, took_ms: 1 }));
        snapshot
    }

    pub(crate) fn tell_problems(&self, problems: Vec<Problem>) {
        drop(self.events.send(AdminEvent::Problems { at: Timestamp::from_millis(0), problems }));
    }

    /// Changes the line of this agent.
    pub(crate) fn change(&self, id: &str, change: impl FnOnce(&mut Candidate)) {
        let mut candidates = self.candidates.lock().unwrap();
        change(candidates.iter_mut().find(|candidate| candidate.id.as_str() == id).expect("a line"));
    }

    /// One line more.
    pub(crate) fn add(&self, line: Candidate) {
        self.candidates.lock().unwrap().push(line);
    }

    /// The next wish fails.
    pub(crate) fn fail(&self, error: ControlError) {
        *self.fault.lock().unwrap() = Some(error);
    }

    pub(crate) fn readers(&self) -> usize {
        self.events.receiver_count()
    }

    fn check(&self, agent: Option<&AgentId>) -> Result<(), ControlError> {
        if let Some(error) = self.fault.lock().unwrap().take() {
            return Err(error);
        }
        match agent {
            Some(agent) if self.registry.snapshot().entry(agent).is_none() => {
                Err(ControlError::UnknownAgent(agent.clone()))
            }
            _ => Ok(()),
        }
    }

    fn set_pin(&self, agent: &AgentId, fingerprint: Option<String>) -> Result<(), ControlError> {
        let mut result = Ok(());
        self.change(agent.as_str(), |candidate| {
            let own = candidate.definition.clone();
            let known = own.filter(|own| fingerprint.as_ref() == Some(&own.fingerprint));
            match (fingerprint, known) {
                (Some(fingerprint), None) => {
                    result = Err(ControlError::UnknownVersion { agent: agent.clone(), fingerprint });
                }
                (_, known) => candidate.pinned = known,
            }
        });
        result
    }
}

impl Control for Operator {
    fn reload(&self) -> BoxFuture<'_, Result<Arc<Snapshot>, ControlError>> {
        Box::pin(async { self.check(None).map(|()| self.publish()) })
    }

    fn events(&self) -> broadcast::Receiver<AdminEvent> {
        self.events.subscribe()
    }

    fn history<'a>(
        &'a self,
        agent: &'a AgentId,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<LedgerEntry>, ControlError>> {
        Box::pin(async move {
            self.check(Some(agent))?;
            let ledger = self.ledger.lock().unwrap();
            Ok(ledger.iter().filter(|entry| entry.agent == *agent).take(limit).cloned().collect())
        })
    }

    fn pin<'a>(
        &'a self,
        agent: &'a AgentId,
        fingerprint: Option<String>,
    ) -> BoxFuture<'a, Result<Arc<Snapshot>, ControlError>> {
        Box::pin(async move {
            self.check(Some(agent))?;
            self.set_pin(agent, fingerprint)?;
            Ok(self.publish())
        })
    }
}

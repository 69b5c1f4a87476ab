//! A ledger that fails one chosen call.

use std::sync::Arc;

use roster_model::id::AgentId;
use roster_model::ledger::{LedgerEntry, LedgerStore, LedgerWrite, Version};
use roster_model::storage::StoreResult;

use super::{Fault, Striker};

/// A ledger with one fault.
pub struct FaultyLedger {
    inner: Arc<dyn LedgerStore>,
    striker: Striker,
}

impl FaultyLedger {
    /// Puts the fault in front of a ledger.
    #[must_use]
    pub fn new(inner: Arc<dyn LedgerStore>, fault: Fault) -> Self {
        Self { inner, striker: Striker::new(fault) }
    }

    /// How many calls were made so far. At most `nth`: the fault has not struck yet.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.striker.calls()
    }
}

impl LedgerStore for FaultyLedger {
    fn write(&self, write: LedgerWrite) -> StoreResult<'_, ()> {
        self.striker.pass(self.inner.write(write))
    }

    fn last_served<'a>(&'a self, agent: &'a AgentId) -> StoreResult<'a, Option<Version>> {
        self.striker.pass(self.inner.last_served(agent))
    }

    fn are_served_last(&self, versions: Vec<(AgentId, String)>) -> StoreResult<'_, Vec<bool>> {
        self.striker.pass(self.inner.are_served_last(versions))
    }

    fn version<'a>(&'a self, agent: &'a AgentId, fingerprint: &'a str) -> StoreResult<'a, Option<Version>> {
        self.striker.pass(self.inner.version(agent, fingerprint))
    }

    fn history<'a>(&'a self, agent: &'a AgentId, limit: usize) -> StoreResult<'a, Vec<LedgerEntry>> {
        self.striker.pass(self.inner.history(agent, limit))
    }

    fn pin<'a>(&'a self, agent: &'a AgentId, fingerprint: Option<String>) -> StoreResult<'a, ()> {
        self.striker.pass(self.inner.pin(agent, fingerprint))
    }

    fn pins(&self) -> StoreResult<'_, Vec<Version>> {
        self.striker.pass(self.inner.pins())
    }
}

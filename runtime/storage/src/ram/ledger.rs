//! The ledger of the RAM store.

use std::collections::{BTreeMap, VecDeque};

use roster_model::id::AgentId;
use roster_model::ledger::{LedgerEntry, LedgerStore, LedgerWrite, Version};
use roster_model::storage::{StoreError, StoreErrorKind, StoreResult};

use super::RamStore;
use crate::fingerprint;
use crate::line::lock;

/// Entries kept of an agent.
const KEPT: usize = 1000;

#[derive(Default)]
pub(super) struct Ledger(BTreeMap<AgentId, Record>);

/// What is known of one agent.
#[derive(Default)]
struct Record {
    /// By fingerprint.
    versions: BTreeMap<String, Version>,
    /// Oldest first.
    entries: VecDeque<LedgerEntry>,
    pinned: Option<String>,
}

impl Ledger {
    fn write(&mut self, write: LedgerWrite) {
        for version in write.versions {
            let record = self.0.entry(version.agent.clone()).or_default();
            record.versions.entry(version.fingerprint.clone()).or_insert(version);
        }
        for entry in write.entries {
            self.0.entry(entry.agent.clone()).or_default().push(entry);
        }
    }

    fn pin(&mut self, agent: &AgentId, fingerprint: Option<String>) -> Result<(), StoreError> {
        let known = |record: &Record, text: &String| record.versions.contains_key(text);
        match (self.0.get_mut(agent), fingerprint) {
            (Some(record), Some(text)) if known(record, &text) => record.pinned = Some(text),
            (_, Some(text)) => {
                let message = format!("agent `{agent}` has no version `{text}`");
                return Err(StoreError::new(StoreErrorKind::NotFound, message));
            }
            (Some(record), None) => record.pinned = None,
            (None, None) => {}
        }
        Ok(())
    }
}

impl Record {
    fn push(&mut self, entry: LedgerEntry) {
        let same = |known: &LedgerEntry| {
            known.generation == entry.generation && known.run == entry.run && known.change == entry.change
        };
        if self.entries.iter().any(same) {
            return;
        }
        self.entries.push_back(entry);
        if self.entries.len() > KEPT {
            self.entries.pop_front();
        }
    }

    fn last_served(&self) -> Option<&Version> {
        let served = self.entries.iter().rev().filter(|entry| entry.change != "removed");
        served.filter_map(|entry| self.versions.get(&entry.fingerprint)).next()
    }

    fn is_served_last(&self, fingerprint: &str) -> bool {
        let newest =
            self.entries.back().is_some_and(|entry| entry.change != "removed" && entry.fingerprint == fingerprint);
        newest && self.versions.contains_key(fingerprint)
    }

    fn version(&self, text: &str) -> Option<&Version> {
        if let Some(whole) = self.versions.get(text) {
            return Some(whole);
        }
        let beginning = fingerprint::beginning(text)?;
        let mut found = self.versions.values().filter(|version| version.fingerprint.starts_with(&beginning));
        found.next().filter(|_| found.next().is_none())
    }
}

impl RamStore {
    fn in_ledger<'a, T: 'a>(
        &'a self,
        work: impl FnOnce(&mut Ledger) -> Result<T, StoreError> + Send + 'a,
    ) -> StoreResult<'a, T> {
        Box::pin(async move { work(&mut lock(&self.ledger)) })
    }
}

impl LedgerStore for RamStore {
    fn write(&self, write: LedgerWrite) -> StoreResult<'_, ()> {
        self.in_ledger(move |ledger| {
            ledger.write(write);
            Ok(())
        })
    }

    fn last_served<'a>(&'a self, agent: &'a AgentId) -> StoreResult<'a, Option<Version>> {
        self.in_ledger(move |ledger| Ok(ledger.0.get(agent).and_then(Record::last_served).cloned()))
    }

    fn are_served_last(&self, versions: Vec<(AgentId, String)>) -> StoreResult<'_, Vec<bool>> {
        self.in_ledger(move |ledger| {
            let is = |(agent, text): &(AgentId, String)| ledger.0.get(agent).is_some_and(|it| it.is_served_last(text));
            Ok(versions.iter().map(is).collect())
        })
    }

    fn version<'a>(&'a self, agent: &'a AgentId, fingerprint: &'a str) -> StoreResult<'a, Option<Version>> {
        self.in_ledger(move |ledger| Ok(ledger.0.get(agent).and_then(|record| record.version(fingerprint)).cloned()))
    }

    fn history<'a>(&'a self, agent: &'a AgentId, limit: usize) -> StoreResult<'a, Vec<LedgerEntry>> {
        self.in_ledger(move |ledger| {
            let entries = ledger.0.get(agent).map(|record| record.entries.iter().rev().take(limit).cloned().collect());
            Ok(entries.unwrap_or_default())
        })
    }

    fn pin<'a>(&'a self, agent: &'a AgentId, fingerprint: Option<String>) -> StoreResult<'a, ()> {
        self.in_ledger(move |ledger| ledger.pin(agent, fingerprint))
    }

    fn pins(&self) -> StoreResult<'_, Vec<Version>> {
        self.in_ledger(|ledger| {
            let pinned = ledger.0.values().filter_map(|record| record.versions.get(record.pinned.as_ref()?));
            Ok(pinned.cloned().collect())
        })
    }
}

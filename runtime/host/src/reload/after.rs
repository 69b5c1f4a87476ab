//! What is written down after a publish: the ledger, behind the turns. A failed write is a listed problem and is tried
//! again; it never held a publish up. Of the publish of the start only what is news is written: a restart alone adds
//! nothing.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use roster_engine::registry::{Change, ChangeKind};
use roster_model::id::AgentId;
use roster_model::ledger::{LedgerEntry, LedgerStore, LedgerWrite, Version};
use roster_model::storage::StoreError;
use roster_model::time::Timestamp;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::inbox::{Inbox, Trigger};

/// A failed write is tried again after this time, or with the next reload.
const AGAIN: Duration = Duration::from_secs(30);
/// Entries of one write.
const SLICE: usize = 256;
/// Writes that may wait; beyond, the oldest are lost.
const MOST_WAITING: usize = 1024;

/// A write that waits.
struct Waiting {
    write: LedgerWrite,
    /// Whether it belongs to the start: then what the ledger says already is left out.
    start: bool,
}

/// Writes that wait for the ledger.
#[derive(Default)]
pub(super) struct After {
    waiting: Mutex<VecDeque<Waiting>>,
    more: Notify,
}

impl After {
    /// Adds the entries of a publish, with the texts of the versions that are new. `start`: of the first publish.
    pub(super) fn add(&self, entries: Vec<(LedgerEntry, Option<Version>)>, start: bool) {
        let mut waiting = self.lock();
        let mut entries = entries.into_iter().peekable();
        while entries.peek().is_some() {
            let (entries, versions): (Vec<_>, Vec<_>) = entries.by_ref().take(SLICE).unzip();
            let write = LedgerWrite { versions: versions.into_iter().flatten().collect(), entries };
            waiting.push_back(Waiting { write, start });
        }
        let lost = waiting.len().saturating_sub(MOST_WAITING);
        if lost > 0 {
            tracing::warn!(lost, "the ledger cannot be written: its oldest waiting entries are lost");
            waiting.drain(..lost);
        }
        drop(waiting);
        self.more.notify_one();
    }

    /// Writes what waits until `draining` is cancelled and nothing waits any more.
    pub(super) async fn write(
        self: Arc<Self>,
        ledger: Arc<dyn LedgerStore>,
        inbox: Arc<Inbox>,
        draining: CancellationToken,
    ) {
        let mut failing = false;
        loop {
            let failure = self.write_all(&*ledger).await;
            if failure.is_some() || failing {
                failing = failure.is_some();
                if let Some(reason) = &failure {
                    tracing::warn!(reason, "the ledger cannot be written; it is tried again");
                }
                inbox.push(Trigger::Ledger { failure });
            }
            if draining.is_cancelled() {
                return;
            }
            tokio::select! {
                () = self.more.notified() => {}
                () = sleep(AGAIN), if failing => {}
                () = draining.cancelled() => {}
            }
        }
    }

    /// Why it stopped; `None` when nothing waits any more.
    async fn write_all(&self, ledger: &dyn LedgerStore) -> Option<String> {
        loop {
            let next = self.lock().pop_front()?;
            if let Err(error) = write_one(ledger, &next).await {
                self.lock().push_front(next);
                return Some(error.to_string());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn write_one(ledger: &dyn LedgerStore, waiting: &Waiting) -> Result<(), StoreError> {
    let write = waiting.write.clone();
    let write = if waiting.start { news(ledger, write).await? } else { write };
    if write.entries.is_empty() {
        return Ok(());
    }
    ledger.write(write).await
}

/// What the ledger does not say already.
async fn news(ledger: &dyn LedgerStore, mut write: LedgerWrite) -> Result<LedgerWrite, StoreError> {
    let asked = write.entries.iter().map(|entry| (entry.agent.clone(), entry.fingerprint.clone())).collect();
    let mut known = ledger.are_served_last(asked).await?.into_iter();
    write.entries.retain(|_| !known.next().unwrap_or(false));
    let news: HashSet<&AgentId> = write.entries.iter().map(|entry| &entry.agent).collect();
    write.versions.retain(|version| news.contains(&version.agent));
    Ok(write)
}

/// A change as the ledger keeps it.
pub(super) fn entry(run: &str, generation: u64, at: Timestamp, change: &Change) -> LedgerEntry {
    let kind = match change.kind {
        ChangeKind::Added => "added",
        ChangeKind::Changed => "changed",
        ChangeKind::Rebound => "rebound",
        ChangeKind::Removed => "removed",
    };
    LedgerEntry {
        run: run.to_owned(),
        generation,
        at,
        agent: change.agent.clone(),
        change: kind.to_owned(),
        fingerprint: change.fingerprint.clone(),
        keys: change.keys.iter().map(|key| (*key).to_owned()).collect(),
    }
}

#[cfg(test)]
mod tests;

//! What a reload came to, for whoever asked for it.

use std::sync::Arc;

use roster_engine::definition::Problem;
use roster_engine::registry::{Change, Prepared, Snapshot};

/// What a reload came to.
#[derive(Clone)]
pub struct Report {
    /// The registry after it.
    pub snapshot: Arc<Snapshot>,
    /// What it changed; empty when nothing differed.
    pub changes: Vec<Change>,
    /// From reading the files to publishing, in milliseconds.
    pub took_ms: u64,
    /// All problems of all files as a person reads them, without colours; made only for who asked.
    pub rendered: String,
}

/// Every problem of a registry.
pub(super) fn all_problems(snapshot: &Snapshot) -> Vec<Problem> {
    let of_agents = snapshot.entries.iter().flat_map(|entry| &entry.problems);
    snapshot.problems.iter().chain(of_agents).cloned().collect()
}

/// Whether publishing would show nothing new to anybody.
pub(super) fn is_the_same(previous: &Snapshot, prepared: &Prepared) -> bool {
    previous.problems == prepared.problems
        && previous.entries.len() == prepared.entries.len()
        && previous.entries.iter().zip(&prepared.entries).all(|(before, now)| {
            let agents = match (&before.agent, &now.agent) {
                (None, None) => true,
                (Some(before), Some(now)) => Arc::ptr_eq(before, now),
                _ => false,
            };
            agents
                && before.id == now.id
                && before.state == now.state
                && before.file == now.file
                && before.pinned == now.pinned
                && before.problems == now.problems
        })
}

//! What a publish changes, for people: the ledger, events, the log.

use std::collections::HashSet;
use std::sync::Arc;

use roster_model::id::AgentId;
use serde::Serialize;

use super::snapshot::{Entry, Snapshot};
use crate::definition::Definition;

/// What happened to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is served and was not before.
    Added,
    /// Another version of it is served.
    Changed,
    /// The same version is served, assembled anew: something it is bound to changed.
    Rebound,
    /// It is no longer served.
    Removed,
}

/// One agent's change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The agent.
    pub agent: AgentId,
    /// What happened.
    pub kind: ChangeKind,
    /// The version served now; of a removed agent, the one served last.
    pub fingerprint: String,
    /// The keys of the definition that differ.
    pub keys: Vec<&'static str>,
}

/// What differs between what is served now and what will be.
pub(super) fn diff(previous: &Snapshot, entries: &[Entry]) -> Vec<Change> {
    let mut changes = Vec::new();
    for entry in entries {
        let before = previous.agent(&entry.id);
        let (kind, definition, keys) = match (before, &entry.agent) {
            (None, Some(now)) => (ChangeKind::Added, &now.definition, Vec::new()),
            (Some(before), None) => (ChangeKind::Removed, &before.definition, Vec::new()),
            (Some(before), Some(now)) if !Arc::ptr_eq(before, now) => {
                let same = before.definition.fingerprint == now.definition.fingerprint;
                let kind = if same { ChangeKind::Rebound } else { ChangeKind::Changed };
                (kind, &now.definition, keys(&before.definition, &now.definition))
            }
            _ => continue,
        };
        changes.push(Change { agent: entry.id.clone(), kind, fingerprint: definition.fingerprint.clone(), keys });
    }
    let here: HashSet<&AgentId> = entries.iter().map(|entry| &entry.id).collect();
    let gone = previous.entries.iter().filter(|before| !here.contains(&before.id));
    for before in gone.filter_map(|before| before.agent.as_ref()) {
        changes.push(Change {
            agent: before.definition.id.clone(),
            kind: ChangeKind::Removed,
            fingerprint: before.definition.fingerprint.clone(),
            keys: Vec::new(),
        });
    }
    changes
}

/// The keys that differ, in the order of the file's documentation.
#[must_use]
pub fn keys(a: &Definition, b: &Definition) -> Vec<&'static str> {
    let all = [
        ("name", a.name != b.name),
        ("description", a.description != b.description),
        ("instructions", a.instructions != b.instructions),
        ("model", a.model != b.model),
        ("model_settings", a.model_settings != b.model_settings),
        ("memory", a.memory != b.memory),
        ("resource", a.resource != b.resource),
        ("tools", a.tools != b.tools),
        ("tool_settings", a.tool_settings != b.tool_settings),
        ("processors", a.processors != b.processors),
        ("on_processor_error", a.on_processor_error != b.on_processor_error),
        ("agents", a.agents != b.agents),
        ("orchestration", a.orchestration != b.orchestration),
        ("output_schema", a.output_schema != b.output_schema),
        ("max_steps", a.max_steps != b.max_steps),
        ("enabled", a.enabled != b.enabled),
        ("on_disconnect", a.on_disconnect != b.on_disconnect),
    ];
    all.into_iter().filter_map(|(key, differs)| differs.then_some(key)).collect()
}

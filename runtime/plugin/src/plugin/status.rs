//! How a plugin stands, for people.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;

use super::Plugin;

/// How a plugin stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PluginState {
    /// Its newest library serves.
    Serving,
    /// Its newest library was refused; the one before serves.
    ServingLastGood,
    /// Nothing of it serves.
    Refused,
    /// It is being loaded for the first time.
    Loading,
    /// It crashed or hung too often; it is tried again later.
    Down,
}

/// One contribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContributionStatus {
    /// `tool`, `embedder` …
    pub kind: String,
    /// `weather:get_forecast`.
    pub name: String,
    /// For people.
    pub description: String,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PluginStatus {
    /// Its name in definitions.
    pub key: String,
    /// How it stands.
    pub state: PluginState,
    /// Why the newest library does not serve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<PluginProblem>,
    /// Counted from 1; 0: nothing served yet.
    pub generation: u64,
    /// Of the library that serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<LibraryStatus>,
    /// What it contributes.
    pub contributes: Vec<ContributionStatus>,
    /// Hashes that `rollback` can go back to, newest first.
    pub kept: Vec<String>,
    /// Replaced generations that have not ended.
    pub retiring: usize,
    /// What was counted.
    pub counters: CountersStatus,
}

/// Why a library is not served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PluginProblem {
    /// Machine code.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// A library that serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LibraryStatus {
    /// Reverse-DNS id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// What it was built with.
    pub toolchain: String,
    /// Of the file.
    pub sha256: String,
    /// `process` or `inprocess`.
    pub isolation: &'static str,
}

/// Numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "named as the fields of Counters")]
pub struct CountersStatus {
    pub calls: u64,
    pub in_flight: u64,
    pub orphans: u64,
    pub lost_threads: u64,
    pub restarts: u64,
    pub stray_completions: u64,
    pub log_dropped: u64,
    pub errors: std::collections::BTreeMap<String, u64>,
}

impl Plugin {
    /// How it stands.
    #[must_use]
    pub fn status(self: &Arc<Self>) -> PluginStatus {
        let generation = self.generation();
        let (refusal, retiring) = {
            let facts = self.facts();
            (facts.refusal.clone(), facts.retiring.len())
        };
        let state = match (&generation, &refusal) {
            (Some(generation), _) if generation.is_down().is_some() => PluginState::Down,
            (Some(_), None) => PluginState::Serving,
            (Some(_), Some(_)) => PluginState::ServingLastGood,
            (None, Some(_)) => PluginState::Refused,
            (None, None) => PluginState::Loading,
        };
        let mut kept: Vec<String> = self.around.cache.kept(self.key()).into_iter().map(|(_, hash)| hash).collect();
        kept.reverse();
        PluginStatus {
            key: self.key.clone(),
            state,
            problem: refusal.map(|refusal| PluginProblem {
                code: refusal.kind.code(),
                message: format!("plugin `{}` {refusal}", self.key),
                help: refusal.help,
            }),
            generation: generation.as_ref().map_or(0, |generation| generation.number),
            library: generation.as_ref().map(|generation| LibraryStatus {
                id: generation.manifest.id.clone(),
                version: generation.manifest.version.clone(),
                toolchain: generation.manifest.toolchain.clone(),
                sha256: generation.sha256.clone(),
                isolation: generation.isolation().as_str(),
            }),
            contributes: generation
                .iter()
                .flat_map(|generation| &generation.description.contributes)
                .map(|one| self.contributes(one))
                .collect(),
            kept,
            retiring,
            counters: self.counted(),
        }
    }

    fn contributes(&self, one: &roster_abi::contract::Contribution) -> ContributionStatus {
        ContributionStatus {
            kind: one.kind.clone(),
            name: format!("{}:{}", self.key, one.id),
            description: one.description.clone(),
        }
    }

    fn counted(&self) -> CountersStatus {
        let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        CountersStatus {
            calls: of(&counters.calls),
            in_flight: of(&counters.in_flight),
            orphans: of(&counters.orphans),
            lost_threads: of(&counters.lost_threads),
            restarts: of(&counters.restarts),
            stray_completions: of(&counters.stray),
            log_dropped: of(&counters.log_dropped),
            errors: counters.errors(),
        }
    }
}

//! What an operator may ask of a running registry: the host answers, Studio's admin routes and the operator's socket ask.

use std::sync::Arc;

use roster_model::BoxFuture;
use roster_model::id::AgentId;
use roster_model::ledger::LedgerEntry;
use roster_model::storage::StoreError;
use roster_model::time::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::diff::Change;
use super::snapshot::Snapshot;
use crate::definition::Problem;

/// Something an operator wants to see as it happens.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AdminEvent {
    /// A generation was published.
    Published {
        /// Its number.
        generation: u64,
        /// When.
        at: Timestamp,
        /// Why: `start`, `watch`, `poll`, `signal`, `request`, `pin`.
        trigger: &'static str,
        /// What changed.
        changes: Vec<Change>,
        /// From reading the files to publishing, in milliseconds.
        took_ms: u64,
    },
    /// The list of problems is another one now; the whole list.
    Problems {
        /// When.
        at: Timestamp,
        /// All problems of all files.
        problems: Vec<Problem>,
    },
}

/// Why an operator's wish was not fulfilled.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// No line of this id.
    #[error("there is no agent `{0}`")]
    UnknownAgent(AgentId),
    /// No such version in the ledger.
    #[error("agent `{agent}` has no version `{fingerprint}` in the ledger")]
    UnknownVersion {
        /// The agent.
        agent: AgentId,
        /// What was asked for.
        fingerprint: String,
    },
    /// The version cannot be served today.
    #[error("version `{fingerprint}` of agent `{agent}` cannot be served now: {reason}")]
    Unservable {
        /// The agent.
        agent: AgentId,
        /// The version.
        fingerprint: String,
        /// Its first problem.
        reason: String,
    },
    /// The ledger failed.
    #[error("the ledger cannot be used at the moment")]
    Ledger(#[source] StoreError),
    /// No plugin of this name is configured.
    #[error("there is no plugin `{0}`")]
    UnknownPlugin(String),
    /// A plugin's library is not taken up; what served goes on.
    #[error("plugin `{plugin}` stays as it is: the library {reason} ({help})")]
    PluginRefused {
        /// Its name.
        plugin: String,
        /// What is wrong.
        reason: String,
        /// What to do.
        help: String,
    },
    /// The runtime is stopping.
    #[error("the runtime is stopping")]
    Stopping,
}

/// A running registry as an operator handles it.
pub trait Control: Send + Sync + 'static {
    /// Reads everything again, at once and without waiting for files to settle; gives the registry after it.
    fn reload(&self) -> BoxFuture<'_, Result<Arc<Snapshot>, ControlError>>;
    /// Events from now on. A reader that is too slow loses the oldest.
    fn events(&self) -> broadcast::Receiver<AdminEvent>;
    /// What happened to an agent, newest first, at most `limit`.
    fn history<'a>(&'a self, agent: &'a AgentId, limit: usize)
    -> BoxFuture<'a, Result<Vec<LedgerEntry>, ControlError>>;
    /// Serves an older version until unpinned (`None`); gives the registry after it.
    fn pin<'a>(
        &'a self,
        agent: &'a AgentId,
        fingerprint: Option<String>,
    ) -> BoxFuture<'a, Result<Arc<Snapshot>, ControlError>>;
    /// How the plugins stand: a list of JSON objects.
    fn plugins(&self) -> Value {
        json!([])
    }
    /// Loads a plugin's library again; gives how the plugin stands after it.
    fn reload_plugin<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Value, ControlError>> {
        Box::pin(async { Err(ControlError::UnknownPlugin(key.to_owned())) })
    }
    /// Counters of plugins, as lines of OpenMetrics text.
    fn plugin_metrics(&self) -> String {
        String::new()
    }
}

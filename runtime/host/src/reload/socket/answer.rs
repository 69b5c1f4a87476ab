//! What the socket answers.

use roster_engine::registry::{Control, ControlError};
use roster_model::id::AgentId;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::listing::Listing;
use crate::reload::control::Reload;
use crate::reload::report::{Report, all_problems};

/// A question.
#[derive(Debug, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
enum Question {
    /// Read everything again.
    Reload,
    /// How the agents stand.
    Agents,
    /// What happened to an agent, newest first.
    History { agent: String, limit: Option<usize> },
    /// Serve an older version.
    Pin { agent: String, fingerprint: String },
    /// Serve the file's version again.
    Unpin { agent: String },
    /// How the providers of the models in use stand.
    Providers,
    /// How the plugins stand.
    Plugins,
    /// Load a plugin's library again.
    PluginReload { key: String },
    /// Go back to a library that served before.
    PluginRollback { key: String, sha256: Option<String> },
}

/// Entries of a history unless asked for otherwise.
const ENTRIES: usize = 50;

/// The answer to a line; `{"error", "code"}` when it cannot be done.
pub(super) async fn answer(reload: &Reload, question: &str) -> Value {
    let question = match serde_json::from_str(question) {
        Ok(question) => question,
        Err(error) => return json!({"error": format!("no question of ours: {error}"), "code": "bad_question"}),
    };
    let outcome = match question {
        Question::Reload => reload.reload_now().await.map(|report| reloaded(&report)),
        Question::Agents => reload.report().await.map(|report| listed(&report)),
        Question::History { agent, limit } => history(reload, &agent, limit.unwrap_or(ENTRIES)).await,
        Question::Pin { agent, fingerprint } => pin(reload, &agent, Some(fingerprint)).await,
        Question::Unpin { agent } => pin(reload, &agent, None).await,
        Question::Providers => Ok(json!({"providers": reload.registry().providers()})),
        Question::Plugins => Ok(json!({"plugins": reload.plugin_status()})),
        Question::PluginReload { key } => reload.plugin_reload(&key).await,
        Question::PluginRollback { key, sha256 } => reload.plugin_rollback(&key, sha256).await,
    };
    outcome.unwrap_or_else(|error| refused(&error))
}

fn refused(error: &ControlError) -> Value {
    let code = match error {
        ControlError::UnknownAgent(_) => "unknown_agent",
        ControlError::UnknownVersion { .. } => "unknown_version",
        ControlError::Unservable { .. } => "unservable",
        ControlError::Ledger(_) => "ledger",
        ControlError::UnknownPlugin(_) => "unknown_plugin",
        ControlError::PluginRefused { .. } => "plugin_refused",
        ControlError::Stopping => "stopping",
    };
    let (message, _) = crate::assemble::told(error);
    json!({"error": message, "code": code})
}

fn reloaded(report: &Report) -> Value {
    json!({
        "generation": report.snapshot.generation,
        "changes": report.changes,
        "problems": all_problems(&report.snapshot),
        "rendered": report.rendered,
        "took_ms": report.took_ms,
    })
}

fn listed(report: &Report) -> Value {
    let mut listing = json!(Listing::of(&report.snapshot));
    listing["rendered"] = json!(report.rendered);
    listing
}

fn id(agent: &str) -> Option<AgentId> {
    AgentId::new(agent).ok()
}

fn unknown(agent: &str) -> Value {
    json!({"error": format!("there is no agent `{agent}`"), "code": "unknown_agent"})
}

async fn history(reload: &Reload, agent: &str, limit: usize) -> Result<Value, ControlError> {
    let Some(id) = id(agent) else { return Ok(unknown(agent)) };
    let entries = reload.history(&id, limit).await?;
    let snapshot = reload.registry();
    let served = snapshot.agent(&id).map(|agent| agent.definition.fingerprint.clone());
    let pinned = snapshot.entry(&id).and_then(|entry| entry.pinned.clone());
    Ok(json!({"agent": agent, "entries": entries, "served": served, "pinned": pinned}))
}

async fn pin(reload: &Reload, agent: &str, fingerprint: Option<String>) -> Result<Value, ControlError> {
    let Some(id) = id(agent) else { return Ok(unknown(agent)) };
    let snapshot = reload.pin(&id, fingerprint).await?;
    let pinned = snapshot.entry(&id).and_then(|entry| entry.pinned.clone());
    let served = snapshot.agent(&id).map(|agent| agent.definition.fingerprint.clone());
    Ok(json!({"agent": agent, "generation": snapshot.generation, "pinned": pinned, "served": served}))
}

//! `roster plugins`: how they stand, what a library is, and taking another one up.

mod table;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use roster_plugin::inspect::{Inspected, Inspector};
use serde_json::{Value, json};

use super::{Format, running};
use crate::assemble;
use crate::clock::SystemClock;
use crate::config::PluginsConfig;
use crate::error::{Exit, HostError};
use crate::output;
use crate::plugins::{parts, settings, unusable};

/// What can be done about plugins.
#[derive(Debug, Subcommand)]
pub(super) enum PluginsCommand {
    /// Lists them and how they stand (also without a command).
    List,
    /// Tells what a library is and contributes, without loading it into anything.
    Inspect {
        /// The library.
        file: PathBuf,
    },
    /// Tells whether each configured plugin would serve.
    Check,
    /// Loads a plugin's library again.
    Reload {
        /// Its name in config/runtime.toml.
        key: String,
    },
    /// Goes back to the library that served before.
    Rollback {
        /// Its name in config/runtime.toml.
        key: String,
        /// How the library's SHA-256 begins [default: the one before].
        sha256: Option<String>,
    },
}

/// Answers.
///
/// # Errors
/// [`HostError`] when there is no project, nothing serves, or the library is refused.
pub(super) fn run(root: Option<&Path>, format: Format, what: Option<&PluginsCommand>) -> Result<Exit, HostError> {
    match what {
        None | Some(PluginsCommand::List) => list(&assemble::root(root)?, format),
        Some(PluginsCommand::Inspect { file }) => inspect(root, file, format),
        Some(PluginsCommand::Check) => check(root, format),
        Some(PluginsCommand::Reload { key }) => ask(root, format, &json!({"command": "plugin_reload", "key": key})),
        Some(PluginsCommand::Rollback { key, sha256 }) => {
            ask(root, format, &json!({"command": "plugin_rollback", "key": key, "sha256": sha256}))
        }
    }
}

/// How the plugins of every runtime that serves stand.
fn list(root: &Path, format: Format) -> Result<Exit, HostError> {
    let answers = running::ask_all(root, &json!({"command": "plugins"}))?;
    let all: Vec<&Value> =
        answers.iter().flat_map(|answer| answer["plugins"].as_array().into_iter().flatten()).collect();
    output::print(match format {
        Format::Json => format!("{}\n", json!(all)),
        Format::Text => table::listed(&all),
    })?;
    let bad = all.iter().any(|plugin| !plugin["problem"].is_null());
    Ok(if bad { Exit::Problems } else { Exit::Good })
}

fn ask(root: Option<&Path>, format: Format, question: &Value) -> Result<Exit, HostError> {
    let root = assemble::root(root)?;
    for answer in running::ask_all(&root, question)? {
        output::print(match format {
            Format::Json => format!("{answer}\n"),
            Format::Text => table::taken(&answer),
        })?;
    }
    Ok(Exit::Good)
}

/// What a file is and contributes. Its code runs in a process of its own.
fn inspect(root: Option<&Path>, file: &Path, format: Format) -> Result<Exit, HostError> {
    let folder = tempfolder(root)?;
    let runtime = assemble::runtime()?;
    let inspector = inspector(&runtime, &folder, &PluginsConfig::default())?;
    let file = crate::environment::working_directory()?.join(file);
    let found = inspector.file(&file).map_err(|refusal| {
        HostError::problem(format!("`{}` is no plugin to load: it {refusal}", file.display())).hint(refusal.help)
    })?;
    output::print(match format {
        Format::Json => format!("{}\n", as_json(&found)),
        Format::Text => table::inspected(&found),
    })?;
    Ok(Exit::Good)
}

/// Whether each configured plugin would serve.
fn check(root: Option<&Path>, format: Format) -> Result<Exit, HostError> {
    let project = assemble::read_config(root)?;
    let config = &project.config()?.plugins;
    let runtime = assemble::runtime()?;
    let inspector = inspector(&runtime, &project.root, config)?;
    let mut exit = Exit::Good;
    let mut rows = Vec::new();
    for settings in settings(&project.root, config) {
        let row = match inspector.check(&settings) {
            Ok(found) => json!({"key": settings.key, "good": true, "library": as_json(&found)}),
            Err(refusal) => {
                exit = Exit::Problems;
                let (message, help) = (refusal.to_string(), &refusal.help);
                json!({"key": settings.key, "good": false, "code": refusal.kind.code(), "message": message, "help": help})
            }
        };
        rows.push(row);
    }
    output::print(match format {
        Format::Json => format!("{}\n", json!(rows)),
        Format::Text => table::checked(&rows),
    })?;
    Ok(exit)
}

fn inspector(runtime: &tokio::runtime::Runtime, root: &Path, config: &PluginsConfig) -> Result<Inspector, HostError> {
    let _inside = runtime.enter();
    let parts = parts(root, config, std::sync::Arc::new(SystemClock))?;
    Inspector::new(parts).map_err(|refusal| unusable(&refusal))
}

/// Copies go below the project where there is one, else beside the system's temporary files.
fn tempfolder(root: Option<&Path>) -> Result<std::path::PathBuf, HostError> {
    match assemble::root(root) {
        Ok(root) => Ok(root),
        Err(_) => Ok(std::env::temp_dir().join(format!("roster-inspect-{}", rustix_user()))),
    }
}

/// A folder of this user's.
fn rustix_user() -> String {
    crate::environment::variable("USER").unwrap_or_else(|| "user".to_owned())
}

fn as_json(found: &Inspected) -> Value {
    json!({
        "path": found.path,
        "sha256": found.sha256,
        "id": found.manifest.id,
        "version": found.manifest.version,
        "toolchain": found.manifest.toolchain,
        "blocking": found.manifest.is_blocking(),
        "concurrent": found.manifest.is_concurrent(),
        "wants_process": found.manifest.wants_process(),
        "description": found.description,
    })
}

//! The sessions database, opened by commands that look into it while runtimes may be serving.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use roster_storage::sqlite::{self, Options, SqliteStore};

use crate::assemble::{Project, told};
use crate::clock::SystemClock;
use crate::error::HostError;

/// Where the database is.
///
/// # Errors
/// [`HostError`] when `runtime.toml` cannot be used.
pub(super) fn database(project: &Project) -> Result<PathBuf, HostError> {
    Ok(project.root.join(&project.config()?.storage.sessions))
}

/// Opens the database that is there; makes none.
///
/// # Errors
/// [`HostError`] when there is none, or it cannot be used.
pub(super) fn opened(project: &Project) -> Result<SqliteStore, HostError> {
    let database = database(project)?;
    if !database.exists() {
        let message = format!("there is no sessions database yet: `{}`", database.display());
        return Err(HostError::environment(message).hint("it is made when `roster` first serves"));
    }
    at(&database)
}

/// The same, made where there is none yet.
///
/// # Errors
/// [`HostError`] when it cannot be made or used.
pub(super) fn opened_or_made(project: &Project) -> Result<SqliteStore, HostError> {
    at(&database(project)?)
}

/// The memory factories of plugins that agents name: what these keep is not in the database.
pub(super) fn kept_by_plugins(project: &Project) -> Option<String> {
    let definitions = project.files.agents.iter().filter_map(|agent| agent.definition.as_ref());
    let factories = definitions.filter_map(|definition| definition.memory.as_ref()).map(|memory| &memory.factory);
    let names: BTreeSet<&String> = factories.filter(|name| name.contains(':')).collect();
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn at(database: &Path) -> Result<SqliteStore, HostError> {
    sqlite::open(database, &Options::new(Arc::new(SystemClock))).map_err(|error| {
        let (message, hint) = told(&error);
        hint.into_iter().fold(HostError::environment(format!("sessions database {message}")), HostError::hint)
    })
}

//! The sessions database, opened by commands that look into it while runtimes may be serving.

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

fn at(database: &Path) -> Result<SqliteStore, HostError> {
    sqlite::open(database, &Options::new(Arc::new(SystemClock))).map_err(|error| {
        let (message, hint) = told(&error);
        hint.into_iter().fold(HostError::environment(format!("sessions database {message}")), HostError::hint)
    })
}

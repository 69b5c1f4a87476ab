//! `roster backup` and `roster restore`: the sessions database as one file, and back.

use std::path::Path;

use roster_model::storage::{StoreError, StoreErrorKind};
use roster_storage::sqlite::{self, RestoreError};

use super::store;
use crate::assemble::{self, told};
use crate::error::{Exit, HostError};
use crate::{log, output};

/// Makes a consistent copy, also while runtimes serve.
///
/// # Errors
/// [`HostError`] when there is no database, it cannot be read, or the copy cannot be written.
pub(super) fn back_up(root: Option<&Path>, to: &Path) -> Result<Exit, HostError> {
    log::start_quiet()?;
    let project = assemble::read(root)?;
    let database = store::database(&project)?;
    let store = store::opened(&project)?;
    let runtime = assemble::runtime()?;
    let copied = runtime.block_on(async {
        let copied = store.backup(to).await;
        store.close().await;
        copied
    });
    copied.map_err(|error| not_copied(to, &error))?;
    let bytes = std::fs::metadata(to).map_or(0, |metadata| metadata.len());
    output::print(format_args!("copied `{}` to `{}`, {bytes} bytes\n", database.display(), to.display()))?;
    if let Some(names) = store::kept_by_plugins(&project) {
        output::note(format_args!("note: conversations that plugins keep ({names}) are not in the copy"));
    }
    Ok(Exit::Good)
}

fn not_copied(to: &Path, error: &StoreError) -> HostError {
    if error.kind == StoreErrorKind::Conflict {
        return HostError::environment(format!("`{}` exists already", to.display()))
            .hint("a backup never overwrites a file; name a new one");
    }
    let (message, hint) = told(error);
    hint.into_iter().fold(HostError::environment(message), HostError::hint)
}

/// Puts a copy in the place of the sessions database; the old file is kept beside it.
///
/// # Errors
/// [`HostError`] when a runtime is serving, or the copy is not fit; then nothing has changed.
pub(super) fn restore(root: Option<&Path>, from: &Path) -> Result<Exit, HostError> {
    log::start_quiet()?;
    let database = store::database(&assemble::read(root)?)?;
    let kept = sqlite::restore(&database, from).map_err(|error| {
        let (message, hint) = told(&error);
        let error = match error {
            RestoreError::Unfit { .. } => HostError::problem(message),
            _ => HostError::environment(message),
        };
        hint.into_iter().fold(error, HostError::hint)
    })?;
    let mut text = format!("restored `{}` from `{}`\n", database.display(), from.display());
    if let Some(kept) = kept {
        text.push_str(&format!("the old database is kept as `{}`\n", kept.display()));
    }
    output::print(text)?;
    Ok(Exit::Good)
}

//! `roster erase`: nothing of an owner is left.

use std::path::Path;

use roster_model::housekeeping::{Erased, Housekeeping};
use roster_model::id::ResourceId;

use super::{EraseArgs, store};
use crate::assemble::{self, told};
use crate::error::{Exit, HostError};
use crate::render::many;
use crate::{log, output};

/// Removes everything of an owner, also while runtimes serve, and says how much that was.
///
/// # Errors
/// [`HostError`] without `--yes`, for an owner that is none, or a database that cannot be used.
pub(super) fn run(root: Option<&Path>, args: &EraseArgs) -> Result<Exit, HostError> {
    log::start_quiet()?;
    let resource = ResourceId::new(&args.resource).map_err(|fault| HostError::environment(fault.to_string()))?;
    if !args.yes {
        return Err(HostError::environment(format!("erasing everything of `{resource}` cannot be undone"))
            .hint("add `--yes` if that is meant; `roster backup FILE` makes a copy first"));
    }
    let project = assemble::read(root)?;
    let store = store::opened(&project)?;
    let erased = assemble::runtime()?.block_on(async {
        let erased = store.erase(&resource).await;
        store.close().await;
        erased
    });
    let erased = erased.map_err(|error| {
        let (message, hint) = told(&error);
        hint.into_iter().fold(HostError::environment(message), HostError::hint)
    })?;
    output::print(format_args!("erased of `{resource}`: {}\n", counted(erased)))?;
    if let Some(names) = store::kept_by_plugins(&project) {
        output::note(format_args!(
            "note: what plugins keep of `{resource}` ({names}) is still there\n\
             hint: `DELETE /api/memory/resources/{resource}` of a runtime that serves erases that too"
        ));
    }
    Ok(Exit::Good)
}

fn counted(erased: Erased) -> String {
    let Erased { threads, messages, index_entries, working_memories } = erased;
    let entries = if index_entries == 1 { "entry" } else { "entries" };
    let memories = if working_memories == 1 { "memory" } else { "memories" };
    format!(
        "{}, {}, {index_entries} index {entries}, {working_memories} working {memories}",
        many(threads, "thread"),
        many(messages, "message")
    )
}

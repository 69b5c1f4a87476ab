//! Tier 3, working memory: what the model is told of it, the tool it writes with, and the one rule by which what it
//! writes is joined to what is there.

mod block;
mod merge;
mod strip;
mod tool;
mod update;

use roster_model::id::ThreadKey;
use roster_model::working::MemoryScope;

use crate::definition::{Scope, WorkingConfig};

pub use block::block;
pub use merge::{MergeFault, merge};
pub use strip::without_calls;
pub use tool::{WORKING_MEMORY_TOOL, description, input_schema};
pub use update::{OpenWorking, SIZE_LIMIT};

/// Whose working memory a turn in `key` reads and writes. An owner whom nobody named is shared by everybody who sends
/// no name, so nothing of theirs is kept beyond their thread.
#[must_use]
pub fn scope_of(config: &WorkingConfig, key: &ThreadKey, owner_named: bool) -> MemoryScope {
    match config.scope {
        Scope::Resource if owner_named => MemoryScope::Resource(key.resource.clone()),
        Scope::Resource | Scope::Thread => MemoryScope::Thread(key.clone()),
    }
}

#[cfg(test)]
mod tests;

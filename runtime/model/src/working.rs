//! Working memory: the small text a model keeps about a thread or its owner, and who wins when two write at once.

use crate::id::{ResourceId, ThreadKey};
use crate::storage::StoreResult;
use crate::time::Timestamp;

/// Whose working memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MemoryScope {
    /// Of one thread; goes when the thread goes.
    Thread(ThreadKey),
    /// Of an owner, shared by all threads.
    Resource(ResourceId),
}

impl MemoryScope {
    /// The owner, either way.
    #[must_use]
    pub fn resource(&self) -> &ResourceId {
        match self {
            Self::Thread(key) => &key.resource,
            Self::Resource(resource) => resource,
        }
    }
}

/// A working memory as the store holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingMemory {
    /// Markdown, or the text of a JSON object.
    pub text: String,
    /// Grows by one with each write.
    pub version: u64,
    /// When it was written last.
    pub updated_at: Timestamp,
}

/// Where working memory is kept.
pub trait WorkingMemoryStore: Send + Sync + 'static {
    /// What is there now; `None` when nothing was ever written or it was cleared.
    fn working_memory<'a>(&'a self, scope: &'a MemoryScope) -> StoreResult<'a, Option<WorkingMemory>>;
    /// Writes `text` (`None` clears) if the version is still the one that was read (0: nothing was there), and gives the
    /// new version. Another version there: `Conflict`, nothing is written. A thread scope needs its thread: `NotFound`.
    fn set_working_memory<'a>(
        &'a self,
        scope: &'a MemoryScope,
        text: Option<String>,
        seen: u64,
    ) -> StoreResult<'a, u64>;
}

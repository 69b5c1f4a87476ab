//! What a factory gives: a store and a policy.

use std::sync::Arc;

use roster_model::embedder::Embedder;
use roster_model::housekeeping::SessionStore;
use roster_model::id::ThreadKey;
use roster_model::storage::StoreResult;

use crate::definition::{MemoryConfig, RecallConfig, WindowConfig, WorkingConfig};

/// An agent's memory. Cheap to clone; all clones share one store.
#[derive(Clone)]
pub struct Memory {
    /// Where everything is stored.
    pub store: Arc<dyn SessionStore>,
    /// What little of it is fed.
    pub policy: Policy,
    /// Who makes vectors for recall; bound by the registry, `None` without semantic recall.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Other stores of the same owners' threads, asked before a turn begins; `None`: there are none.
    pub elsewhere: Option<Arc<dyn Elsewhere>>,
}

/// Other stores that keep threads of the same owners: one id is one conversation.
pub trait Elsewhere: Send + Sync + 'static {
    /// `Elsewhere` when one of them keeps this thread, and the memory's own store does not.
    fn refuses<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, ()>;
}

impl Memory {
    /// A memory over this store with the definition's policies. What a factory returns.
    #[must_use]
    pub fn new(store: Arc<dyn SessionStore>, config: &MemoryConfig) -> Self {
        Self { store, policy: Policy::of(config), embedder: None, elsewhere: None }
    }

    /// The same beside other stores.
    #[must_use]
    pub fn beside(self, elsewhere: Option<Arc<dyn Elsewhere>>) -> Self {
        Self { elsewhere, ..self }
    }
}

/// What is fed to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Tier 1, the last-N window.
    pub window: WindowConfig,
    /// Tier 2, semantic recall.
    pub recall: Option<RecallConfig>,
    /// Tier 3, working memory.
    pub working: Option<WorkingConfig>,
    /// Whether a model names a thread after its first turn.
    pub generate_title: bool,
}

impl Policy {
    /// The policies of a definition.
    #[must_use]
    pub fn of(config: &MemoryConfig) -> Self {
        Self {
            window: config.window,
            recall: config.recall.clone(),
            working: config.working.clone(),
            generate_title: config.generate_title,
        }
    }
}

/// Why a factory made no memory. Becomes a problem naming the agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FactoryError {
    /// What failed, as a lowercase fragment.
    pub message: String,
}

/// What a factory's memories can do beyond keeping threads, messages and working memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keeps {
    /// The index of semantic recall.
    pub recall: bool,
    /// Turns that wait for a person's approval, found by whoever asks.
    pub approvals: bool,
}

impl Keeps {
    /// Everything.
    pub const ALL: Self = Self { recall: true, approvals: true };
    /// Conversations and no more.
    pub const CONVERSATIONS: Self = Self { recall: false, approvals: false };
}

/// Makes the memory of an agent. Looked up by name in the catalog and called once for each registration: never while
/// parsing or checking, never again for the same registration.
pub trait MemoryFactory: Send + Sync + 'static {
    /// Makes a memory with the definition's policies.
    ///
    /// # Errors
    /// [`FactoryError`]; the agent is then not served, and the problem says why.
    fn create(&self, config: &MemoryConfig) -> Result<Memory, FactoryError>;

    /// What its memories can do; asked while names are resolved, so that an agent that wants more is refused.
    fn keeps(&self) -> Keeps {
        Keeps::ALL
    }
}

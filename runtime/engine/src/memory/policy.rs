//! What a factory gives: a store and a policy.

use std::sync::Arc;

use roster_model::storage::ConversationStore;

use crate::definition::{MemoryConfig, WindowConfig};

/// An agent's memory. Cheap to clone; all clones share one store.
#[derive(Clone)]
pub struct Memory {
    /// Where everything is stored.
    pub store: Arc<dyn ConversationStore>,
    /// What little of it is fed.
    pub policy: Policy,
}

/// What is fed to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Tier 1, the last-N window.
    pub window: WindowConfig,
}

/// Why a factory made no memory. Becomes a problem naming the agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FactoryError {
    /// What failed, as a lowercase fragment.
    pub message: String,
}

/// Makes the memory of an agent. Looked up by name in the catalog and called once for each registration: never while
/// parsing or checking, never again for the same registration.
pub trait MemoryFactory: Send + Sync + 'static {
    /// Makes a memory with the definition's policies.
    ///
    /// # Errors
    /// [`FactoryError`]; the agent is then not served, and the problem says why.
    fn create(&self, config: &MemoryConfig) -> Result<Memory, FactoryError>;
}

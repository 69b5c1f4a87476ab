//! What names in definitions stand for: memory factories, tools and models.

use std::collections::BTreeMap;
use std::sync::Arc;

use roster_model::provider::Provider;
use roster_model::tool::ToolMaker;

use crate::definition::ModelChoice;
use crate::memory::MemoryFactory;
use crate::tool::Schemas;

/// A model an agent is bound to.
#[derive(Clone)]
pub struct BoundModel {
    /// `provider/model`, for people.
    pub name: String,
    /// Who is asked.
    pub provider: Arc<dyn Provider>,
    /// The provider's own name of the model.
    pub model: String,
}

/// Why a name stands for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameFault {
    /// Machine code of the problem: `unknown_model`, `unknown_alias`.
    pub code: &'static str,
    /// A lowercase fragment.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

/// Turns a model's name into a provider. Made by the host from `runtime.toml`.
pub trait ModelSource: Send + Sync + 'static {
    /// Resolves an alias, `provider/model`, or a table.
    ///
    /// # Errors
    /// [`NameFault`] with what is known instead.
    fn resolve(&self, choice: &ModelChoice) -> Result<BoundModel, NameFault>;
}

/// Everything names can stand for. Definitions hold only the names.
pub struct Catalog {
    /// Memory factories.
    pub factories: BTreeMap<String, Arc<dyn MemoryFactory>>,
    /// Tools by the name definitions write.
    pub tools: BTreeMap<String, Arc<dyn ToolMaker>>,
    /// Models.
    pub models: Arc<dyn ModelSource>,
    /// Changes whenever something an agent may be bound to changes: agents assembled from another revision are
    /// assembled anew.
    pub revision: u64,
    /// Compiled argument schemas.
    pub schemas: Schemas,
}

//! What names in definitions stand for: memory factories, tools and models.

use std::collections::BTreeMap;
use std::sync::Arc;

use roster_model::embedder::Embedder;
use roster_model::processor::Processor;
use roster_model::provider::Provider;
use roster_model::source::ToolSource;
use roster_model::tool::ToolMaker;

use super::resolve::{DEFAULT_EMBEDDER, known};
use crate::definition::{ModelChoice, Problem, suggest};
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

impl BoundModel {
    /// Whether people see another name than the provider's: an alias whose text came from a variable.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        !self.name.ends_with(&self.model)
    }

    /// The provider's own name of the model where people may see it, else the alias.
    #[must_use]
    pub fn shown(&self) -> &str {
        if self.is_hidden() { &self.name } else { &self.model }
    }
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

/// An embedder an agent is bound to.
pub struct BoundEmbedder {
    /// Who makes vectors.
    pub embedder: Arc<dyn Embedder>,
    /// Why it cannot be used at the moment, for the agent's list of problems; recall goes by words until it can.
    pub notice: Option<NameFault>,
}

/// Turns an embedder's name (`local`, `hash`, `provider/model`) into an embedder. Made by the host.
pub trait EmbedderSource: Send + Sync + 'static {
    /// Resolves a name; loads nothing and connects to nothing.
    ///
    /// # Errors
    /// [`NameFault`] with what is known instead.
    fn resolve(&self, name: &str) -> Result<BoundEmbedder, NameFault>;

    /// The embedder of a definition that names none.
    ///
    /// # Errors
    /// As [`EmbedderSource::resolve`].
    fn unnamed(&self) -> Result<BoundEmbedder, NameFault> {
        self.resolve(DEFAULT_EMBEDDER)
    }

    /// Whether names still stand for what they stood for when this was made; if not, it is time for another catalog.
    fn is_current(&self) -> bool {
        true
    }
}

/// A fixed list of embedders.
impl EmbedderSource for BTreeMap<String, Arc<dyn Embedder>> {
    fn resolve(&self, name: &str) -> Result<BoundEmbedder, NameFault> {
        if let Some(embedder) = self.get(name) {
            return Ok(BoundEmbedder { embedder: Arc::clone(embedder), notice: None });
        }
        let help = match suggest(name, self.keys().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.is_empty() => "there are no embedders".to_owned(),
            None => {
                let all: Vec<String> = self.keys().map(|known| format!("`{known}`")).collect();
                format!("known embedders: {}", all.join(", "))
            }
        };
        Err(NameFault { code: "unknown_embedder", message: format!("unknown embedder `{name}`"), help: Some(help) })
    }
}

/// A processor an agent is bound to.
pub struct BoundProcessor {
    /// Who sees what is said. Where `absent` is set, one that fails.
    pub processor: Arc<dyn Processor>,
    /// Why it cannot work at the moment. An agent is not served without a guard it names, unless it says `pass`.
    pub absent: Option<NameFault>,
}

/// Turns a memory factory's name (`create_memory`, `plugin:factory`) into a factory. Made by the host; calls none.
pub trait FactorySource: Send + Sync + 'static {
    /// Resolves a name.
    ///
    /// # Errors
    /// [`NameFault`] with what is known instead, or why a plugin's factory is not there.
    fn resolve(&self, name: &str) -> Result<Arc<dyn MemoryFactory>, NameFault>;
}

/// A fixed list of factories.
impl FactorySource for BTreeMap<String, Arc<dyn MemoryFactory>> {
    fn resolve(&self, name: &str) -> Result<Arc<dyn MemoryFactory>, NameFault> {
        self.get(name).cloned().ok_or_else(|| NameFault {
            code: "unknown_factory",
            message: format!("unknown memory factory `{name}`"),
            help: Some(known(name, self.keys(), "factories")),
        })
    }
}

/// Turns a processor's name (`plugin:component`) into a processor. Made by the host.
pub trait ProcessorSource: Send + Sync + 'static {
    /// Resolves a name.
    ///
    /// # Errors
    /// [`NameFault`] for a name that can stand for nothing.
    fn resolve(&self, name: &str) -> Result<BoundProcessor, NameFault>;
}

/// A fixed list of processors.
impl ProcessorSource for BTreeMap<String, Arc<dyn Processor>> {
    fn resolve(&self, name: &str) -> Result<BoundProcessor, NameFault> {
        let bound = |processor| BoundProcessor { processor, absent: None };
        self.get(name).cloned().map(bound).ok_or_else(|| NameFault {
            code: "unknown_processor",
            message: format!("unknown processor `{name}`"),
            help: Some(match suggest(name, self.keys().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "processors come from plugins: name one under [plugins] in config/runtime.toml".to_owned(),
            }),
        })
    }
}

/// What is known of plugins besides what they contribute.
#[derive(Debug, Clone, Default)]
pub struct PluginNames {
    /// How each of the configuration stands, by the name before the colon.
    pub standing: BTreeMap<String, PluginStanding>,
    /// What is wrong with them, for the list of problems.
    pub problems: Vec<Problem>,
}

/// Whether what a plugin contributes is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginStanding {
    /// It is.
    Here,
    /// It is not, for this reason.
    Absent(String),
    /// Nobody asked: files are only looked at.
    Unasked,
}

/// Everything names can stand for. Definitions hold only the names.
pub struct Catalog {
    /// Memory factories.
    pub factories: Arc<dyn FactorySource>,
    /// Tools by the name definitions write.
    pub tools: BTreeMap<String, Arc<dyn ToolMaker>>,
    /// MCP servers, whose tools come and go.
    pub servers: Arc<dyn ToolSource>,
    /// Plugins that are configured; their tools are among `tools`.
    pub plugins: PluginNames,
    /// Models.
    pub models: Arc<dyn ModelSource>,
    /// Embedders.
    pub embedders: Arc<dyn EmbedderSource>,
    /// Processors.
    pub processors: Arc<dyn ProcessorSource>,
    /// Changes whenever something an agent may be bound to changes: agents assembled from another revision are
    /// assembled anew.
    pub revision: u64,
    /// Compiled argument schemas.
    pub schemas: Schemas,
}

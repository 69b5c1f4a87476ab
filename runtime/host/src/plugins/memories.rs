//! Memory factories by their names: the runtime's own, and those of plugins, with every memory these have opened.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use roster_abi::contract::kind;
use roster_engine::definition::{MemoryConfig, suggest};
use roster_engine::memory::{FactoryError, Keeps, Memory, MemoryFactory};
use roster_engine::registry::{FactorySource, NameFault};
use roster_model::housekeeping::SessionStore;
use roster_plugin::bridge::memory::{PluginMemory, open};
use serde_json::{Map, Value};

use super::PluginHost;

/// The factory over the runtime's own store.
const OWN: &str = "create_memory";

/// The memories that agents have opened: those who give a factory the same `config` share one, and Studio finds the
/// threads of all of them.
#[derive(Default)]
pub struct Memories {
    opened: Mutex<Vec<Opened>>,
    /// One call of a factory at a time.
    opening: Mutex<()>,
}

struct Opened {
    name: String,
    config: Map<String, Value>,
    /// Agents hold it.
    memory: Weak<PluginMemory>,
}

impl Memories {
    /// Every memory an agent has now.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<PluginMemory>> {
        self.lock().iter().filter_map(|one| one.memory.upgrade()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Opened>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(
        &self,
        host: &Arc<PluginHost>,
        (key, id): (&str, &str),
        config: &Map<String, Value>,
        own: Arc<dyn SessionStore>,
    ) -> Result<Arc<PluginMemory>, FactoryError> {
        let _one = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("{key}:{id}");
        {
            let mut opened = self.lock();
            opened.retain(|one| one.memory.strong_count() > 0);
            let same = opened.iter().find(|one| one.name == name && one.config == *config);
            if let Some(memory) = same.and_then(|one| one.memory.upgrade()) {
                return Ok(memory);
            }
        }
        let (plugins, wanted) = (Arc::downgrade(host), key.to_owned());
        let find = Arc::new(move || plugins.upgrade()?.get(&wanted));
        let memory = open(find, key, id, config, own).map_err(|error| FactoryError {
            message: format!("{error}; `roster plugins reload {key}` has it called again"),
        })?;
        self.lock().push(Opened { name, config: config.clone(), memory: Arc::downgrade(&memory) });
        Ok(memory)
    }
}

/// Memory factories by name.
pub struct Factories {
    /// The runtime's own store.
    pub store: Arc<dyn SessionStore>,
    /// The plugins that are loaded; `None`: nobody loads them.
    pub plugins: Option<Arc<PluginHost>>,
    /// The keys of the configuration.
    pub keys: Vec<String>,
}

impl FactorySource for Factories {
    fn resolve(&self, name: &str) -> Result<Arc<dyn MemoryFactory>, NameFault> {
        let store = Arc::clone(&self.store);
        if name == OWN {
            return Ok(Arc::new(CreateMemory { store }));
        }
        let Some((key, id)) = name.split_once(':') else {
            return Err(NameFault {
                code: "unknown_factory",
                message: format!("unknown memory factory `{name}`"),
                help: Some(match suggest(name, [OWN]) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("write `{OWN}`, or `plugin:factory` for a plugin's"),
                }),
            });
        };
        if !self.keys.iter().any(|known| known == key) {
            return Err(super::no_plugin("memory factory", name, key));
        }
        let Some(host) = &self.plugins else { return Ok(Arc::new(NotAsked { store })) };
        let there = host.get(key).is_some_and(|plugin| plugin.contribution(kind::MEMORY_FACTORY, id).is_some());
        if !there {
            return Err(host.fault("memory factory", name));
        }
        Ok(Arc::new(OfPlugin { host: Arc::clone(host), key: key.to_owned(), id: id.to_owned(), own: store }))
    }
}

/// `create_memory`: the one sessions store and the policies the definition asks for.
pub struct CreateMemory {
    /// The store.
    pub store: Arc<dyn SessionStore>,
}

impl MemoryFactory for CreateMemory {
    fn create(&self, config: &MemoryConfig) -> Result<Memory, FactoryError> {
        if let Some(key) = config.config.keys().next() {
            let message = format!("`{OWN}` takes no `config`, but `{key}` is set");
            return Err(FactoryError { message });
        }
        Ok(Memory::new(Arc::clone(&self.store), config))
    }
}

/// A factory of a plugin that is loaded.
struct OfPlugin {
    host: Arc<PluginHost>,
    key: String,
    id: String,
    own: Arc<dyn SessionStore>,
}

impl MemoryFactory for OfPlugin {
    fn create(&self, config: &MemoryConfig) -> Result<Memory, FactoryError> {
        let own = Arc::clone(&self.own);
        let memory = self.host.memories.open(&self.host, (&self.key, &self.id), &config.config, own)?;
        Ok(Memory::new(memory, config))
    }

    fn keeps(&self) -> Keeps {
        Keeps::CONVERSATIONS
    }
}

/// Stands for a plugin's factory where files are only looked at; its memories are never asked.
struct NotAsked {
    store: Arc<dyn SessionStore>,
}

impl MemoryFactory for NotAsked {
    fn create(&self, config: &MemoryConfig) -> Result<Memory, FactoryError> {
        Ok(Memory::new(Arc::clone(&self.store), config))
    }

    fn keeps(&self) -> Keeps {
        Keeps::CONVERSATIONS
    }
}

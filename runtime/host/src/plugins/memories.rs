//! Memory factories by their names: the runtime's own, and those of plugins, with every memory these have opened.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::future::join_all;
use roster_abi::contract::kind;
use roster_engine::definition::{MemoryConfig, suggest};
use roster_engine::memory::transcript::ResultCap;
use roster_engine::memory::{Elsewhere, FactoryError, Keeps, Memory, MemoryFactory};
use roster_engine::registry::{FactorySource, NameFault};
use roster_model::housekeeping::SessionStore;
use roster_model::id::ThreadKey;
use roster_model::storage::{ConversationStore as _, StoreError, StoreErrorKind, StoreResult, Thread};
use roster_plugin::bridge::memory::{Beside, PluginMemory, open, opened};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::PluginHost;
use crate::config::read_project;
use crate::conversations::soon;
use crate::environment;

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

    fn is_open(&self, name: &str, config: &Map<String, Value>) -> bool {
        let is_it = |one: &Opened| one.name == name && one.config == *config && one.memory.strong_count() > 0;
        self.lock().iter().any(is_it)
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
        let memory = open(find, key, id, config, beside(own)).map_err(|error| FactoryError {
            message: format!("{error}; `roster plugins reload {key}` has it called again"),
        })?;
        self.lock().push(Opened { name, config: config.clone(), memory: Arc::downgrade(&memory) });
        Ok(memory)
    }
}

impl PluginHost {
    /// The memories that definitions name and no agent has open: of agents that are disabled or wait. Opened for as long
    /// as the caller has them.
    ///
    /// # Errors
    /// `Unavailable` names one that cannot be opened.
    pub async fn unopened(&self, own: &Arc<dyn SessionStore>) -> Result<Vec<Arc<PluginMemory>>, StoreError> {
        let mut memories = Vec::new();
        for (name, config) in self.named().await? {
            if self.memories.is_open(&name, &config) {
                continue;
            }
            let (key, id) = name.split_once(':').unwrap_or((&name, ""));
            let found = self.get(key);
            let find = Arc::new(move || found.clone());
            let opened = opened(find, key, id, &config, beside(Arc::clone(own))).await;
            memories.push(opened.map_err(|error| {
                let text = format!("the memory `{name}`, which an agent's file names, cannot be asked: {error}");
                StoreError::new(StoreErrorKind::Unavailable, text)
            })?);
        }
        Ok(memories)
    }

    /// What the files of agents name now. Reading them blocks, on a thread of its own.
    async fn named(&self) -> Result<Vec<(String, Map<String, Value>)>, StoreError> {
        let failed = |error: String| StoreError::new(StoreErrorKind::Unavailable, format!("files not read: {error}"));
        let ((tell, told), root) = (oneshot::channel(), self.root.clone());
        let read = move || drop(tell.send(named(&root)));
        std::thread::Builder::new().name("definitions".to_owned()).spawn(read).map_err(|e| failed(e.to_string()))?;
        told.await.map_err(|error| failed(error.to_string()))
    }
}

/// What a plugin's memory needs of the runtime. What is cut there is stored nowhere.
fn beside(elsewhere: Arc<dyn SessionStore>) -> Beside {
    Beside { elsewhere, cut: |most, parts| ResultCap::new(most, false).cut(parts) }
}

fn named(root: &Path) -> Vec<(String, Map<String, Value>)> {
    let files = read_project(root, &environment::variable);
    let memories = files.agents.into_iter().filter_map(|agent| agent.definition?.memory);
    let mut named: Vec<_> = memories.map(|memory| (memory.factory, memory.config)).collect();
    named.retain(|(name, _)| name.contains(':'));
    named.dedup();
    named
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
            return Ok(Arc::new(CreateMemory { store, plugins: self.plugins.as_ref().map(Arc::downgrade) }));
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
    /// Plugins, which may keep threads too; `None`: nobody loads them.
    pub plugins: Option<Weak<PluginHost>>,
}

impl MemoryFactory for CreateMemory {
    fn create(&self, config: &MemoryConfig) -> Result<Memory, FactoryError> {
        if let Some(key) = config.config.keys().next() {
            let message = format!("`{OWN}` takes no `config`, but `{key}` is set");
            return Err(FactoryError { message });
        }
        let beside = |plugins: &Weak<PluginHost>| {
            Arc::new(BesidePlugins { own: Arc::clone(&self.store), plugins: Weak::clone(plugins) })
                as Arc<dyn Elsewhere>
        };
        Ok(Memory::new(Arc::clone(&self.store), config).beside(self.plugins.as_ref().map(beside)))
    }
}

/// What plugins keep beside the runtime's own store.
struct BesidePlugins {
    own: Arc<dyn SessionStore>,
    plugins: Weak<PluginHost>,
}

impl Elsewhere for BesidePlugins {
    /// A memory that does not answer keeps nobody from beginning: all owners would wait for one plugin.
    fn refuses<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, ()> {
        Box::pin(async move {
            let memories = self.plugins.upgrade().map(|plugins| plugins.memories.all()).unwrap_or_default();
            let is_ours = |thread: Thread| thread.message_count > 0;
            if memories.is_empty() || self.own.thread(key).await?.is_some_and(is_ours) {
                return Ok(());
            }
            let answers = join_all(memories.iter().map(|memory| soon(memory.thread(key)))).await;
            for (memory, answer) in memories.iter().zip(answers) {
                match answer {
                    Ok(None) => {}
                    Ok(Some(_)) => return Err(kept_by(memory, key)),
                    Err(error) => tracing::warn!(thread = %key.thread, %error, "begun without asking a memory"),
                }
            }
            Ok(())
        })
    }
}

fn kept_by(memory: &PluginMemory, key: &ThreadKey) -> StoreError {
    let text = format!("thread `{}` is kept in `{}`: begin another conversation", key.thread, memory.name());
    StoreError::new(StoreErrorKind::Elsewhere, text)
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

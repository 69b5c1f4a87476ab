//! Plugins as this project configures them: from `[plugins]` to libraries that serve, and what comes of them to the
//! names in definitions.

mod fetch;
mod memories;
mod processors;

pub use memories::{CreateMemory, Factories, Memories};
pub use processors::Processors;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use roster_abi::contract::kind;
use roster_engine::definition::{Problem, Severity};
use roster_engine::registry::{NameFault, PluginNames, PluginStanding, Registry};
use roster_engine::trace::Exporters;
use roster_model::time::Clock;
use roster_model::tool::ToolMaker;
use roster_plugin::bridge;
use roster_plugin::inspect::own_binary;
use roster_plugin::plugin::Plugin;
use roster_plugin::refusal::Refusal;
use roster_plugin::set::{Parts, Plugins, Used};
use roster_plugin::settings::Settings;

use crate::config::{EXECUTABLE, ExporterEntry, PluginEntry, PluginsConfig};
use crate::environment;
use crate::error::HostError;
use fetch::Network;

/// The command that runs a plugin's own process.
pub const CHILD: &str = "plugin-host";
/// How long the start waits for plugins; one that takes longer joins when it is there.
const SETTLE: Duration = Duration::from_secs(10);
/// Where the plugins' own values are, relative to the root.
const VALUES: &str = ".temp/plugin-data";

/// The plugins of a process.
pub struct PluginHost {
    root: PathBuf,
    /// All of them.
    pub plugins: Plugins,
    /// What agents keep in them.
    pub memories: Memories,
    told: Arc<Told>,
}

/// Where news go.
#[derive(Default)]
struct Told {
    /// Grows with each piece of news.
    revision: AtomicU64,
    changed: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl PluginHost {
    /// Loads nothing yet. Inside the runtime.
    ///
    /// # Errors
    /// [`HostError::Environment`] when the folder for copies cannot be used.
    pub fn new(
        root: &Path,
        config: &PluginsConfig,
        clock: Arc<dyn Clock>,
        registry: &Arc<Registry>,
    ) -> Result<Self, HostError> {
        let told = Arc::new(Told::default());
        let (telling, registry) = (Arc::clone(&told), Arc::clone(registry));
        let mut parts = parts(root, config, clock)?;
        parts.in_use = Box::new(move |key| in_use(&registry, key));
        parts.changed = Box::new(move || {
            telling.revision.fetch_add(1, Ordering::SeqCst);
            if let Some(changed) = telling.changed.get() {
                changed();
            }
        });
        let plugins = Plugins::new(parts).map_err(|refusal| unusable(&refusal))?;
        Ok(Self { root: root.to_path_buf(), plugins, memories: Memories::default(), told })
    }

    /// These are the plugins from now on.
    pub fn apply(&self, config: &PluginsConfig) {
        self.plugins.configure(settings(&self.root, config));
    }

    /// Waits for what is being loaded, not long.
    pub fn settle(&self) {
        self.plugins.settle(SETTLE);
    }

    /// Calls `changed` from now on when what plugins contribute is another.
    pub fn on_change(&self, changed: impl Fn() + Send + Sync + 'static) {
        // The first stays: there is one reloading a process.
        let _ = self.told.changed.set(Box::new(changed));
    }

    /// Whether names of plugins may stand for something else than at this revision.
    pub fn is_current(&self, revision: u64) -> bool {
        self.revision() == revision
    }

    /// The revision now. Asked before the names are.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.told.revision.load(Ordering::SeqCst)
    }

    /// How the configured plugins stand, and what is wrong with them.
    #[must_use]
    pub fn names(&self, config: &PluginsConfig) -> PluginNames {
        let mut names = PluginNames::default();
        for PluginEntry { settings, place } in &config.plugins {
            let plugin = self.plugins.get(&settings.key);
            let serves = plugin.as_ref().is_some_and(|plugin| plugin.generation().is_some());
            let refusal = plugin.as_ref().and_then(|plugin| plugin.refusal());
            let standing = match (&refusal, serves) {
                (_, true) => PluginStanding::Here,
                (Some(refusal), false) => PluginStanding::Absent(refusal.message.clone()),
                (None, false) => PluginStanding::Absent("is being loaded".to_owned()),
            };
            names.problems.extend(refusal.map(|refusal| problem(place, &settings.key, &refusal, serves)));
            names.standing.insert(settings.key.clone(), standing);
        }
        names
    }

    /// The tools of all plugins that serve.
    #[must_use]
    pub fn tools(&self) -> BTreeMap<String, Arc<dyn ToolMaker>> {
        self.plugins.all().iter().flat_map(bridge::tool::tools).collect()
    }

    /// The exporters of this list, whether their plugins are there now or not.
    #[must_use]
    pub fn exporters(self: &Arc<Self>, wanted: &[ExporterEntry]) -> Exporters {
        let one = |entry: &ExporterEntry| {
            let (key, id) = entry.name.split_once(':').unwrap_or((&entry.name, ""));
            let (host, key) = (Arc::downgrade(self), key.to_owned());
            let find = Arc::new(move || host.upgrade()?.get(&key));
            (entry.name.clone(), bridge::exporter::exporter(find, id))
        };
        wanted.iter().map(one).collect()
    }

    /// Those of them that a plugin which serves does not have.
    #[must_use]
    pub fn missing_exporters(&self, wanted: &[ExporterEntry]) -> Vec<Problem> {
        let missing = |entry: &ExporterEntry| {
            let (key, id) = entry.name.split_once(':')?;
            let plugin = self.get(key).filter(|plugin| plugin.generation().is_some())?;
            let lacks = plugin.contribution(kind::OBSERVABILITY, id).is_none();
            lacks.then(|| Problem {
                message: format!("plugin `{key}` has no exporter `{}`", entry.name),
                help: Some("spans wait for it, the oldest are dropped; turns are not affected".to_owned()),
                ..entry.place.clone()
            })
        };
        wanted.iter().filter_map(missing).collect()
    }

    /// Why a contribution without which an agent cannot be is not there.
    #[must_use]
    pub fn fault(&self, noun: &str, name: &str) -> NameFault {
        let key = name.split_once(':').map_or(name, |(key, _)| key);
        let Some(plugin) = self.plugins.get(key) else { return no_plugin(noun, name, key) };
        let help = Some("the agent is served when the plugin is there".to_owned());
        let message = match (plugin.generation(), plugin.refusal()) {
            (Some(_), _) => format!("plugin `{key}` has no {noun} `{name}`"),
            (None, Some(refusal)) => format!("{noun} `{name}` is not there now: plugin `{key}` {refusal}"),
            (None, None) => format!("{noun} `{name}` is not there now: plugin `{key}` is being loaded"),
        };
        let code = if plugin.generation().is_some() { "plugin_without" } else { "plugin_absent" };
        NameFault { code, message, help }
    }

    /// A plugin by its key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Arc<Plugin>> {
        self.plugins.get(key)
    }
}

fn no_plugin(noun: &str, name: &str, key: &str) -> NameFault {
    NameFault {
        code: "unknown_plugin",
        message: format!("{noun} `{name}`: there is no plugin `{key}` in config/runtime.toml"),
        help: Some(format!("add [plugins.{key}] there")),
    }
}

/// Plugins of a configuration that nobody loads.
#[must_use]
pub fn unasked(config: &PluginsConfig) -> PluginNames {
    let keys = config.plugins.iter().map(|entry| (entry.settings.key.clone(), PluginStanding::Unasked));
    PluginNames { standing: keys.collect(), problems: Vec::new() }
}

/// The settings with their folders.
#[must_use]
pub fn settings(root: &Path, config: &PluginsConfig) -> Vec<Settings> {
    let folders: Vec<PathBuf> = config.folders.iter().filter_map(|folder| folder_of(root, folder)).collect();
    let one = |entry: &PluginEntry| Settings { folders: folders.clone(), ..entry.settings.clone() };
    config.plugins.iter().map(one).collect()
}

fn folder_of(root: &Path, folder: &str) -> Option<PathBuf> {
    if folder == EXECUTABLE { environment::binary_folder() } else { Some(root.join(folder)) }
}

/// What plugins are put into; nobody is told of anything yet.
///
/// # Errors
/// [`HostError::Internal`] when no HTTP client can be made.
pub fn parts(root: &Path, config: &PluginsConfig, clock: Arc<dyn Clock>) -> Result<Parts, HostError> {
    Ok(Parts {
        cache: root.join(&config.cache),
        child: own_binary(&[CHILD]),
        kv: root.join(VALUES),
        fetch: Arc::new(Network::new()?),
        secrets: Box::new(environment::variable),
        runtime: tokio::runtime::Handle::current(),
        clock,
        in_use: Box::new(|_| Vec::new()),
        changed: Box::new(|| {}),
    })
}

pub(crate) fn unusable(refusal: &Refusal) -> HostError {
    HostError::environment(format!("plugins {refusal}")).hint(refusal.help.clone())
}

/// The problem of a plugin that is not, or not newly, served. Agents that cannot do without it have their own.
fn problem(place: &Problem, key: &str, refusal: &Refusal, serves: bool) -> Problem {
    let still = if serves { "; the library before serves on" } else { "" };
    Problem {
        severity: Severity::Warning,
        code: refusal.kind.code(),
        message: format!("plugin `{key}` is not loaded: it {refusal}{still}"),
        help: Some(refusal.help.clone()),
        ..place.clone()
    }
}

/// Which contributions of a plugin agents that serve use.
fn in_use(registry: &Registry, key: &str) -> Vec<Used> {
    let mut used: BTreeMap<(&'static str, String), Vec<String>> = BTreeMap::new();
    let snapshot = registry.snapshot();
    for agent in snapshot.serving() {
        let definition = &agent.definition;
        let memory = definition.memory.as_ref();
        let tools = definition.tools.iter().map(|name| (kind::TOOL, name));
        let processors = definition.processors.iter().map(|name| (kind::PROCESSOR, name));
        let embedder = memory.and_then(|memory| memory.recall.as_ref()?.embedder.as_ref());
        let embedder = embedder.map(|name| (kind::EMBEDDER, name));
        // As they were bound: a definition may have named an alias.
        let models = agent.models.iter().map(|model| (kind::MODEL_PROVIDER, &model.name));
        let factory = memory.map(|memory| (kind::MEMORY_FACTORY, &memory.factory));
        for (kind, name) in tools.chain(processors).chain(embedder).chain(models).chain(factory) {
            if let Some(id) = name.strip_prefix(key).and_then(|rest| rest.strip_prefix(':')) {
                used.entry((kind, id.to_owned())).or_default().push(definition.id.to_string());
            }
        }
    }
    used.into_iter().map(|((kind, id), agents)| Used { kind, id, agents }).collect()
}

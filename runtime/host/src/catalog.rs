//! What names in definitions stand for: the models of `runtime.toml`, the memory factory, the built-in tools.

mod reach;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use roster_embed::hash::HashEmbedder;
use roster_engine::definition::{ModelChoice, ModelTable};
use roster_engine::registry::{BoundEmbedder, BoundModel, Catalog, ModelSource, NameFault, PluginNames};
use roster_engine::tool::Schemas;
use roster_model::embedder::{EmbedErrorKind, Embedder};
use roster_model::housekeeping::SessionStore;
use roster_model::id::IdSource;
use roster_model::provider::Provider;
use roster_model::source::ToolSource;
use roster_model::time::Clock;
use roster_model::tool::ToolMaker;
use roster_plugin::bridge::embedder::embedder as embedder_of_plugin;
use roster_plugin::bridge::model::provider as provider_of_plugin;
use roster_provider::client::{ClientOptions, HttpClient};
use roster_provider::config::{self as provider, Dialect, Key};
use roster_provider::demo::DemoProvider;
use roster_provider::embeddings::{self, EmbeddingsConfig};
use roster_tools::Kit;
use roster_tools::web::{FetchMaker, SystemLookup};

use crate::config::models::{DEMO, ModelFault, ModelNames, ResolvedModel};
use crate::config::{ProviderConfig, ProviderKey, RuntimeConfig};
use crate::embedders::{Embedders, NamedEmbedders};
use crate::environment;
use crate::error::HostError;
use crate::folders::ProjectFolders;
use crate::plugins::{Factories, PluginHost, Processors, unasked};

use reach::of_runtime;

/// How long making a connection may take for a tool.
const TOOL_CONNECT: Duration = Duration::from_secs(10);

/// The catalog of this configuration. Connects to nothing and calls no factory.
///
/// # Errors
/// [`HostError::Internal`] when no HTTP client can be made at all.
pub fn catalog(
    root: &Path,
    config: &RuntimeConfig,
    store: Arc<dyn SessionStore>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    embedders: Arc<Embedders>,
    plugins: Contributions,
) -> Result<Catalog, HostError> {
    let models = Models::new(root, config, Arc::clone(&clock), ids).with_plugins(plugins.host.clone());
    let models = Arc::new(models);
    let tools = roster_tools::builtin(kit(root, clock)?);
    let keys = plugins.names.standing.keys().cloned().collect();
    let factories = Factories { store, plugins: plugins.host.clone(), keys };
    Ok(Catalog {
        factories: Arc::new(factories),
        servers: plugins.servers,
        tools: tools.into_iter().chain(plugins.tools).collect(),
        plugins: plugins.names,
        embedders: Arc::new(NamedEmbedders::new(embedders, Arc::clone(&models), plugins.current)),
        models,
        processors: Arc::new(Processors(plugins.host)),
        revision: 1,
        schemas: Schemas::default(),
    })
}

/// What built-in tools are made with.
fn kit(root: &Path, clock: Arc<dyn Clock>) -> Result<Kit, HostError> {
    let none = |error| HostError::Internal(format!("the HTTP client of tools cannot be made: {error}"));
    let client = tool_client().map_err(none)?;
    let fetch = FetchMaker::new(Arc::new(SystemLookup)).map_err(none)?;
    Ok(Kit { client, clock, folders: Arc::new(ProjectFolders::new(root)), fetch })
}

/// What plugins and MCP servers add to a catalog.
pub struct Contributions {
    /// MCP servers.
    pub servers: Arc<dyn ToolSource>,
    /// How the plugins stand.
    pub names: PluginNames,
    /// Their tools.
    pub tools: BTreeMap<String, Arc<dyn ToolMaker>>,
    /// They themselves; `None`: nobody loads them.
    pub host: Option<Arc<PluginHost>>,
    /// Whether all this is still so.
    pub current: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Contributions {
    /// Of plugins that nobody loads.
    #[must_use]
    pub fn unasked(config: &RuntimeConfig, servers: Arc<dyn ToolSource>) -> Self {
        Self {
            servers,
            names: unasked(&config.plugins),
            tools: BTreeMap::new(),
            host: None,
            current: Box::new(|| true),
        }
    }

    /// Of plugins that are there.
    #[must_use]
    pub fn of(plugins: &Arc<PluginHost>, config: &RuntimeConfig, servers: Arc<dyn ToolSource>) -> Self {
        // Before the names are asked: what changes meanwhile makes another catalog.
        let (revision, host) = (plugins.revision(), Arc::clone(plugins));
        let current = Box::new(move || host.is_current(revision));
        let mut names = plugins.names(&config.plugins);
        names.problems.extend(plugins.missing_exporters(&config.observability.exporters));
        Self { servers, names, tools: plugins.tools(), host: Some(Arc::clone(plugins)), current }
    }
}

/// The client that tools ask the network with.
fn tool_client() -> Result<reqwest::Client, reqwest::Error> {
    // Whoever was first chose the same.
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::builder()
        .user_agent(concat!("roster/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(TOOL_CONNECT)
        .build()
}

/// Models by the names of `runtime.toml`, and those that definitions describe themselves.
pub struct Models {
    /// Where the files that providers name are.
    root: PathBuf,
    names: ModelNames,
    providers: HashMap<String, ProviderConfig>,
    http: HttpClient,
    /// Providers made so far: one for each distinct configuration, shared by all agents.
    made: Mutex<HashMap<Identity, Arc<dyn Provider>>>,
    /// The plugins; `None`: nobody loads them, and every name of theirs may be good.
    plugins: Option<Arc<PluginHost>>,
    /// Embedders made so far, by `provider/model`.
    embedders: Mutex<HashMap<String, Arc<dyn Embedder>>>,
}

/// What makes two providers the same one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Identity {
    /// A provider of `runtime.toml`, or `demo`.
    Named(String),
    /// A model table's: its address, the variable of its key, and its dialect.
    Table(String, Option<String>, String),
}

impl Models {
    /// The models of this configuration. All providers share one set of connections.
    #[must_use]
    pub fn new(root: &Path, config: &RuntimeConfig, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self {
            root: root.to_path_buf(),
            names: config.models.clone(),
            providers: config.providers.iter().map(|one| (one.name.clone(), one.clone())).collect(),
            http: HttpClient::new(ClientOptions::new(clock, ids)),
            made: Mutex::default(),
            plugins: None,
            embedders: Mutex::default(),
        }
    }

    /// With the models and embedders of plugins.
    #[must_use]
    pub fn with_plugins(self, plugins: Option<Arc<PluginHost>>) -> Self {
        Self { plugins, ..self }
    }

    /// An embedder of a plugin: `acme:small`.
    ///
    /// # Errors
    /// [`NameFault`] says why it is not there.
    pub fn embedder_of_plugin(&self, name: &str) -> Result<BoundEmbedder, NameFault> {
        let (key, id) = name.split_once(':').unwrap_or((name, ""));
        let Some(plugins) = &self.plugins else {
            return Ok(BoundEmbedder { embedder: Arc::new(HashEmbedder), notice: None });
        };
        let found = plugins.get(key).and_then(|plugin| embedder_of_plugin(&plugin, id));
        match found {
            Some(embedder) => Ok(BoundEmbedder { embedder, notice: None }),
            None => Err(plugins.fault("embedder", name)),
        }
    }

    /// A model of a plugin: `acme:large`.
    fn of_plugin(&self, name: &str) -> Option<Result<BoundModel, NameFault>> {
        let (key, model) = name.split_once(':').filter(|_| !name.contains('/'))?;
        let Some(plugins) = &self.plugins else { return Some(Ok(not_asked(name, model))) };
        let found = plugins.get(key).and_then(|plugin| provider_of_plugin(&plugin, model));
        Some(match found {
            Some(provider) => Ok(BoundModel { name: name.to_owned(), provider, model: model.to_owned() }),
            None => Err(plugins.fault("model", name)),
        })
    }

    fn named(&self, name: &str) -> Result<BoundModel, NameFault> {
        if let Some(bound) = self.of_plugin(name) {
            return bound;
        }
        let resolved = self.names.resolve(name).map_err(unknown)?;
        let shown = self.names.shown(name, &resolved);
        let ResolvedModel { provider, model, of_plugin } = resolved.clone();
        if of_plugin && let Some(bound) = self.of_plugin(&resolved.to_string()) {
            return bound;
        }
        let made = self.make(Identity::Named(provider.clone()), || match self.providers.get(&provider) {
            Some(config) => provider::build(of_runtime(config, &self.root)?, &self.http).map_err(fault),
            None => Ok(Arc::new(DemoProvider::new())),
        })?;
        Ok(BoundModel { name: shown, provider: made, model })
    }

    fn table(&self, table: &ModelTable) -> Result<BoundModel, NameFault> {
        let host = host_of(&table.base_url);
        let identity = Identity::Table(table.base_url.clone(), table.api_key_env.clone(), table.dialect.clone());
        let made = self.make(identity, || {
            let mut config = provider::ProviderConfig::new(host, dialect(&table.dialect)?, table.base_url.clone());
            config.key = match &table.api_key_env {
                None => Key::None,
                Some(variable) => match environment::variable(variable) {
                    Some(key) => Key::Value(key),
                    None => Key::Missing { variable: variable.clone() },
                },
            };
            provider::build(config, &self.http).map_err(fault)
        })?;
        Ok(BoundModel { name: format!("{host}/{}", table.id), provider: made, model: table.id.clone() })
    }

    /// The embedder that `provider/model` means, one for all agents that name it. Connects to nothing.
    ///
    /// # Errors
    /// [`NameFault`] with what was probably meant.
    pub fn embedder(&self, name: &str) -> Result<BoundEmbedder, NameFault> {
        if name.split_once('/').is_some_and(|(provider, _)| provider == DEMO) {
            return Err(no_vectors(name));
        }
        let ResolvedModel { provider, model, of_plugin } = self.names.resolve(name).map_err(unknown)?;
        let config = self.providers.get(&provider).filter(|_| !of_plugin).ok_or_else(|| no_vectors(name))?;
        if !dialect(&config.dialect)?.makes_vectors() {
            return Err(makes_none(name, &config.dialect));
        }
        let notice = match &config.key {
            ProviderKey::Missing { variable } => Some(unset(variable)),
            ProviderKey::None | ProviderKey::Set(_) => None,
        };
        let mut made = self.embedders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(embedder) = made.get(name) {
            return Ok(BoundEmbedder { embedder: Arc::clone(embedder), notice });
        }
        let embedder = embeddings::build(EmbeddingsConfig::new(of_runtime(config, &self.root)?, model), &self.http)
            .map_err(fault)?;
        made.insert(name.to_owned(), Arc::clone(&embedder));
        Ok(BoundEmbedder { embedder, notice })
    }

    fn make(
        &self,
        identity: Identity,
        make: impl FnOnce() -> Result<Arc<dyn Provider>, NameFault>,
    ) -> Result<Arc<dyn Provider>, NameFault> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = made.get(&identity) {
            return Ok(Arc::clone(provider));
        }
        let provider = make()?;
        made.insert(identity, Arc::clone(&provider));
        Ok(provider)
    }
}

impl ModelSource for Models {
    fn resolve(&self, choice: &ModelChoice) -> Result<BoundModel, NameFault> {
        match choice {
            ModelChoice::Named(name) => self.named(name),
            ModelChoice::Table(table) => self.table(table),
        }
    }
}

/// A model of a plugin that nobody loaded: it is only looked at, never asked.
fn not_asked(name: &str, model: &str) -> BoundModel {
    BoundModel { name: name.to_owned(), provider: Arc::new(DemoProvider::new()), model: model.to_owned() }
}

fn unknown(fault: ModelFault) -> NameFault {
    NameFault { code: fault.code, message: fault.message, help: Some(fault.help) }
}

fn no_vectors(name: &str) -> NameFault {
    let message = format!("embedder `{name}` cannot be used: a demo model makes no vectors");
    NameFault {
        code: "unknown_embedder",
        message,
        help: Some("write embedder = \"hash\", which needs no key".to_owned()),
    }
}

fn makes_none(name: &str, dialect: &str) -> NameFault {
    NameFault {
        code: "unknown_embedder",
        message: format!("embedder `{name}` cannot be used: providers of the dialect `{dialect}` make no vectors here"),
        help: Some("name a provider of the dialect `openai`, \"local\" or \"hash\"".to_owned()),
    }
}

fn unset(variable: &str) -> NameFault {
    NameFault {
        code: EmbedErrorKind::KeyMissing.code(),
        message: format!("the variable `{variable}` of the embedder's key is not set; recall goes by words alone"),
        help: Some(format!("set {variable} before starting")),
    }
}

fn dialect(name: &str) -> Result<Dialect, NameFault> {
    Dialect::parse(name).ok_or_else(|| {
        let message = format!("no dialect is called `{name}`");
        let known = Dialect::ALL.map(|dialect| format!("`{}`", dialect.name())).join(", ");
        NameFault { code: "unknown_dialect", message, help: Some(format!("known dialects: {known}")) }
    })
}

#[expect(clippy::needless_pass_by_value, reason = "used as the function of `map_err`")]
fn fault(error: provider::ConfigError) -> NameFault {
    NameFault { code: "provider_config", message: error.to_string(), help: None }
}

/// The host and port of an address, as a name for people; never its credentials.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

#[cfg(test)]
mod tests;

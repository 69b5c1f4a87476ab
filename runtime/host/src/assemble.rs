//! From a project folder to a runtime: the one place where files, store, providers, tools and registry meet.

pub(crate) mod rehearsal;
mod root;

pub use root::{root, running_root};

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use roster_engine::definition::{Definition, ModelChoice, Problem};
use roster_engine::registry::{Candidate, Catalog, Prepared, Registry, check_names, prepare};
use roster_engine::trace::Recorder;
use roster_engine::turn::{Limits, Services};
use roster_model::housekeeping::SessionStore;
use roster_model::id::IdSource;
use roster_model::ledger::LedgerStore;
use roster_model::observation::ObservationStore;
use roster_model::storage::OperatorStore;
use roster_model::time::Clock;
use roster_storage::sqlite::{self, ObservationOptions, SqliteStore};
use roster_storage::unavailable::UnavailableStore;
use tokio::runtime::{Builder, Runtime};
use tokio_util::task::TaskTracker;

use crate::catalog::{Contributions, catalog};
use crate::clock::{RandomIds, SystemClock};
use crate::config::{AgentFile, ObservabilityConfig, ProjectFiles, RuntimeConfig, read_project};
use crate::embedders::Embedders;
use crate::error::HostError;
use crate::mcp::{Mcp, Unasked};
use crate::paths::{NOT_A_FOLDER, RUNTIME_FILE, not_a_folder};
use crate::plugins::PluginHost;
use crate::{config, environment, mcp, output, render, shutdown};

/// A project as it was read: its root, and all its files with all their problems.
pub struct Project {
    /// The root.
    pub root: PathBuf,
    /// What was read.
    pub files: ProjectFiles,
    /// The texts of the agents' files, for showing places; filled when the agents are taken out of `files`.
    texts: HashMap<String, Arc<str>>,
}

/// Finds the root and reads every file once. What is wrong with the files is among them, not an error.
///
/// # Errors
/// [`HostError`] when no root can be settled on.
pub fn read(asked: Option<&Path>) -> Result<Project, HostError> {
    let root = root(asked)?;
    let files = read_project(&root, &environment::variable);
    Ok(Project { root, files, texts: HashMap::new() })
}

/// Finds the root and reads `config/runtime.toml` alone, for a runtime that reads the rest itself, and goes on reading.
///
/// # Errors
/// As [`read`].
pub fn read_config(asked: Option<&Path>) -> Result<Project, HostError> {
    let root = root(asked)?;
    let files = config::read_config(&root, &environment::variable);
    Ok(Project { root, files, texts: HashMap::new() })
}

impl Project {
    /// The configuration.
    ///
    /// # Errors
    /// [`HostError::Configuration`] with every problem of `runtime.toml` when it cannot be used.
    pub fn config(&self) -> Result<&RuntimeConfig, HostError> {
        self.files.runtime.as_ref().ok_or_else(|| {
            let of_runtime = |problem: &&Problem| problem.file == RUNTIME_FILE;
            let problems: Vec<Problem> = self.files.problems.iter().filter(of_runtime).cloned().collect();
            HostError::Configuration { rendered: self.rendered(&problems), problems }
        })
    }

    /// The text of a file that a problem points into.
    #[must_use]
    pub fn source(&self, file: &str) -> Option<&str> {
        self.texts.get(file).map(AsRef::as_ref).or_else(|| self.files.source(file))
    }

    /// Takes the agents out, to be resolved or assembled.
    fn candidates(&mut self) -> Vec<Candidate> {
        let agents = std::mem::take(&mut self.files.agents);
        let mut candidates = Vec::with_capacity(agents.len());
        for agent in agents {
            let AgentFile { id, file, definition, positions, problems } = agent;
            // An agent whose file was not read may name the registry as its file, and has no text.
            if !positions.source.is_empty() {
                self.texts.insert(file.clone(), Arc::clone(&positions.source));
            }
            let candidate = Candidate::new(id, file, definition.map(Arc::new), Arc::new(positions));
            candidates.push(Candidate { problems, ..candidate });
        }
        candidates
    }

    /// Problems as a person reads them on stderr.
    #[must_use]
    pub fn rendered(&self, problems: &[Problem]) -> String {
        render::to_text(problems, &|file| self.source(file), output::stderr_style())
    }
}

/// Every problem of every file, names included. Opens no store, calls no factory, connects to nothing.
///
/// # Errors
/// [`HostError::Internal`] when the means to look names up cannot be made.
pub fn all_problems(project: &mut Project) -> Result<Vec<Problem>, HostError> {
    let mut problems = project.files.all_problems();
    // Without a configuration no name of a model means anything; its own problems are listed.
    if let Some(config) = &project.files.runtime {
        let catalog = catalog_without_store(&project.root, config)?;
        let candidates = project.candidates();
        problems.extend(check_names(&catalog, &candidates));
        problems.extend(candidates.iter().flat_map(missing_keys));
        render::sort(&mut problems);
    }
    Ok(problems)
}

/// The agents as they would be served, assembled over a store that is never asked.
///
/// # Errors
/// [`HostError`] when `runtime.toml` cannot be used.
pub fn preview(project: &mut Project) -> Result<Prepared, HostError> {
    let catalog = catalog_without_store(&project.root, project.config()?)?;
    Ok(prepared(project, &catalog, &Registry::default()))
}

/// Whether this name means a model.
///
/// # Errors
/// [`HostError::Environment`] with what was probably meant.
pub fn check_model(project: &Project, name: &str) -> Result<(), HostError> {
    let catalog = catalog_without_store(&project.root, project.config()?)?;
    match catalog.models.resolve(&ModelChoice::Named(name.to_owned())) {
        Ok(_) => Ok(()),
        Err(fault) => {
            let error = HostError::environment(fault.message);
            Err(fault.help.into_iter().fold(error, HostError::hint))
        }
    }
}

fn catalog_without_store(root: &Path, config: &RuntimeConfig) -> Result<Catalog, HostError> {
    let store = Arc::new(UnavailableStore::new("the store is not opened while checking"));
    let (clock, ids, embedders) = (Arc::new(SystemClock), Arc::new(RandomIds), Arc::new(Embedders::new(root)));
    let plugins = Contributions::unasked(config, Arc::new(Unasked::of(config)));
    catalog(root, config, store, clock, ids, embedders, plugins)
}

/// A warning for each model table whose variable is not set; those of `runtime.toml` are found with the file.
fn missing_keys(candidate: &Candidate) -> Vec<Problem> {
    let of = |definition: &Arc<Definition>| {
        config::project::agents::missing_keys(definition, &candidate.positions, &environment::variable)
    };
    candidate.definition.as_ref().map(of).unwrap_or_default()
}

fn prepared(project: &mut Project, catalog: &Catalog, registry: &Registry) -> Prepared {
    let mut candidates = project.candidates();
    for candidate in &mut candidates {
        let missing = missing_keys(candidate);
        candidate.problems.extend(missing);
    }
    prepare(catalog, &registry.snapshot(), candidates, std::mem::take(&mut project.files.problems))
}

/// A runtime assembled: everything but its listeners.
pub struct Assembly {
    /// The project's root.
    pub(crate) root: PathBuf,
    /// The agents.
    pub registry: Arc<Registry>,
    /// Clock, ids, limits, and the tracker of every task.
    pub services: Arc<Services>,
    /// The sessions store; the agents' memories hold the same one.
    pub store: Arc<dyn SessionStore>,
    /// The embedders of the process; what is reloaded keeps them.
    pub(crate) embedders: Arc<Embedders>,
    /// MCP servers, whose tools the agents use; none is started before they are applied.
    pub(crate) mcp: Mcp,
    /// The plugins; none is loaded before they are applied.
    pub(crate) plugins: Arc<PluginHost>,
    /// The same store as the operator sees it.
    pub operator: Arc<dyn OperatorStore>,
    /// The same store once more, for closing it; `None` while it cannot be used.
    pub(crate) sessions: Option<Arc<SqliteStore>>,
}

/// Opens the store, starts the MCP servers that `agent` may use, makes the catalog and publishes the registry of the
/// files as they were read.
///
/// # Errors
/// As [`open`].
pub async fn assemble(project: &mut Project, agent: &str) -> Result<Assembly, HostError> {
    let assembly = open(project)?;
    populate(&assembly, project, agent, |catalog| catalog).await?;
    Ok(assembly)
}

/// Starts what `agent` may use and publishes the registry over the catalog as `change` leaves it.
async fn populate(
    assembly: &Assembly,
    project: &mut Project,
    agent: &str,
    change: impl FnOnce(Catalog) -> Catalog,
) -> Result<(), HostError> {
    let servers = mcp::used_by(agent, &project.files.agents, &project.config()?.mcp);
    assembly.mcp.apply(&servers);
    assembly.mcp.servers.settled(mcp::SETTLE).await;
    assembly.plugins.apply(&project.config()?.plugins);
    assembly.plugins.settle();
    assembly.export(project.config()?);
    let catalog = change(assembly.catalog(project.config()?)?);
    assembly.registry.publish(prepared(project, &catalog, &assembly.registry));
    Ok(())
}

/// Opens the store. Nothing is registered yet.
///
/// # Errors
/// [`HostError`] when `runtime.toml` cannot be used, or the sessions database is not this runtime's to write. A
/// damaged one is no error: the runtime serves degraded.
pub fn open(project: &Project) -> Result<Assembly, HostError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let ids: Arc<dyn IdSource> = Arc::new(RandomIds);
    let config = project.config()?;
    let limits = limits(config);
    let sessions = open_sessions(&project.root.join(&config.storage.sessions), &clock)?;
    let (store, operator) = sockets(&sessions);
    let registry = Arc::new(Registry::default());
    let mut services = Services::new(Arc::clone(&clock), ids, limits);
    services.recall.cache.set_budget(config.limits.vector_cache);
    // A tracker of its own: shutdown waits for the turns first, then for what they gave the recorder.
    services = services.recording(Arc::new(recorder(project, clock, &TaskTracker::new())?));
    let (services, embedders) = (Arc::new(services), Arc::new(Embedders::new(&project.root)));
    let mcp = Mcp::new(&project.root, &services)?;
    let root = project.root.clone();
    let plugins = PluginHost::new(&project.root, &config.plugins, Arc::clone(&services.clock), &registry)?;
    let plugins = Arc::new(plugins);
    Ok(Assembly { root, registry, services, store, embedders, mcp, plugins, operator, sessions: sessions.ok() })
}

/// Where turns are observed. A file that cannot be used is told once; the runtime serves without.
fn recorder(project: &Project, clock: Arc<dyn Clock>, tracker: &TaskTracker) -> Result<Recorder, HostError> {
    let config = project.config()?;
    let path = project.root.join(&config.storage.observability);
    let ObservabilityConfig { retention, max_size, sample, .. } = config.observability;
    let store = match sqlite::open_observations(&path, ObservationOptions { retention, max_size, clock }) {
        Ok(store) => Some(Arc::new(store) as Arc<dyn ObservationStore>),
        Err(error) => {
            let (reason, hint) = told_of(&path, &error);
            tracing::warn!(hint, "serving without traces: observability database {reason}");
            None
        }
    };
    Ok(Recorder::start(store, tracker, sample))
}

/// The bounds of all turns together.
#[must_use]
pub(crate) fn limits(config: &RuntimeConfig) -> Limits {
    let config::Limits { turn_timeout, concurrent_turns, tool_result, .. } = config.limits;
    Limits { turn_timeout, concurrent_turns, tool_result }
}

/// The store, or why it cannot be used.
type Sessions = Result<Arc<SqliteStore>, UnavailableStore>;

fn sockets(sessions: &Sessions) -> (Arc<dyn SessionStore>, Arc<dyn OperatorStore>) {
    match sessions {
        Ok(store) => (Arc::clone(store) as _, Arc::clone(store) as _),
        Err(unavailable) => (Arc::new(unavailable.clone()), Arc::new(unavailable.clone())),
    }
}

/// The one caller of the one function that opens the store.
fn open_sessions(path: &Path, clock: &Arc<dyn Clock>) -> Result<Sessions, HostError> {
    match sqlite::open(path, &sqlite::Options::new(Arc::clone(clock))) {
        Ok(store) => Ok(Ok(Arc::new(store))),
        Err(error) if error.kind().serves_degraded() => {
            let (reason, hint) = told(&error);
            tracing::error!(hint, "sessions database unusable, serving degraded: {reason}");
            Ok(Err(UnavailableStore::new(reason)))
        }
        Err(error) => {
            let (message, hint) = told_of(path, &error);
            let error = HostError::environment(format!("sessions database {message}"));
            Err(hint.into_iter().fold(error, HostError::hint))
        }
    }
}

/// The same of a database at `path`, also where the store has no words for what stands in its folder's place.
pub(crate) fn told_of(path: &Path, error: &dyn std::error::Error) -> (String, Option<String>) {
    match (told(error), not_a_folder(path)) {
        // What the system says of it differs with who asks; this is what it comes to.
        ((_, None), Some(blocking)) => {
            (format!("{error}: `{}` is no folder", blocking.display()), Some(NOT_A_FOLDER.to_owned()))
        }
        (told, _) => told,
    }
}

/// The message with its causes, and what to do, which the store writes on a line of its own.
pub(crate) fn told(error: &dyn std::error::Error) -> (String, Option<String>) {
    let whole = error.to_string();
    let (mut message, hint) = match whole.split_once("\nhint: ") {
        Some((message, hint)) => (message.to_owned(), Some(hint.to_owned())),
        None => (whole, None),
    };
    let mut cause = error.source();
    while let Some(inner) = cause {
        message = format!("{message}: {inner}");
        cause = inner.source();
    }
    (message, hint)
}

impl Assembly {
    /// What names stand for in this configuration.
    ///
    /// # Errors
    /// [`HostError::Internal`] when no HTTP client can be made at all.
    pub fn catalog(&self, config: &RuntimeConfig) -> Result<Catalog, HostError> {
        let Services { clock, ids, .. } = &*self.services;
        let (store, embedders) = (Arc::clone(&self.store), Arc::clone(&self.embedders));
        let servers = Arc::clone(&self.mcp.servers) as _;
        let plugins = Contributions::of(&self.plugins, config, servers);
        catalog(&self.root, config, store, Arc::clone(clock), Arc::clone(ids), embedders, plugins)
    }

    /// Where versions of definitions are kept; `None` while the store cannot be used.
    #[must_use]
    pub fn ledger(&self) -> Option<Arc<dyn LedgerStore>> {
        self.sessions.as_ref().map(|sessions| Arc::clone(sessions) as _)
    }

    /// Spans go to these exporters as well from now on.
    pub fn export(&self, config: &RuntimeConfig) {
        let Some(recorder) = &self.services.recorder else { return };
        recorder.set_exporters(self.plugins.exporters(&config.observability.exporters));
    }

    /// Lets turns end, at most for [`shutdown::WIND_UP`], and closes the store.
    pub async fn close(self) {
        self.services.draining.cancel();
        self.services.tracker.close();
        if tokio::time::timeout(shutdown::WIND_UP, self.services.tracker.wait()).await.is_err() {
            self.services.stop.cancel();
            let _ = tokio::time::timeout(shutdown::WIND_UP, self.services.tracker.wait()).await;
        }
        self.close_store().await;
    }

    /// Closes the store: what was acknowledged is already durable, this tidies up behind it.
    pub async fn close_store(&self) {
        if let Some(recorder) = &self.services.recorder {
            let flushed = async { tokio::join!(recorder.flush(), recorder.flush_exports()) };
            let _ = tokio::time::timeout(shutdown::WIND_UP, flushed).await;
        }
        self.plugins.plugins.close(shutdown::WIND_UP).await;
        if let Some(sessions) = &self.sessions {
            sessions.close().await;
        }
    }
}

/// Most workers: what a turn costs is waiting, and the store has threads of its own.
const MOST_WORKERS: usize = 8;

/// The tokio runtime of a process: a worker for each core, at least two.
///
/// # Errors
/// [`HostError::Internal`] when the system gives no threads.
pub fn runtime() -> Result<Runtime, HostError> {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    Builder::new_multi_thread()
        .worker_threads(cores.clamp(2, MOST_WORKERS))
        .enable_all()
        .build()
        .map_err(|error| HostError::Internal(format!("no threads: {error}")))
}

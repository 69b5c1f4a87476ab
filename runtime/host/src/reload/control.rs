//! Starting the reload thread, and the handle that everybody else has of it.

use std::path::PathBuf;
use std::sync::Arc;

use roster_engine::registry::{AdminEvent, Catalog, Control, ControlError, Registry, Snapshot};
use roster_engine::turn::Services;
use roster_model::BoxFuture;
use roster_model::id::AgentId;
use roster_model::ledger::{LedgerEntry, LedgerStore};
use roster_model::storage::StoreErrorKind;
use roster_plugin::counters::counted;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{broadcast, oneshot};
use tokio::time::Instant;

use super::after::After;
use super::candidates::Past;
use super::inbox::{Inbox, Pin, Trigger};
use super::past::Ledger;
use super::pin::no_ledger;
use super::publish::START;
use super::reloader::{Places, Reloader, Times};
use super::report::Report;
use super::world::World;
use crate::config::RuntimeConfig;
use crate::error::HostError;
use crate::log::LogFormat;
use crate::plugins::PluginHost;
use crate::watch::Watch;

/// Events an operator's page may be behind before it loses the oldest.
const EVENTS: usize = 256;

/// Makes what names can stand for from a configuration, or says why not.
pub type MakeCatalog = Box<dyn Fn(&RuntimeConfig) -> Result<Catalog, String> + Send>;
/// Puts the parts of a configuration into effect that are not names: doors, limits. Or says why not, and changes
/// nothing.
pub type Apply = Box<dyn Fn(&RuntimeConfig) -> Result<(), String> + Send>;

/// What reloading needs of the rest of the runtime.
pub struct Start {
    /// The project's root.
    pub root: PathBuf,
    /// The configuration the process was started with.
    pub config: RuntimeConfig,
    /// Asks for environment variables.
    pub variables: fn(&str) -> Option<String>,
    /// What is served; published to by nobody else.
    pub registry: Arc<Registry>,
    /// Clock, metrics, the tracker of tasks; its `draining` ends reloading.
    pub services: Arc<Services>,
    /// Where versions are kept; `None` while the sessions store cannot be used.
    pub ledger: Option<Arc<dyn LedgerStore>>,
    /// Makes catalogs.
    pub catalog: MakeCatalog,
    /// Puts configurations into effect.
    pub apply: Apply,
    /// How problems are told on stderr.
    pub format: LogFormat,
    /// A fresh id for this run of the process.
    pub run: String,
    /// The plugins, for operators.
    pub plugins: Arc<PluginHost>,
}

/// The running reloading. Dropping it does not end it: `services.draining` does.
pub struct Reload {
    inbox: Arc<Inbox>,
    registry: Arc<Registry>,
    events: broadcast::Sender<AdminEvent>,
    ledger: Option<Arc<dyn LedgerStore>>,
    pub(super) plugins: Arc<PluginHost>,
}

/// Starts watching, reads every file and publishes the first registry; from then on changes are noticed. Returns when
/// the first registry is published.
///
/// # Errors
/// [`HostError::Internal`] when no thread or no catalog can be made.
pub async fn start(parts: Start) -> Result<Arc<Reload>, HostError> {
    let inbox = Arc::new(Inbox::default());
    let (events, _) = broadcast::channel(EVENTS);
    let reload = Reload {
        inbox: Arc::clone(&inbox),
        registry: Arc::clone(&parts.registry),
        events: events.clone(),
        ledger: parts.ledger.clone(),
        plugins: Arc::clone(&parts.plugins),
    };
    let services = Arc::clone(&parts.services);
    let after = Arc::new(After::default());
    let catalog = (parts.catalog)(&parts.config).map_err(HostError::Internal)?;
    let reloader = reloader(parts, Arc::clone(&inbox), events, Arc::clone(&after), catalog);
    let (first, published) = oneshot::channel();
    let (end, ended) = oneshot::channel();
    run(reloader, first, end)?;
    if let Some(ledger) = &reload.ledger {
        let writing = after.write(Arc::clone(ledger), Arc::clone(&inbox), services.draining.clone());
        services.tracker.spawn(writing);
    }
    let draining = services.draining.clone();
    services.tracker.spawn(async move {
        draining.cancelled().await;
        inbox.close();
        // The thread drops its end when it is over.
        drop(ended.await);
    });
    published.await.map_err(|_| HostError::Internal("the reload thread ended".to_owned()))?;
    Ok(Arc::new(reload))
}

fn reloader(
    parts: Start,
    inbox: Arc<Inbox>,
    events: broadcast::Sender<AdminEvent>,
    after: Arc<After>,
    catalog: Catalog,
) -> Reloader {
    Reloader {
        world: World::new(&parts.root, parts.variables, parts.config.clone()),
        inbox,
        registry: parts.registry,
        services: parts.services,
        catalog,
        make_catalog: parts.catalog,
        apply: parts.apply,
        applied: Arc::new(parts.config),
        not_applied: None,
        past: Past::default(),
        ledger: Ledger::new(parts.ledger, Handle::current()),
        after,
        unwritten: None,
        events,
        format: parts.format,
        run: parts.run,
        watch: Watch::none(),
        unwatched: None,
        times: Times::new(Instant::now()),
        cause: None,
        waiting: Vec::new(),
        late: Vec::new(),
        places: Places::default(),
    }
}

/// The thread. Reading files blocks, and waiting for quiet files takes its time: it must not hold a worker.
fn run(mut reloader: Reloader, first: oneshot::Sender<()>, end: oneshot::Sender<()>) -> Result<(), HostError> {
    let handle = Handle::current();
    let body = move || {
        let _inside = handle.enter();
        // Ends with the thread, however that comes about.
        let _end = end;
        let now = Instant::now();
        // Before reading: what changes in between is not missed.
        reloader.rearm(true);
        reloader.world.read_all(now, true);
        reloader.rearm(true);
        reloader.reload(START, now, false);
        reloader.rescue(now);
        // Who started may have given up.
        let _ = first.send(());
        reloader.run();
    };
    let made = std::thread::Builder::new().name("roster-reload".to_owned()).spawn(body);
    made.map(drop).map_err(|error| HostError::Internal(format!("no thread: {error}")))
}

impl Reload {
    /// Files are to be read again: a signal said so.
    pub fn signal(&self) {
        self.inbox.push(Trigger::Signal);
    }

    /// Servers came or went, or have other tools: agents that use them are assembled anew.
    pub fn tools_changed(&self) {
        self.inbox.push(Trigger::Tools);
    }

    /// Reads everything again and tells what came of it.
    ///
    /// # Errors
    /// [`ControlError::Stopping`].
    pub async fn reload_now(&self) -> Result<Report, ControlError> {
        let (reply, answer) = oneshot::channel();
        self.inbox.push(Trigger::Request(reply));
        answer.await.map_err(|_| ControlError::Stopping)?
    }

    /// How things are, without reading anything.
    ///
    /// # Errors
    /// [`ControlError::Stopping`].
    pub async fn report(&self) -> Result<Report, ControlError> {
        let (reply, answer) = oneshot::channel();
        self.inbox.push(Trigger::Ask(reply));
        answer.await.map_err(|_| ControlError::Stopping)?
    }

    /// The registry that is served.
    #[must_use]
    pub fn registry(&self) -> Arc<Snapshot> {
        self.registry.snapshot()
    }

    fn ledger(&self) -> Result<&Arc<dyn LedgerStore>, ControlError> {
        self.ledger.as_ref().ok_or_else(no_ledger)
    }

    async fn pin_now(&self, agent: &AgentId, fingerprint: Option<String>) -> Result<Arc<Snapshot>, ControlError> {
        // A pin can be lifted while the agent has no line: it would come back with the line.
        if fingerprint.is_some() && self.registry.snapshot().entry(agent).is_none() {
            return Err(ControlError::UnknownAgent(agent.clone()));
        }
        let ledger = self.ledger()?;
        let version = match fingerprint {
            None => None,
            Some(fingerprint) => match ledger.version(agent, &fingerprint).await {
                Ok(Some(version)) => Some(version),
                Ok(None) => return Err(ControlError::UnknownVersion { agent: agent.clone(), fingerprint }),
                Err(error) if matches!(error.kind, StoreErrorKind::Invalid | StoreErrorKind::NotFound) => {
                    return Err(ControlError::UnknownVersion { agent: agent.clone(), fingerprint });
                }
                Err(error) => return Err(ControlError::Ledger(error)),
            },
        };
        let (reply, answer) = oneshot::channel();
        self.inbox.push(Trigger::Pin(Pin { agent: agent.clone(), version, reply }));
        answer.await.map_err(|_| ControlError::Stopping)?
    }
}

impl Control for Reload {
    fn reload(&self) -> BoxFuture<'_, Result<Arc<Snapshot>, ControlError>> {
        Box::pin(async { Ok(self.reload_now().await?.snapshot) })
    }

    fn events(&self) -> broadcast::Receiver<AdminEvent> {
        self.events.subscribe()
    }

    fn history<'a>(
        &'a self,
        agent: &'a AgentId,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<LedgerEntry>, ControlError>> {
        Box::pin(async move {
            let entries = self.ledger()?.history(agent, limit).await.map_err(ControlError::Ledger)?;
            // An agent that was removed still has its history.
            if entries.is_empty() && self.registry.snapshot().entry(agent).is_none() {
                return Err(ControlError::UnknownAgent(agent.clone()));
            }
            Ok(entries)
        })
    }

    fn pin<'a>(
        &'a self,
        agent: &'a AgentId,
        fingerprint: Option<String>,
    ) -> BoxFuture<'a, Result<Arc<Snapshot>, ControlError>> {
        Box::pin(self.pin_now(agent, fingerprint))
    }

    fn plugins(&self) -> Value {
        json!(self.plugin_status())
    }

    fn reload_plugin<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Value, ControlError>> {
        Box::pin(self.plugin_reload(key))
    }

    fn plugin_metrics(&self) -> String {
        counted(&self.plugins.plugins.all())
    }
}

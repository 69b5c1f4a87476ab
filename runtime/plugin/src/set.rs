//! All plugins of the configuration: loading, watching their files, replacing.

mod watch;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use roster_model::time::Clock;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::asks::{Fetch, Kv};
use crate::plugin::{LoadOutcome, Plugin, PluginStatus};
use crate::refusal::{Refusal, RefusalKind};
use crate::settings::Settings;
use crate::stage::Cache;
use watch::Watched;

/// A contribution that agents use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    /// `tool`, `memory_factory` …
    pub kind: &'static str,
    /// The contribution's id.
    pub id: String,
    /// Who uses it.
    pub agents: Vec<String>,
}

/// Which contributions of a plugin agents use now.
pub type InUse = Box<dyn Fn(&str) -> Vec<Used> + Send + Sync>;

/// Gives a secret by the name of its variable.
pub type Secrets = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What plugins are put into.
pub(crate) struct Around {
    pub(crate) cache: Cache,
    /// What runs a plugin's own process.
    pub(crate) child: (PathBuf, Vec<OsString>),
    pub(crate) runtime: Handle,
    pub(crate) tasks: TaskTracker,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) in_use: InUse,
    pub(crate) kv: Kv,
    pub(crate) fetch: Arc<dyn Fetch>,
    pub(crate) secrets: Secrets,
}

/// What the host gives the plugins.
pub struct Parts {
    /// Where copies are kept: private, not for people.
    pub cache: PathBuf,
    /// The program that runs a plugin's own process, with its arguments: it does nothing but [`crate::child::run`].
    pub child: (PathBuf, Vec<OsString>),
    /// What waits for calls runs here.
    pub runtime: Handle,
    /// Where the plugins' own values are kept.
    pub kv: PathBuf,
    /// Asks the network for plugins that may.
    pub fetch: Arc<dyn Fetch>,
    /// Asks for secrets by the names of their variables.
    pub secrets: Secrets,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Which contributions agents use.
    pub in_use: InUse,
    /// Told, from any thread, when what plugins contribute or their problems are others than before.
    pub changed: Box<dyn Fn() + Send + Sync>,
}

impl Around {
    pub(crate) fn new(parts: Parts) -> Result<Self, Refusal> {
        Ok(Self {
            cache: Cache::new(&parts.cache),
            child: parts.child,
            runtime: parts.runtime,
            tasks: TaskTracker::new(),
            clock: parts.clock,
            in_use: parts.in_use,
            kv: Kv::open(&parts.kv)?,
            fetch: parts.fetch,
            secrets: parts.secrets,
        })
    }
}

/// All plugins of one runtime.
pub struct Plugins {
    shared: Arc<Shared>,
    watcher: Mutex<Option<JoinHandle<()>>>,
}

pub(crate) struct Shared {
    around: Arc<Around>,
    state: Mutex<State>,
    /// Told when something is loaded, and when it is over.
    moved: Condvar,
    changed: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct State {
    plugins: BTreeMap<String, Entry>,
    closed: bool,
}

struct Entry {
    plugin: Arc<Plugin>,
    /// The newest settings, served or not.
    wanted: Arc<Settings>,
    watched: Watched,
    /// Loads under way.
    loads: usize,
}

/// Between two looks at the files.
const LOOK: Duration = Duration::from_millis(200);

impl Plugins {
    /// No plugins yet; watches what will be there.
    ///
    /// # Errors
    /// [`RefusalKind::System`].
    pub fn new(parts: Parts) -> Result<Self, Refusal> {
        let (changed, parts) = (parts.changed, Parts { changed: Box::new(|| {}), ..parts });
        let around = Around::new(parts)?;
        let shared =
            Arc::new(Shared { around: Arc::new(around), state: Mutex::default(), moved: Condvar::new(), changed });
        let watching = Arc::clone(&shared);
        let watcher = std::thread::Builder::new()
            .name("plugins".to_owned())
            .spawn(move || watching.watch())
            .map_err(|error| Refusal::system("no thread", &error))?;
        Ok(Self { shared, watcher: Mutex::new(Some(watcher)) })
    }

    /// These are the plugins from now on: new ones and changed ones are loaded, others are let go. Gives at once; see
    /// [`Plugins::settle`].
    pub fn configure(&self, wanted: Vec<Settings>) {
        let mut state = self.shared.lock();
        let gone: Vec<String> =
            state.plugins.keys().filter(|key| !wanted.iter().any(|one| one.key == **key)).cloned().collect();
        let fewer = !gone.is_empty();
        for key in gone {
            if let Some(entry) = state.plugins.remove(&key) {
                entry.plugin.let_go();
            }
        }
        for settings in wanted {
            let known = state.plugins.get(&settings.key).is_some_and(|entry| *entry.wanted == settings);
            if known {
                continue;
            }
            let settings = Arc::new(settings);
            let around = &self.shared.around;
            let entry = state.plugins.entry(settings.key.clone()).or_insert_with(|| Entry {
                plugin: Plugin::new((*settings).clone(), Arc::clone(around)),
                wanted: Arc::clone(&settings),
                watched: Watched::default(),
                loads: 0,
            });
            entry.wanted = Arc::clone(&settings);
            entry.watched.look(&settings);
            self.shared.load(entry);
        }
        drop(state);
        if fewer {
            (self.shared.changed)();
        }
    }

    /// Waits until nothing is being loaded, at most so long. Blocks.
    pub fn settle(&self, within: Duration) {
        let state = self.shared.lock();
        let busy = |state: &mut State| state.plugins.values().any(|entry| entry.loads > 0);
        drop(self.shared.moved.wait_timeout_while(state, within, busy).unwrap_or_else(PoisonError::into_inner));
    }

    /// A plugin by its key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Arc<Plugin>> {
        self.shared.lock().plugins.get(key).map(|entry| Arc::clone(&entry.plugin))
    }

    /// All of them, by key.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Plugin>> {
        self.shared.lock().plugins.values().map(|entry| Arc::clone(&entry.plugin)).collect()
    }

    /// How they stand.
    #[must_use]
    pub fn status(&self) -> Vec<PluginStatus> {
        self.all().iter().map(Plugin::status).collect()
    }

    /// Loads the file of a plugin again, also when it is the same. Blocks.
    ///
    /// # Errors
    /// [`Refusal`]; what served goes on serving.
    pub fn reload(&self, key: &str) -> Result<LoadOutcome, Refusal> {
        let (plugin, wanted) = self.entry(key)?;
        let outcome = plugin.load(&wanted, true);
        (self.shared.changed)();
        outcome
    }

    /// Lets the library serve that served before, or the one whose hash begins so. The file is taken up again when it
    /// changes. Blocks.
    ///
    /// # Errors
    /// [`Refusal`]; what serves goes on serving.
    pub fn rollback(&self, key: &str, sha256: Option<&str>) -> Result<LoadOutcome, Refusal> {
        let (plugin, _) = self.entry(key)?;
        let now = plugin.generation().map(|generation| generation.sha256.clone());
        let kept = self.shared.around.cache.kept(key);
        let meant = |hash: &str| sha256.map_or(Some(hash) != now.as_deref(), |wanted| hash.starts_with(wanted));
        let Some((_, hash)) = kept.into_iter().rev().find(|(_, hash)| meant(hash)) else {
            let begins = sha256.map(|wanted| format!(" whose SHA-256 begins with `{wanted}`")).unwrap_or_default();
            let message = format!("has no other library{begins} that was kept to go back to");
            return Err(Refusal::new(RefusalKind::Missing, message, "`roster plugins list` shows what is kept"));
        };
        let outcome = plugin.go_back(&hash);
        (self.shared.changed)();
        outcome
    }

    fn entry(&self, key: &str) -> Result<(Arc<Plugin>, Arc<Settings>), Refusal> {
        let state = self.shared.lock();
        state.plugins.get(key).map(|entry| (Arc::clone(&entry.plugin), Arc::clone(&entry.wanted))).ok_or_else(|| {
            let known: Vec<&str> = state.plugins.keys().map(String::as_str).collect();
            let help =
                format!("known plugins: {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") });
            Refusal::new(RefusalKind::Missing, format!("is not in config/runtime.toml: `{key}`"), help)
        })
    }

    /// Lets everything go: calls are cancelled, instances ended, processes stopped; at most so long.
    pub async fn close(&self, within: Duration) {
        let plugins = {
            let mut state = self.shared.lock();
            state.closed = true;
            std::mem::take(&mut state.plugins)
        };
        self.shared.moved.notify_all();
        plugins.into_values().for_each(|entry| entry.plugin.let_go());
        let tasks = &self.shared.around.tasks;
        tasks.close();
        if tokio::time::timeout(within, tasks.wait()).await.is_err() {
            tracing::warn!("some plugins did not end");
        }
        let watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(watcher);
    }
}

impl Shared {
    /// Loads what an entry wants, on a thread of its own.
    fn load(self: &Arc<Self>, entry: &mut Entry) {
        entry.loads += 1;
        let (this, plugin, wanted) = (Arc::clone(self), Arc::clone(&entry.plugin), Arc::clone(&entry.wanted));
        let key = plugin.key().to_owned();
        let body = move || {
            let before = plugin.refusal();
            let outcome = plugin.load(&wanted, false);
            let news =
                plugin.refusal() != before || matches!(outcome, Ok(LoadOutcome::Swapped { described_anew: true }));
            this.loaded(&key, &plugin);
            if news {
                (this.changed)();
            }
        };
        if let Err(error) = std::thread::Builder::new().name("plugin-load".to_owned()).spawn(body) {
            entry.loads -= 1;
            tracing::error!(%error, "no thread to load a plugin");
        }
    }

    fn loaded(&self, key: &str, plugin: &Arc<Plugin>) {
        let mut state = self.lock();
        match state.plugins.get_mut(key).filter(|entry| Arc::ptr_eq(&entry.plugin, plugin)) {
            Some(entry) => entry.loads -= 1,
            // It went from the configuration meanwhile.
            None => plugin.let_go(),
        }
        drop(state);
        self.moved.notify_all();
    }

    /// Looks at the files until it is over.
    fn watch(self: Arc<Self>) {
        let mut state = self.lock();
        while !state.closed {
            for entry in state.plugins.values_mut() {
                if entry.wanted.watch && entry.loads == 0 && entry.watched.look(&Arc::clone(&entry.wanted)) {
                    self.load(entry);
                }
            }
            state = self.moved.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

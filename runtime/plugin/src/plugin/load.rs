//! From a file to a generation that serves. Everything that may fail happens before the swap; what served before goes on
//! serving until then, and after it when something fails.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use roster_abi::contract::Description;

use super::Plugin;
use super::generation::{Backend, Generation};
use crate::asks::HostAsks;
use crate::hello::Until;
use crate::instance::Surroundings;
use crate::launch::{Launch, within};
use crate::outside::{Outside, Spawn};
use crate::preflight::{Manifest, preflight};
use crate::refusal::{Refusal, RefusalKind};
use crate::settings::{Isolation, Settings};
use crate::stage::{Source, Staged, locate, read};

/// How long a replaced instance may take to stop its own threads.
const QUIESCE: Duration = Duration::from_secs(5);

/// What came of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadOutcome {
    /// Another generation serves.
    Swapped {
        /// Whether it contributes other things, or describes them otherwise.
        described_anew: bool,
    },
    /// The library and its settings are those that serve.
    Unchanged,
}

impl Plugin {
    /// Reads the file again and lets it serve, if it is another one. Blocks; not for a worker of the runtime.
    ///
    /// # Errors
    /// [`Refusal`]; what served goes on serving.
    pub(crate) fn load(self: &Arc<Self>, settings: &Arc<Settings>, even_if_same: bool) -> Result<LoadOutcome, Refusal> {
        let source = locate(&settings.file, &settings.folders).and_then(|path| read(&path));
        self.take(settings, source, even_if_same)
    }

    /// Goes back to a library that served before.
    ///
    /// # Errors
    /// As [`Plugin::load`].
    pub(crate) fn go_back(self: &Arc<Self>, sha256: &str) -> Result<LoadOutcome, Refusal> {
        let source = self.around.cache.kept_source(&self.key, sha256);
        let outcome = self.take(&self.settings(), source, true)?;
        Ok(outcome)
    }

    fn take(
        self: &Arc<Self>,
        settings: &Arc<Settings>,
        source: Result<Source, Refusal>,
        even_if_same: bool,
    ) -> Result<LoadOutcome, Refusal> {
        let _one = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = source.and_then(|source| self.swap(settings, &source, even_if_same));
        let mut facts = self.facts();
        facts.refusal = outcome.as_ref().err().cloned();
        drop(facts);
        match &outcome {
            Ok(LoadOutcome::Unchanged) => {}
            Ok(LoadOutcome::Swapped { .. }) => self.tell_loaded(),
            Err(refusal) => {
                let serving = self.current.load().is_some();
                tracing::warn!(
                    plugin = self.key,
                    hint = refusal.help,
                    old_one_serves = serving,
                    "plugin not loaded: it {refusal}"
                );
            }
        }
        outcome
    }

    fn tell_loaded(&self) {
        let Some(generation) = self.generation() else { return };
        tracing::info!(
            plugin = self.key,
            generation = generation.number,
            id = generation.manifest.id,
            version = generation.manifest.version,
            isolation = generation.isolation().as_str(),
            "plugin serves"
        );
    }

    fn swap(
        self: &Arc<Self>,
        settings: &Arc<Settings>,
        source: &Source,
        even_if_same: bool,
    ) -> Result<LoadOutcome, Refusal> {
        let before = self.generation();
        let same =
            before.as_ref().is_some_and(|before| before.sha256 == source.sha256) && **settings == *self.settings();
        if same && !even_if_same {
            return Ok(LoadOutcome::Unchanged);
        }
        let manifest = admit(settings, source)?;
        let generation = self.make(settings, source, manifest)?;
        if let Err(refusal) = self.breaks(settings, &generation) {
            self.retire(generation, settings.drain_timeout);
            return Err(refusal);
        }
        let described_anew = before.as_ref().is_none_or(|before| before.description != generation.description);
        if let Err(error) = self.around.cache.keep(&self.key, source) {
            tracing::warn!(plugin = self.key, %error, "the library cannot be kept for going back to it");
        }
        self.settings.store(Arc::clone(settings));
        let old = self.current.swap(Some(generation));
        if let Some(old) = old {
            self.retire(old, settings.drain_timeout);
        }
        Ok(LoadOutcome::Swapped { described_anew })
    }

    /// Stages, opens, creates.
    fn make(
        self: &Arc<Self>,
        settings: &Arc<Settings>,
        source: &Source,
        manifest: Manifest,
    ) -> Result<Arc<Generation>, Refusal> {
        if isolation(settings, &manifest) == Isolation::InProcess {
            self.map_one_more(settings.max_generations)?;
        }
        let staged = Arc::new(self.around.cache.stage(&self.key, source)?);
        self.generate(settings, manifest, source.sha256.clone(), staged)
    }

    /// Another generation's code comes into this process, for ever.
    fn map_one_more(&self, most: usize) -> Result<(), Refusal> {
        let mut facts = self.facts();
        let mapped = facts.mapped;
        if mapped >= most {
            let message =
                format!("cannot be replaced: code of {mapped} generations is in the runtime's process already");
            let help = "start the runtime anew, or set isolation = \"process\", which unloads";
            return Err(Refusal::new(RefusalKind::Generations, message, help));
        }
        facts.mapped += 1;
        Ok(())
    }

    /// Opens a staged copy, or opens it again, and creates.
    pub(super) fn generate(
        self: &Arc<Self>,
        settings: &Arc<Settings>,
        manifest: Manifest,
        sha256: String,
        staged: Arc<Staged>,
    ) -> Result<Arc<Generation>, Refusal> {
        let number = {
            let mut facts = self.facts();
            facts.made += 1;
            facts.made
        };
        let asks = Arc::new(HostAsks::new(self, number, settings));
        let (backend, description) = match isolation(settings, &manifest) {
            Isolation::InProcess => self.inside(settings, &manifest, &staged, asks)?,
            Isolation::Process => self.outside(settings, &manifest, &staged, asks)?,
        };
        let parts = (manifest, sha256, description, staged);
        Ok(Generation::new(&self.key, number, parts, backend, settings.max_concurrency))
    }

    fn inside(
        &self,
        settings: &Arc<Settings>,
        manifest: &Manifest,
        staged: &Staged,
        asks: Arc<HostAsks>,
    ) -> Result<(Backend, Description), Refusal> {
        let surroundings = Surroundings { asks, output: settings.limits.output };
        let (path, manifest, settings) = (staged.path.clone(), manifest.clone(), Arc::clone(settings));
        let (instance, description) = within(settings.start_timeout, &self.key, move || {
            let launch = Launch {
                path: &path,
                manifest: &manifest,
                config: &settings.config,
                threads: settings.max_concurrency,
                key: &settings.key,
                known: false,
                schemas: true,
            };
            launch.run(surroundings)
        })?;
        Ok((Backend::Inside(instance), description))
    }

    fn outside(
        &self,
        settings: &Arc<Settings>,
        manifest: &Manifest,
        staged: &Staged,
        asks: Arc<HostAsks>,
    ) -> Result<(Backend, Description), Refusal> {
        let spawn = Spawn::new(&self.around.child, settings, staged.path.clone(), manifest, Until::Serving);
        let (outside, description) = Outside::open(spawn, settings, asks, &self.counters, &self.around.runtime)?;
        Ok((Backend::Outside(outside), description))
    }

    /// Whether agents use what the new generation does not have.
    fn breaks(&self, settings: &Settings, generation: &Generation) -> Result<(), Refusal> {
        if settings.allow_breaking {
            return Ok(());
        }
        let has = |kind: &str, id: &str| {
            generation.description.contributes.iter().any(|one| one.kind == kind && one.id == id)
        };
        let had = |kind: &str, id: &str| self.contribution(kind, id).is_some();
        let used = (self.around.in_use)(&self.key);
        let gone: Vec<String> = used
            .iter()
            .filter(|used| had(used.kind, &used.id) && !has(used.kind, &used.id))
            .map(|used| format!("`{}:{}` (agents {})", self.key, used.id, used.agents.join(", ")))
            .collect();
        if gone.is_empty() {
            return Ok(());
        }
        let message = format!("does not have any more what agents use: {}", gone.join(", "));
        let help = "take it out of those agents first, or set allow_breaking = true for this plugin";
        Err(Refusal::new(RefusalKind::Breaking, message, help))
    }

    /// Lets a generation finish its calls, and ends it. What does not end stays, and is listed.
    pub(crate) fn retire(self: &Arc<Self>, generation: Arc<Generation>, drain: Duration) {
        generation.stop_routing();
        self.facts().retiring.push(Arc::clone(&generation));
        let this = Arc::clone(self);
        let retiring = async move {
            if !generation.drained(drain).await {
                generation.cancel_all();
                if !generation.drained(this.settings().cancel_grace).await {
                    tracing::warn!(
                        plugin = this.key,
                        generation = generation.number,
                        "calls of a replaced generation do not end; it stays"
                    );
                    generation.drained(FOR_EVER).await;
                }
            }
            this.end(generation);
        };
        self.around.tasks.spawn_on(retiring, &self.around.runtime);
    }

    /// Ending blocks: it has a thread of its own, never a worker's nor the plugin's.
    fn end(self: &Arc<Self>, generation: Arc<Generation>) {
        let this = Arc::clone(self);
        let body = move || {
            let ended = generation.end(QUIESCE, &this.around.runtime);
            if ended {
                this.facts().retiring.retain(|one| !Arc::ptr_eq(one, &generation));
            }
        };
        if let Err(error) = std::thread::Builder::new().name(format!("{}-end", self.key)).spawn(body) {
            tracing::warn!(plugin = self.key, %error, "no thread to end a replaced generation; it stays");
        }
    }
}

/// Longer than any process lives.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Where it runs: never below what its author asks for.
fn isolation(settings: &Settings, manifest: &Manifest) -> Isolation {
    if manifest.wants_process() { Isolation::Process } else { settings.isolation }
}

/// Everything that can be said from the bytes and the settings.
pub(crate) fn admit(settings: &Settings, source: &Source) -> Result<Manifest, Refusal> {
    if let Some(pin) = settings.sha256.as_ref().filter(|pin| **pin != source.sha256) {
        let message = format!("has the SHA-256 {}, and {pin} is pinned: `{}`", source.sha256, source.path.display());
        let help = "put the pinned library back, or write its SHA-256 into the configuration if the change is meant";
        return Err(Refusal::new(RefusalKind::Pin, message, help));
    }
    let manifest = preflight(&source.bytes).map_err(|refusal| Refusal {
        message: format!("{} (`{}`)", refusal.message, source.path.display()),
        ..refusal
    })?;
    if isolation(settings, &manifest) == Isolation::InProcess && manifest.panics_abort() {
        let message = format!(
            "was built with panic = \"abort\": a panic in it would end the runtime (`{}`)",
            source.path.display()
        );
        let help = "build it with panic = \"unwind\", or set isolation = \"process\"";
        return Err(Refusal::new(RefusalKind::Abi, message, help));
    }
    Ok(manifest)
}

//! One plugin of the configuration: the generation that serves, and the way calls take to it.

mod generation;
mod load;
mod renew;
mod status;

pub use generation::Generation;
pub use load::LoadOutcome;
pub(crate) use load::admit;
pub use status::{ContributionStatus, CountersStatus, LibraryStatus, PluginProblem, PluginState, PluginStatus};

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use roster_abi::contract::{CallContext, Contribution};
use tokio::time::{Instant, timeout, timeout_at};

use crate::call::{Call, CallError, Payload, Slot};
use crate::counters::Counters;
use crate::instance::Work;
use crate::refusal::Refusal;
use crate::set::Around;
use crate::settings::Settings;

/// Ids of calls: never reused in the life of the process.
static NEXT_CALL: AtomicU64 = AtomicU64::new(1);

/// A plugin by its key. Lives as long as somebody may call it, whatever becomes of its file.
pub struct Plugin {
    key: String,
    settings: ArcSwap<Settings>,
    current: ArcSwapOption<Generation>,
    /// What was counted.
    pub counters: Arc<Counters>,
    pub(crate) around: Arc<Around>,
    facts: Mutex<Facts>,
    /// One load at a time.
    loading: Mutex<()>,
}

/// How it stands besides what serves.
#[derive(Default)]
struct Facts {
    /// Why the newest library is not served.
    refusal: Option<Refusal>,
    /// Generations made so far.
    made: u64,
    /// Those of them whose code stays in this process.
    mapped: usize,
    /// Those whose calls do not end, or that are draining.
    retiring: Vec<Arc<Generation>>,
}

/// One call to be made.
pub struct Ask<'a> {
    /// The contribution's id.
    pub component: &'a str,
    /// What of it.
    pub method: &'a str,
    /// The input.
    pub input: Payload,
    /// What it is part of.
    pub context: &'a CallContext,
    /// Whether pieces are wanted.
    pub chunks: bool,
    /// A shorter deadline than the operator's.
    pub timeout: Option<Duration>,
}

impl Plugin {
    pub(crate) fn new(settings: Settings, around: Arc<Around>) -> Arc<Self> {
        Arc::new(Self {
            key: settings.key.clone(),
            settings: ArcSwap::from_pointee(settings),
            current: ArcSwapOption::empty(),
            counters: Arc::default(),
            around,
            facts: Mutex::default(),
            loading: Mutex::default(),
        })
    }

    /// Its name in definitions.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What the operator says of it.
    #[must_use]
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.load_full()
    }

    /// What serves now.
    #[must_use]
    pub fn generation(&self) -> Option<Arc<Generation>> {
        self.current.load_full()
    }

    /// A contribution of what serves now.
    #[must_use]
    pub fn contribution(&self, kind: &str, id: &str) -> Option<Contribution> {
        let generation = self.current.load();
        let all = &generation.as_ref()?.description.contributes;
        all.iter().find(|one| one.kind == kind && one.id == id).cloned()
    }

    /// Why the newest library is not served.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        self.facts().refusal.clone()
    }

    /// Begins a call, as soon as there is a place for it.
    ///
    /// # Errors
    /// [`CallError`]: nothing serves, or no place came free before the deadline.
    pub async fn call(self: &Arc<Self>, ask: Ask<'_>) -> Result<Call, CallError> {
        let began = Instant::now();
        let most = self.settings.load().call_timeout;
        let deadline = began + ask.timeout.unwrap_or(most).min(most);
        let context = Payload::json(ask.context).bytes;
        let (generation, place) = loop {
            let Some(generation) = self.generation() else { return Err(self.fail(self.unavailable())) };
            if let Some(error) = generation.is_down() {
                return Err(self.fail(error));
            }
            match timeout_at(deadline, generation.place()).await {
                Ok(Some(place)) => break (generation, place),
                // It was replaced; its successor takes the call.
                Ok(None) if !self.serves(&generation) => {}
                Ok(None) => return Err(self.fail(self.unavailable())),
                Err(_) => {
                    let text = format!("plugin `{}` had no free place before the deadline", self.key);
                    return Err(self.fail(CallError::host("plugin_busy", text, true)));
                }
            }
        };
        let id = NEXT_CALL.fetch_add(1, Ordering::Relaxed);
        let slot = Arc::new(Slot::new(place));
        self.counters.in_flight.fetch_add(1, Ordering::Relaxed);
        let work = Work {
            id,
            component: ask.component.to_owned(),
            method: ask.method.to_owned(),
            encoding: ask.input.encoding,
            input: ask.input.bytes,
            context,
            deadline: Some(deadline),
            chunks: ask.chunks,
        };
        generation.start(work, Arc::clone(&slot));
        Ok(Call { id, slot, plugin: Arc::clone(self), generation, deadline, began, sleep: None, over: false })
    }

    /// Makes a call and waits for its end. One that may be made twice is made again after the plugin was started anew
    /// for another call's sake.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn ask(self: &Arc<Self>, ask: Ask<'_>, idempotent: bool) -> Result<Payload, CallError> {
        let again = idempotent.then(|| Ask { input: ask.input.clone(), ..ask });
        match (self.call(ask).await?.end().await, again) {
            (Err(error), Some(again)) if error.code == "plugin_restarted" => self.call(again).await?.end().await,
            (outcome, _) => outcome,
        }
    }

    /// It went from the configuration, or the runtime stops.
    pub(crate) fn let_go(self: &Arc<Self>) {
        if let Some(generation) = self.current.swap(None) {
            generation.cancel_all();
            self.retire(generation, Duration::ZERO);
        }
    }

    fn serves(&self, generation: &Arc<Generation>) -> bool {
        self.current.load().as_ref().is_some_and(|current| Arc::ptr_eq(current, generation))
    }

    fn fail(&self, error: CallError) -> CallError {
        self.counters.error(&error.code);
        error
    }

    fn unavailable(&self) -> CallError {
        let reason = self.facts().refusal.as_ref().map(|refusal| format!(": it {refusal}")).unwrap_or_default();
        CallError::host("plugin_unavailable", format!("plugin `{}` is not loaded{reason}", self.key), true)
    }

    /// A call somebody waited for has ended.
    pub(crate) fn finished(
        self: &Arc<Self>,
        generation: &Arc<Generation>,
        outcome: &Result<Payload, CallError>,
        took: Duration,
    ) {
        self.counters.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.counters.ended(took);
        match outcome {
            Ok(_) => generation.is_good(),
            Err(error) => {
                self.counters.error(&error.code);
                if error.code == "panic" {
                    self.panicked(generation);
                }
            }
        }
    }

    /// Nobody waits for this call any more. It keeps its place until the plugin ends it; if that takes longer than the
    /// grace, it hangs.
    pub(crate) fn orphan(self: &Arc<Self>, generation: &Arc<Generation>, id: u64, slot: Arc<Slot>, reason: u32) {
        generation.cancel(id, reason);
        if slot.is_ended() {
            return;
        }
        self.counters.orphans.fetch_add(1, Ordering::Relaxed);
        let (this, generation) = (Arc::clone(self), Arc::clone(generation));
        let grace = self.settings.load().cancel_grace;
        let watch = async move {
            let mut ended = poll_fn(|context| slot.poll_ended(context));
            if timeout(grace, &mut ended).await.is_err() {
                this.wedged(&generation, id);
                ended.await;
            }
            this.counters.orphans.fetch_sub(1, Ordering::Relaxed);
        };
        self.around.tasks.spawn_on(watch, &self.around.runtime);
    }

    fn wedged(&self, generation: &Generation, id: u64) {
        tracing::warn!(plugin = self.key, call = id, "a cancelled call of a plugin does not end");
        if generation.wedged(id) {
            self.counters.lost_threads.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

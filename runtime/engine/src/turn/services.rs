//! What every turn is handed: clock, ids, limits, and the tracker that owns its task.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use roster_model::id::{IdSource, MessageId, ResourceId, ThreadKey, TurnId};
use roster_model::time::Clock;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::event::TurnEvent;
use super::lock::ThreadLocks;
use super::running::{Place, Running};
use crate::memory::recall::{Indexer, Recall};
use crate::memory::transcript::ResultCap;
use crate::trace::{Metrics, Readings, Recorder, TraceContext};

/// Bounds of all turns together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From request to end.
    pub turn_timeout: Duration,
    /// At once; one more is refused.
    pub concurrent_turns: usize,
    /// Bytes of one tool's result that a model is fed; more is cut.
    pub tool_result: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { turn_timeout: Duration::from_secs(180), concurrent_turns: 512, tool_result: ResultCap::DEFAULT }
    }
}

/// What every turn is handed. One per process.
pub struct Services {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Fresh ids.
    pub ids: Arc<dyn IdSource>,
    /// Owns every turn's task; shutdown waits for it.
    pub tracker: TaskTracker,
    /// Cancelled when the runtime begins to stop: no new turn begins.
    pub draining: CancellationToken,
    /// Cancelled when the time for draining is over: turns still running are interrupted.
    pub stop: CancellationToken,
    /// Counters of this process.
    pub metrics: Arc<Metrics>,
    /// Where spans go; `None`: nowhere.
    pub recorder: Option<Arc<Recorder>>,
    /// Vectors in RAM and the search over them.
    pub recall: Arc<Recall>,
    /// Writes feed records, vectors and words after the answer.
    pub indexer: Arc<Indexer>,
    limits: ArcSwap<Limits>,
    running: Arc<Running>,
    pub(super) locks: ThreadLocks,
}

impl Services {
    /// Services with these sources and bounds.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>, limits: Limits) -> Self {
        let (tracker, draining, stop) = (TaskTracker::new(), CancellationToken::new(), CancellationToken::new());
        let recall: Arc<Recall> = Arc::default();
        let indexer = Indexer::new(Arc::clone(&recall), tracker.clone(), draining.clone(), stop.clone());
        Self {
            clock,
            ids,
            tracker,
            draining,
            stop,
            recall,
            indexer,
            limits: ArcSwap::from_pointee(limits),
            metrics: Arc::default(),
            recorder: None,
            running: Arc::default(),
            locks: ThreadLocks::default(),
        }
    }

    /// The same, with spans going to `recorder`.
    #[must_use]
    pub fn recording(mut self, recorder: Arc<Recorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// A new trace.
    pub(super) fn trace(&self) -> TraceContext {
        TraceContext::root(self.recorder.clone(), Arc::clone(&self.clock), Arc::clone(&self.ids))
    }

    /// The counters as OpenMetrics text.
    #[must_use]
    pub fn metrics_text(&self) -> String {
        let recorder = self.recorder.as_ref();
        self.metrics.text(&Readings {
            turns_running: self.turns_running(),
            observations_lost: recorder.map_or(0, |recorder| recorder.lost()),
            vector_cache_bytes: self.recall.cache.bytes(),
            uncached_recalls: self.recall.cache.uncached(),
            exported: recorder.map_or_else(Vec::new, |recorder| recorder.exported()),
        })
    }

    /// The bounds now.
    #[must_use]
    pub fn limits(&self) -> Limits {
        **self.limits.load()
    }

    /// Other bounds from now on; turns under way keep theirs.
    pub fn set_limits(&self, limits: Limits) {
        self.limits.store(Arc::new(limits));
    }

    /// Turns under way now.
    #[must_use]
    pub fn turns_running(&self) -> usize {
        self.running.count()
    }

    /// Waits until no turn is under way.
    pub async fn idle(&self) {
        self.running.none().await;
    }

    /// Cancels the turns of a thread, those that wait for it too: it was deleted.
    pub fn cancel_turns(&self, key: &ThreadKey) {
        self.running.cancel(key);
    }

    /// Cancels all turns of an owner: it is erased.
    pub fn cancel_turns_of(&self, resource: &ResourceId) {
        self.running.cancel_owner(resource);
    }

    /// A place among the turns at once, if there is one.
    pub(super) fn place(&self, key: &ThreadKey, cancel: &CancellationToken) -> Option<Place> {
        self.running.enter(self.limits().concurrent_turns, key, cancel)
    }
}

/// Why a turn was not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TurnRefused {
    /// `concurrent_turns` are running.
    #[error("too many turns are running; try again in a moment")]
    Busy,
    /// The runtime is stopping.
    #[error("the runtime is stopping")]
    Draining,
    /// There is no user message to answer.
    #[error("`messages` holds no user message to answer")]
    NoQuestion,
}

/// The receiving end of a turn. Dropping it tells the turn that the client left.
pub struct TurnStream {
    /// The turn.
    pub turn: TurnId,
    /// Owner and thread.
    pub key: ThreadKey,
    /// The id of the assistant's message.
    pub message: MessageId,
    pub(super) events: mpsc::Receiver<TurnEvent>,
    /// Cancels the turn when the stream is dropped; absent for agents that finish anyway.
    pub(super) _guard: Option<DropGuard>,
}

impl TurnStream {
    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Option<TurnEvent> {
        self.events.recv().await
    }

    /// The next event for a stream's poll function.
    pub fn poll_next(&mut self, context: &mut std::task::Context<'_>) -> std::task::Poll<Option<TurnEvent>> {
        self.events.poll_recv(context)
    }
}

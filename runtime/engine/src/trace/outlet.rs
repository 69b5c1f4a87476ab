//! Spans on their way to one exporter: a bounded row, batches, one export at a time. When it is slow the oldest spans
//! are dropped and counted; no turn waits for any of it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use roster_model::observation::{ExportError, Span, SpanExporter};
use tokio::sync::Notify;
use tokio::time::timeout;

/// Spans waiting; one more drops the oldest.
const ROW: usize = 8_192;
/// Spans of one export.
const BATCH: usize = 512;
/// How long a span waits for company.
const LINGER: Duration = Duration::from_millis(500);
/// How long after an exporter that was not there is looked for again.
const AGAIN: Duration = Duration::from_secs(1);

/// What became of the spans of one exporter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The exporter.
    pub name: String,
    /// Spans it took.
    pub taken: u64,
    /// Spans that were dropped, or lost with a batch that failed.
    pub lost: u64,
}

/// One exporter and what waits for it.
pub(super) struct Outlet {
    name: String,
    exporter: Arc<dyn SpanExporter>,
    state: Mutex<State>,
    /// There is something, or it is over.
    wake: Notify,
    /// A batch is full, or somebody waits for it.
    hurry: Notify,
    /// An exporter that is away is looked for at once.
    again: Notify,
    /// Nothing is on its way any more.
    idle: Notify,
    taken: AtomicU64,
    lost: AtomicU64,
    told: AtomicBool,
}

#[derive(Default)]
struct State {
    row: VecDeque<Arc<Span>>,
    /// An export is under way.
    busy: bool,
    /// The exporter was not there at the last try.
    away: bool,
    over: bool,
}

impl Outlet {
    pub(super) fn new(name: String, exporter: Arc<dyn SpanExporter>) -> Arc<Self> {
        Arc::new(Self {
            name,
            exporter,
            state: Mutex::default(),
            wake: Notify::new(),
            hurry: Notify::new(),
            again: Notify::new(),
            idle: Notify::new(),
            taken: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            told: AtomicBool::new(false),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn counted(&self) -> Exported {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Exported { name: self.name.clone(), taken: of(&self.taken), lost: of(&self.lost) }
    }

    /// Takes a span; at once, also when an older one has to be dropped for it.
    pub(super) fn push(&self, span: Arc<Span>) {
        let waiting = {
            let mut state = self.lock();
            if state.row.len() >= ROW {
                state.row.pop_front();
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
            state.row.push_back(span);
            state.row.len()
        };
        self.wake.notify_one();
        if waiting >= BATCH {
            self.hurry.notify_one();
        }
    }

    /// Its task: ends when the outlet is closed and what waited was tried once more.
    pub(super) async fn run(self: Arc<Self>) {
        while self.something().await {
            if self.lock().row.len() < BATCH {
                // Somebody hurries, or the time is over.
                let _ = timeout(LINGER, self.hurry.notified()).await;
            }
            let batch = self.next_batch();
            match self.exporter.export(batch.clone()).await {
                Ok(()) => {
                    self.taken.fetch_add(batch.len() as u64, Ordering::Relaxed);
                    self.told.store(false, Ordering::Relaxed);
                    self.ended(false);
                }
                Err(ExportError::Failed(why)) => {
                    self.lose(batch.len(), &why);
                    self.ended(false);
                }
                Err(ExportError::Away(why)) => self.away(batch, &why).await,
            }
        }
    }

    /// Waits for a span; false when there is none and none will come.
    async fn something(&self) -> bool {
        loop {
            {
                let state = self.lock();
                if !state.row.is_empty() {
                    return true;
                }
                if state.over {
                    return false;
                }
            }
            self.wake.notified().await;
        }
    }

    fn next_batch(&self) -> Vec<Arc<Span>> {
        let mut state = self.lock();
        state.busy = true;
        let count = state.row.len().min(BATCH);
        state.row.drain(..count).collect()
    }

    fn ended(&self, away: bool) {
        let mut state = self.lock();
        (state.busy, state.away) = (false, away);
        if state.row.is_empty() || away {
            drop(state);
            self.idle.notify_waiters();
        }
    }

    fn lose(&self, spans: usize, why: &str) {
        self.lost.fetch_add(spans as u64, Ordering::Relaxed);
        self.tell(why);
    }

    /// Says it once, until it works again.
    fn tell(&self, why: &str) {
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!(exporter = self.name, why, "spans are not exported; turns are not affected");
        }
    }

    /// Nobody was asked: the spans wait on, as far as there is room, and the exporter is looked for again.
    async fn away(&self, batch: Vec<Arc<Span>>, why: &str) {
        self.tell(why);
        let over = {
            let mut state = self.lock();
            let room = ROW.saturating_sub(state.row.len());
            let dropped = batch.len().saturating_sub(room);
            self.lost.fetch_add(dropped as u64, Ordering::Relaxed);
            for span in batch.into_iter().skip(dropped).rev() {
                state.row.push_front(span);
            }
            if state.over {
                let left = std::mem::take(&mut state.row).len();
                self.lost.fetch_add(left as u64, Ordering::Relaxed);
            }
            state.over
        };
        self.ended(true);
        if !over {
            // Not sooner because more spans came: who is away would be asked all the time.
            let _ = timeout(AGAIN, self.again.notified()).await;
        }
    }

    /// Waits until everything taken so far went out, was lost, or has nobody to go to.
    pub(super) async fn flush(&self) {
        // Whoever is away is looked for once more.
        self.lock().away = false;
        loop {
            let idle = self.idle.notified();
            {
                let state = self.lock();
                if state.away || state.row.is_empty() && !state.busy {
                    return;
                }
            }
            self.hurry.notify_one();
            self.again.notify_one();
            idle.await;
        }
    }

    /// No more spans come.
    pub(super) fn close(&self) {
        self.lock().over = true;
        self.wake.notify_one();
        self.hurry.notify_one();
        self.again.notify_one();
    }
}

//! The recorder: a bounded queue and one task that writes batches to the observability store, and an outlet for each
//! exporter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::join_all;
use roster_model::observation::{ObservationStore, Span, SpanExporter};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use super::outlet::{Exported, Outlet};

/// Spans waiting; one more is dropped and counted.
const QUEUE: usize = 8_192;
/// Spans of one write.
const BATCH: usize = 512;
/// How long a span waits for company.
const LINGER: Duration = Duration::from_millis(500);

enum Job {
    Span(Box<Span>),
    Flush(oneshot::Sender<()>),
}

/// Exporters by their names.
pub type Exporters = Vec<(String, Arc<dyn SpanExporter>)>;

/// Takes spans from turns and writes them in the background.
pub struct Recorder {
    /// To the store, where one can be used.
    queue: Option<mpsc::Sender<Job>>,
    outlets: ArcSwap<Vec<Arc<Outlet>>>,
    /// Where the outlets' tasks run.
    tasks: (TaskTracker, Handle),
    lost: Arc<AtomicU64>,
    /// Which share of traces is recorded, as a bound on 32 random bits.
    sampled_below: AtomicU64,
}

impl Recorder {
    /// A recorder whose tasks belong to `tracker` and end when the recorder is dropped: not the tracker of the turns,
    /// which shutdown waits for while the recorder still serves them. `sample` is the share of traces recorded, 0 to 1.
    /// Without a store spans go to exporters alone. Inside the runtime.
    #[must_use]
    pub fn start(store: Option<Arc<dyn ObservationStore>>, tracker: &TaskTracker, sample: f64) -> Self {
        let lost = Arc::new(AtomicU64::new(0));
        let queue = store.map(|store| {
            let (queue, jobs) = mpsc::channel(QUEUE);
            tracker.spawn(write(store, jobs, Arc::clone(&lost)));
            queue
        });
        let sampled_below = AtomicU64::new(sampled_below(sample));
        let tasks = (tracker.clone(), Handle::current());
        Self { queue, outlets: ArcSwap::default(), tasks, lost, sampled_below }
    }

    /// Spans go to these exporters too from now on. One that had a place keeps it, with what waits for it.
    pub fn set_exporters(&self, exporters: Exporters) {
        let before = self.outlets.load_full();
        let mut outlets = Vec::with_capacity(exporters.len());
        for (name, exporter) in exporters {
            let outlet = before.iter().find(|outlet| outlet.name() == name).cloned().unwrap_or_else(|| {
                let outlet = Outlet::new(name, exporter);
                self.tasks.0.spawn_on(Arc::clone(&outlet).run(), &self.tasks.1);
                outlet
            });
            outlets.push(outlet);
        }
        for gone in before.iter().filter(|old| !outlets.iter().any(|kept| Arc::ptr_eq(kept, old))) {
            gone.close();
        }
        self.outlets.store(Arc::new(outlets));
    }

    /// What became of the spans of each exporter.
    #[must_use]
    pub fn exported(&self) -> Vec<Exported> {
        self.outlets.load().iter().map(|outlet| outlet.counted()).collect()
    }

    /// Waits until what was taken so far was exported (or lost).
    pub async fn flush_exports(&self) {
        let outlets = self.outlets.load_full();
        join_all(outlets.iter().map(|outlet| outlet.flush())).await;
    }

    /// Another share from now on, 0 to 1; traces under way keep what was decided for them.
    pub fn set_sample(&self, sample: f64) {
        self.sampled_below.store(sampled_below(sample), Ordering::Relaxed);
    }

    /// Whether the trace of this random id is recorded; all its spans or none.
    #[must_use]
    pub fn takes(&self, trace: u128) -> bool {
        // The low 32 bits are random in every id source.
        (self.queue.is_some() || !self.outlets.load().is_empty())
            && (trace & u128::from(u32::MAX)) < u128::from(self.sampled_below.load(Ordering::Relaxed))
    }

    /// Takes a span; at once, also when it has to be dropped.
    pub fn record(&self, span: Span) {
        let outlets = self.outlets.load();
        if !outlets.is_empty() {
            let shared = Arc::new(span.clone());
            outlets.iter().for_each(|outlet| outlet.push(Arc::clone(&shared)));
        }
        if let Some(queue) = &self.queue
            && queue.try_send(Job::Span(Box::new(span))).is_err()
        {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything taken so far is written to the store (or lost).
    pub async fn flush(&self) {
        let Some(queue) = &self.queue else { return };
        let (done, written) = oneshot::channel();
        if queue.send(Job::Flush(done)).await.is_ok() {
            let _ = written.await;
        }
    }

    /// Spans dropped because the queue was full or the store failed.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.outlets.load().iter().for_each(|outlet| outlet.close());
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=2^32 before")]
fn sampled_below(sample: f64) -> u64 {
    (sample.clamp(0.0, 1.0) * 4_294_967_296.0) as u64
}

async fn write(store: Arc<dyn ObservationStore>, mut jobs: mpsc::Receiver<Job>, lost: Arc<AtomicU64>) {
    while let Some(first) = jobs.recv().await {
        let mut batch = Vec::new();
        let mut waiting = Vec::new();
        let until = tokio::time::Instant::now() + LINGER;
        let mut next = Some(first);
        while let Some(job) = next {
            match job {
                Job::Span(span) => batch.push(*span),
                Job::Flush(done) => waiting.push(done),
            }
            if batch.len() >= BATCH || !waiting.is_empty() {
                break;
            }
            next = tokio::time::timeout_at(until, jobs.recv()).await.ok().flatten();
        }
        let count = batch.len() as u64;
        if count > 0
            && let Err(error) = store.record(batch).await
        {
            let before = lost.fetch_add(count, Ordering::Relaxed);
            if before == 0 {
                tracing::warn!(%error, "observability is not being written; turns are not affected");
            }
        }
        for done in waiting {
            let _ = done.send(());
        }
    }
}

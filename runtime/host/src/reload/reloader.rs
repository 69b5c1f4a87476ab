//! The reload thread: waits, looks, takes, publishes.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use roster_engine::registry::{AdminEvent, Catalog, Change, Registry};
use roster_engine::turn::Services;
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::after::After;
use super::candidates::Past;
use super::control::{Apply, MakeCatalog};
use super::inbox::{Inbox, Pending, Reply};
use super::past::Ledger;
use super::report::Report;
use super::tracked::PATIENCE;
use super::world::World;
use crate::config::RuntimeConfig;
use crate::log::LogFormat;
use crate::watch::Watch;

/// Moments to look again are put on this raster, so that files saved together are published together.
const RASTER: Duration = Duration::from_millis(25);
/// Between two looks at everything.
const BREATH: Duration = Duration::from_millis(50);
/// All contents are compared this often.
const COMPARE_EVERY: Duration = Duration::from_secs(60);
/// Between two slices of comparing.
const COMPARE_PAUSE: Duration = Duration::from_millis(20);
/// When the system cannot tell of changes, polling is not left off.
const POLL_INSTEAD: Duration = Duration::from_secs(2);

/// All that the thread owns.
pub(super) struct Reloader {
    pub(super) world: World,
    pub(super) inbox: Arc<Inbox>,
    pub(super) registry: Arc<Registry>,
    pub(super) services: Arc<Services>,
    pub(super) catalog: Catalog,
    pub(super) make_catalog: MakeCatalog,
    pub(super) apply: Apply,
    /// The configuration that is in effect, and why the newest is not.
    pub(super) applied: Arc<RuntimeConfig>,
    pub(super) not_applied: Option<String>,
    pub(super) past: Past,
    pub(super) ledger: Ledger,
    pub(super) after: Arc<After>,
    /// Why the ledger could not be written last.
    pub(super) unwritten: Option<String>,
    pub(super) events: broadcast::Sender<AdminEvent>,
    pub(super) format: LogFormat,
    pub(super) run: String,
    pub(super) watch: Watch,
    /// Why the system does not tell of all changes.
    pub(super) unwatched: Option<String>,
    pub(super) times: Times,
    /// Why the next reload will happen.
    pub(super) cause: Option<&'static str>,
    pub(super) waiting: Vec<(Instant, Reply)>,
    /// What changed since the first of them asked.
    pub(super) late: Vec<Change>,
    pub(super) places: Places,
}

/// Where things really are: events name folders by their real paths.
#[derive(Default)]
pub(super) struct Places {
    pub(super) root: PathBuf,
    pub(super) agents: Option<PathBuf>,
    pub(super) config: Option<PathBuf>,
    /// What is to be watched.
    pub(super) wanted: BTreeSet<PathBuf>,
}

/// When the next look of each kind is due.
pub(super) struct Times {
    began: Instant,
    /// A look at everything that was asked for.
    pub(super) all: Option<Instant>,
    last_all: Instant,
    poll: Option<Instant>,
    compare: Instant,
    compared_to: Option<Arc<str>>,
}

impl Times {
    pub(super) fn new(now: Instant) -> Self {
        Self { began: now, all: None, last_all: now, poll: None, compare: now + COMPARE_EVERY, compared_to: None }
    }

    /// Asks for a look at everything.
    pub(super) fn ask_all(&mut self, now: Instant) {
        self.all.get_or_insert(now.max(self.last_all + BREATH));
    }

    fn on_raster(&self, at: Instant) -> Instant {
        let since = at.saturating_duration_since(self.began).as_millis();
        let steps = since.div_ceil(RASTER.as_millis());
        self.began + RASTER * u32::try_from(steps).unwrap_or(u32::MAX)
    }
}

impl Reloader {
    /// Until the inbox is closed.
    pub(super) fn run(mut self) {
        loop {
            let pending = self.inbox.take(self.next());
            if pending.closed {
                return;
            }
            // A fault of ours in one reload must not end reloading: what is served is served on.
            if catch_unwind(AssertUnwindSafe(|| self.step(pending))).is_err() {
                tracing::error!("a reload panicked; the registry is as it was");
            }
        }
    }

    /// When there will be something to do, if nothing comes before.
    fn next(&self) -> Option<Instant> {
        let due = self.world.due().map(|due| self.times.on_raster(due));
        let compare = self.poll_every().map(|_| self.times.compare);
        // Not planned yet: the configuration is new.
        let poll = self.times.poll.or_else(|| self.poll_every().map(|_| Instant::now()));
        let reply = self.waiting.iter().map(|(deadline, _)| *deadline).min();
        [due, self.times.all, poll, compare, reply].into_iter().flatten().min()
    }

    /// How often to poll.
    fn poll_every(&self) -> Option<Duration> {
        let wanted = self.applied.reload;
        match wanted.poll {
            None if wanted.watch && self.unwatched.is_some() => Some(POLL_INSTEAD),
            poll => poll,
        }
    }

    fn step(&mut self, mut pending: Pending) {
        let now = Instant::now();
        let asks = std::mem::take(&mut pending.asks);
        let pins = std::mem::take(&mut pending.pins);
        let requests = std::mem::take(&mut pending.requests);
        let manual = pending.signal || !requests.is_empty();
        let ledger = pending.ledger.take();
        let (signal, tools) = (pending.signal, pending.tools);
        self.hear(pending, now);
        if manual {
            self.cause = Some(if signal { "signal" } else { "request" });
            self.rearm(true);
            self.catalog.servers.hurry();
            self.ledger.forget_pins();
            self.world.read_all(now, false);
        }
        self.look(now);
        if tools {
            self.cause = self.cause.or(Some("tools"));
            self.world.changed = true;
        }
        if let Some(failure) = ledger {
            self.world.changed |= self.unwritten.is_some() != failure.is_some();
            self.unwritten = failure;
        }
        if manual || self.world.changed {
            let report = self.reload(self.cause.unwrap_or("watch"), now, manual);
            let asked = !requests.is_empty() && self.world.is_waiting_for_missing();
            if asked || !self.waiting.is_empty() {
                self.late.extend(report.changes.clone());
            }
            self.answer_now(requests, report);
        }
        if self.world.due().is_none() {
            self.cause = None;
        }
        pins.into_iter().for_each(|pin| self.pin(pin));
        for reply in asks {
            drop(reply.send(Ok(self.last_report())));
        }
        self.answer_late(now);
    }

    /// The looks whose time has come.
    fn look(&mut self, now: Instant) {
        let poll = self.poll_every();
        let polled = self.times.poll.is_some_and(|at| at <= now);
        if polled || self.times.poll.is_none() || poll.is_none() {
            self.times.poll = poll.map(|every| now + every);
        }
        if polled || self.times.all.is_some_and(|at| at <= now) {
            self.times.all = None;
            self.times.last_all = now;
            self.rearm(!polled);
            let settled = self.world.due().is_none();
            self.world.look_at_all(now);
            if polled && settled && self.cause.is_none() {
                self.cause = Some("poll");
            }
            // Weights of an embedder came or went.
            self.world.changed |= polled && !self.catalog.embedders.is_current();
        }
        if poll.is_some() && self.times.compare <= now {
            self.times.compared_to = self.world.compare_slice(self.times.compared_to.take(), now);
            let more = self.times.compared_to.is_some();
            self.times.compare = now + if more { COMPARE_PAUSE } else { COMPARE_EVERY };
            if !more {
                self.rearm(true);
            }
            self.cause = self.cause.or(Some("poll"));
        }
        self.world.look_at_due(now);
    }

    /// Answers who asked for a reload; while a file that went missing may still come back, later.
    fn answer_now(&mut self, requests: Vec<Reply>, report: Report) {
        if requests.is_empty() {
            return;
        }
        let report = Report { rendered: self.rendered(), ..report };
        let now = Instant::now();
        if self.world.is_waiting_for_missing() {
            self.waiting.extend(requests.into_iter().map(|reply| (now + PATIENCE * 2, reply)));
            return;
        }
        for reply in requests {
            // Who asked may have gone.
            drop(reply.send(Ok(report.clone())));
        }
    }

    fn answer_late(&mut self, now: Instant) {
        if self.waiting.is_empty() {
            return;
        }
        let over = self.waiting.iter().any(|(deadline, _)| *deadline <= now);
        if over || !self.world.is_waiting_for_missing() {
            let report = Report { changes: std::mem::take(&mut self.late), ..self.last_report() };
            for (_, reply) in std::mem::take(&mut self.waiting) {
                drop(reply.send(Ok(report.clone())));
            }
        }
    }
}

//! The one queue of everything that may cause a reload. What is pending collapses: however fast files change, it holds
//! each path once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use roster_engine::registry::{ControlError, Snapshot};
use roster_model::id::AgentId;
use roster_model::ledger::Version;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::report::Report;
use crate::watch::{Hint, Seen};

/// How the answer to a request comes.
pub(super) type Reply = oneshot::Sender<Result<Report, ControlError>>;
/// How the answer to a pin comes.
pub(super) type PinReply = oneshot::Sender<Result<Arc<Snapshot>, ControlError>>;

/// What may cause a reload. Polling needs no word: its time comes.
pub(super) enum Trigger {
    /// The system saw something move.
    Watch(Hint),
    /// SIGHUP.
    Signal,
    /// Servers came or went, or have other tools.
    Tools,
    /// An operator asks, and waits for the answer.
    Request(Reply),
    /// An operator wants to see how things are, without anything being read.
    Ask(Reply),
    /// An operator pins an agent to a version, or unpins it.
    Pin(Pin),
    /// Writing to the ledger began to fail, or works again.
    Ledger {
        /// Why it fails; `None`: it works.
        failure: Option<String>,
    },
}

/// A version to serve until unpinned.
pub(super) struct Pin {
    pub(super) agent: AgentId,
    /// `None`: the file's version serves again.
    pub(super) version: Option<Version>,
    pub(super) reply: PinReply,
}

/// What came since the last look.
#[derive(Default)]
pub(super) struct Pending {
    /// The paths that moved, and what is known of them.
    pub(super) paths: HashMap<PathBuf, Seen>,
    /// Anything may have moved.
    pub(super) everything: bool,
    /// The system has no watches left, in words for people.
    pub(super) unwatched: Option<String>,
    pub(super) signal: bool,
    /// Agents may be bound to other tools now.
    pub(super) tools: bool,
    pub(super) requests: Vec<Reply>,
    pub(super) asks: Vec<Reply>,
    pub(super) pins: Vec<Pin>,
    /// The last word from the ledger.
    pub(super) ledger: Option<Option<String>>,
    /// No more will come.
    pub(super) closed: bool,
}

/// More paths than this at once: looking at everything is cheaper.
const MOST_PATHS: usize = 4096;

impl Pending {
    fn is_empty(&self) -> bool {
        self.paths.is_empty()
            && !(self.everything || self.signal || self.tools || self.closed)
            && self.requests.is_empty()
            && self.asks.is_empty()
            && self.pins.is_empty()
            && self.ledger.is_none()
            && self.unwatched.is_none()
    }

    fn add(&mut self, trigger: Trigger) {
        match trigger {
            Trigger::Watch(Hint::Path(path, seen)) => {
                // A look at everything does not say who is writing; that is kept.
                if self.paths.len() >= MOST_PATHS && !self.paths.contains_key(&path) {
                    self.everything = true;
                } else {
                    let before = self.paths.entry(path).or_insert(seen);
                    *before = before.then(seen);
                }
            }
            Trigger::Watch(Hint::Everything) => self.everything = true,
            Trigger::Watch(Hint::Unwatched(reason)) => self.unwatched = Some(reason),
            Trigger::Signal => self.signal = true,
            Trigger::Tools => self.tools = true,
            Trigger::Request(reply) => self.requests.push(reply),
            Trigger::Ask(reply) => self.asks.push(reply),
            Trigger::Pin(pin) => self.pins.push(pin),
            Trigger::Ledger { failure } => self.ledger = Some(failure),
        }
    }
}

/// The queue: filled from everywhere, emptied by the one reload thread.
#[derive(Default)]
pub(super) struct Inbox {
    pending: Mutex<Pending>,
    filled: Condvar,
}

impl Inbox {
    /// Adds to what is pending. Dropped when the runtime is stopping: replies then say so.
    pub(super) fn push(&self, trigger: Trigger) {
        let mut pending = self.lock();
        if !pending.closed {
            pending.add(trigger);
            self.filled.notify_one();
        }
    }

    /// No more: the thread ends.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
    }

    /// All that is pending; waits for something, at most until `until`.
    pub(super) fn take(&self, until: Option<Instant>) -> Pending {
        let mut pending = self.lock();
        while pending.is_empty() {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            pending = match left {
                Some(left) if left.is_zero() => break,
                Some(left) => self.filled.wait_timeout(pending, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.filled.wait(pending).unwrap_or_else(PoisonError::into_inner),
            };
        }
        let closed = pending.closed;
        let taken = std::mem::take(&mut *pending);
        pending.closed = closed;
        taken
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

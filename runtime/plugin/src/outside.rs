//! A plugin in a process of its own, from the runtime's side: started, spoken to, watched over, started again.

mod keeper;
mod link;
mod spawn;

pub(crate) use spawn::{Spawn, probe};

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::asks::HostAsks;
use crate::call::{CallError, Slot};
use crate::counters::Counters;
use crate::instance::Work;
use crate::settings::Settings;
use link::Link;

/// A plugin's process, whichever it is at the moment.
pub(crate) struct Outside {
    spawn: Spawn,
    settings: Arc<Settings>,
    asks: Arc<HostAsks>,
    counters: Arc<Counters>,
    state: Mutex<State>,
    /// Crashes without a good answer since.
    crashes: AtomicU32,
    /// Told when it is to end.
    ending: Notify,
    /// Told when the last process has ended.
    gone: Notify,
}

struct State {
    /// The process calls are sent to; none while it is started anew.
    link: Option<Arc<Link>>,
    /// Calls that were never sent.
    waiting: VecDeque<(Work, Arc<Slot>)>,
    /// Until when it is given up, and why.
    down: Option<(Instant, String)>,
    ended: bool,
    /// No process is left.
    gone: bool,
}

impl Outside {
    fn new(
        spawn: Spawn,
        settings: Arc<Settings>,
        asks: Arc<HostAsks>,
        counters: Arc<Counters>,
        link: Arc<Link>,
    ) -> Arc<Self> {
        let state = State { link: Some(link), waiting: VecDeque::new(), down: None, ended: false, gone: false };
        Arc::new(Self {
            spawn,
            settings,
            asks,
            counters,
            state: Mutex::new(state),
            crashes: AtomicU32::new(0),
            ending: Notify::new(),
            gone: Notify::new(),
        })
    }

    /// Sends a call, or keeps it for the next process.
    pub(crate) fn start(&self, work: Work, slot: Arc<Slot>) {
        let mut state = self.lock();
        if state.ended {
            drop(state);
            return slot.fail(self.unavailable("it was stopped"));
        }
        if let Some((_, why)) = &state.down {
            let error = self.unavailable(why);
            drop(state);
            return slot.fail(error);
        }
        match state.link.clone() {
            Some(link) => {
                drop(state);
                // It may have ended since: then it is not the one any more, and the call was not sent.
                if !link.call(&work, &slot) {
                    self.start(work, slot);
                }
            }
            None => state.waiting.push_back((work, slot)),
        }
    }

    pub(crate) fn cancel(&self, id: u64, reason: u32) {
        let mut state = self.lock();
        if let Some(at) = state.waiting.iter().position(|(work, _)| work.id == id) {
            let removed = state.waiting.remove(at);
            drop(state);
            if let Some((_, slot)) = removed {
                slot.fail(CallError::host("cancelled", "cancelled before it began", false));
            }
            return;
        }
        let link = state.link.clone();
        drop(state);
        if let Some(link) = link {
            link.cancel(id, reason);
        }
    }

    pub(crate) fn cancel_all(&self, reason: u32) {
        let (link, waiting) = {
            let mut state = self.lock();
            (state.link.clone(), std::mem::take(&mut state.waiting))
        };
        for (_, slot) in waiting {
            slot.fail(self.unavailable("it was stopped"));
        }
        if let Some(link) = link {
            link.ids().into_iter().for_each(|id| link.cancel(id, reason));
        }
    }

    pub(crate) fn credit(&self, id: u64, bytes: usize) {
        if let Some(link) = self.lock().link.clone() {
            link.credit(id, bytes);
        }
    }

    /// A call hangs: no new ones are sent, others get a little time, then the process is killed.
    pub(crate) fn wedged(&self, id: u64) {
        let mut state = self.lock();
        let Some(link) = state.link.clone().filter(|link| link.has(id)) else { return };
        state.link = None;
        drop(state);
        link.hangs(self.settings.kill_grace);
    }

    /// Why nothing is sent at the moment.
    pub(crate) fn is_down(&self) -> Option<CallError> {
        let state = self.lock();
        state.down.as_ref().map(|(_, why)| self.unavailable(why))
    }

    /// It gave a good answer.
    pub(crate) fn is_good(&self) {
        if self.crashes.load(Ordering::Relaxed) > 0 {
            self.crashes.store(0, Ordering::Relaxed);
        }
    }

    /// Lets the process end in order, kills it when that takes too long; blocks.
    pub(crate) fn end(&self, within: Duration, runtime: &tokio::runtime::Handle) -> bool {
        let link = {
            let mut state = self.lock();
            state.ended = true;
            state.link.take()
        };
        self.ending.notify_one();
        if let Some(link) = link {
            link.quiesce(within);
        }
        let gone = async {
            loop {
                let told = self.gone.notified();
                if self.lock().gone {
                    return;
                }
                told.await;
            }
        };
        // Killed after `within`; reaping what was killed takes no time.
        runtime.block_on(async { tokio::time::timeout(within + Duration::from_secs(5), gone).await }).is_ok()
    }

    fn unavailable(&self, why: &str) -> CallError {
        let text = format!("plugin `{}` is not available: {why}", self.settings.key);
        CallError::host("plugin_unavailable", text, true)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! One library, loaded once: where it runs, and the places for calls it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use roster_abi::code::CANCEL_SHUTDOWN;
use roster_abi::contract::Description;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::renew::Panics;
use crate::call::{CallError, Place, Slot};
use crate::instance::{Answer, Instance, Work};
use crate::outside::Outside;
use crate::preflight::Manifest;
use crate::settings::Isolation;
use crate::stage::Staged;

/// Calls at once of a plugin that does not block: it holds no thread for them.
const INLINE_PLACES: usize = 1024;
/// Threads that may be given up before nothing is sent to a plugin any more.
const MOST_LOST: u32 = 4;

/// A library that was loaded, and serves until it is replaced.
pub struct Generation {
    /// Counted from 1 for each plugin.
    pub number: u64,
    /// What the file says.
    pub manifest: Manifest,
    /// SHA-256 of the file.
    pub sha256: String,
    /// What it contributes.
    pub description: Description,
    pub(super) backend: Backend,
    pub(super) key: String,
    places: Arc<Semaphore>,
    all: AtomicU32,
    freed: Arc<Notify>,
    lost: AtomicU32,
    pub(super) panics: Panics,
    /// Its private copy; removed when nobody has the generation any more.
    pub(super) staged: Arc<Staged>,
}

/// Where a generation runs.
pub(crate) enum Backend {
    /// Here.
    Inside(Arc<Instance>),
    /// In a process of its own.
    Outside(Arc<Outside>),
}

impl Generation {
    pub(super) fn new(
        key: &str,
        number: u64,
        parts: (Manifest, String, Description, Arc<Staged>),
        backend: Backend,
        most: usize,
    ) -> Arc<Self> {
        let (manifest, sha256, description, staged) = parts;
        let places = if manifest.is_blocking() { most.max(1) } else { INLINE_PLACES };
        Arc::new(Self {
            number,
            manifest,
            sha256,
            description,
            backend,
            key: key.to_owned(),
            places: Arc::new(Semaphore::new(places)),
            all: AtomicU32::new(u32::try_from(places).unwrap_or(u32::MAX)),
            freed: Arc::default(),
            lost: AtomicU32::new(0),
            panics: Panics::default(),
            staged,
        })
    }

    /// Where it runs.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        match &self.backend {
            Backend::Inside(_) => Isolation::InProcess,
            Backend::Outside(_) => Isolation::Process,
        }
    }

    /// A place for one call; `None`: it was replaced.
    pub(super) async fn place(&self) -> Option<Place> {
        let permit = match Arc::clone(&self.places).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => Arc::clone(&self.places).acquire_owned().await.ok()?,
        };
        Some(Place::new(permit, Arc::clone(&self.freed)))
    }

    pub(super) fn start(&self, work: Work, slot: Arc<Slot>) {
        match &self.backend {
            Backend::Inside(instance) => instance.start(work, slot as Arc<dyn Answer>),
            Backend::Outside(outside) => outside.start(work, slot),
        }
    }

    pub(crate) fn credit(&self, id: u64, bytes: usize) {
        match &self.backend {
            Backend::Inside(instance) => instance.credit(id, bytes),
            Backend::Outside(outside) => outside.credit(id, bytes),
        }
    }

    pub(super) fn cancel(&self, id: u64, reason: u32) {
        match &self.backend {
            Backend::Inside(instance) => instance.cancel(id, reason),
            Backend::Outside(outside) => outside.cancel(id, reason),
        }
    }

    /// Nobody waits for any of its calls any more.
    pub(super) fn cancel_all(&self) {
        match &self.backend {
            Backend::Inside(instance) => instance.cancel_all(CANCEL_SHUTDOWN),
            Backend::Outside(outside) => outside.cancel_all(CANCEL_SHUTDOWN),
        }
    }

    /// A call hangs. In process its thread is given up; true then.
    pub(super) fn wedged(&self, id: u64) -> bool {
        match &self.backend {
            Backend::Inside(instance) => {
                let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
                if lost <= MOST_LOST {
                    instance.write_off(id);
                    self.all.fetch_add(1, Ordering::Relaxed);
                    self.places.add_permits(1);
                } else if lost == MOST_LOST + 1 {
                    tracing::error!(
                        plugin = self.key,
                        "too many calls of the plugin hang: nothing is sent to it any more; set isolation = \"process\""
                    );
                }
                true
            }
            Backend::Outside(outside) => {
                outside.wedged(id);
                false
            }
        }
    }

    /// Why nothing is sent to it at the moment.
    pub(super) fn is_down(&self) -> Option<CallError> {
        match &self.backend {
            Backend::Inside(_) if self.lost.load(Ordering::Relaxed) > MOST_LOST => {
                let text = format!(
                    "plugin `{}` hangs in more than {MOST_LOST} calls; reload it, or set isolation = \"process\"",
                    self.key
                );
                Some(CallError::host("plugin_unavailable", text, false))
            }
            Backend::Inside(_) => None,
            Backend::Outside(outside) => outside.is_down(),
        }
    }

    /// It gave a good answer.
    pub(super) fn is_good(&self) {
        match &self.backend {
            Backend::Inside(_) => {}
            Backend::Outside(outside) => outside.is_good(),
        }
    }

    /// No more calls: who waits for a place goes to the successor.
    pub(super) fn stop_routing(&self) {
        self.places.close();
    }

    /// Waits until no call is in flight; false when that takes too long.
    pub(super) async fn drained(&self, within: Duration) -> bool {
        let until = Instant::now() + within;
        loop {
            let freed = self.freed.notified();
            if self.places.available_permits() >= self.all.load(Ordering::Relaxed) as usize {
                return true;
            }
            if timeout_at(until, freed).await.is_err() {
                return false;
            }
        }
    }

    /// Frees what it holds; blocks. False: a thread is inside for ever, it is left as it is.
    pub(super) fn end(&self, within: Duration, runtime: &Handle) -> bool {
        match &self.backend {
            Backend::Inside(instance) => instance.destroy(within),
            Backend::Outside(outside) => outside.end(within, runtime),
        }
    }
}

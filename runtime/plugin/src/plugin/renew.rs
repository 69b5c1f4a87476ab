//! An instance that panics again and again is made anew from the library it has: what it panics over may be its state.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{Generation, Plugin};

/// Panics within [`WITHIN`] after which an instance is not trusted any more.
const MOST: u32 = 10;
const WITHIN: Duration = Duration::from_secs(60);

/// The panics of one generation: when the first of them was, and how many.
#[derive(Default)]
pub(super) struct Panics(Mutex<Option<(Instant, u32)>>);

impl Panics {
    /// Counts one; true for the one that is too many.
    pub(super) fn is_last_straw(&self) -> bool {
        let now = Instant::now();
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, count) = counted.filter(|(first, _)| now.duration_since(*first) < WITHIN).unwrap_or((now, 0));
        *counted = Some((first, count + 1));
        count + 1 == MOST
    }
}

impl Plugin {
    /// A call ended with a panic.
    pub(super) fn panicked(self: &Arc<Self>, generation: &Arc<Generation>) {
        if !generation.panics.is_last_straw() {
            return;
        }
        let (this, generation) = (Arc::clone(self), Arc::clone(generation));
        // As for a load: not on a worker.
        let renewing = std::thread::Builder::new().name("plugin-load".to_owned()).spawn(move || this.renew(generation));
        if let Err(error) = renewing {
            tracing::error!(plugin = self.key, %error, "no thread to make a plugin's instance anew");
        }
    }

    /// Makes another instance of what serves and lets it serve instead.
    fn renew(self: &Arc<Self>, old: Arc<Generation>) {
        let _one = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.serves(&old) {
            return;
        }
        let settings = self.settings();
        match self.generate(&settings, old.manifest.clone(), old.sha256.clone(), Arc::clone(&old.staged)) {
            Ok(new) => {
                let before = self.current.compare_and_swap(&old, Some(Arc::clone(&new)));
                // It was let go meanwhile: then the new one goes, too.
                let kept = before.as_ref().is_some_and(|before| Arc::ptr_eq(before, &old));
                self.retire(if kept { old } else { new }, settings.drain_timeout);
                tracing::warn!(
                    plugin = self.key,
                    "its instance panicked {MOST} times within {WITHIN:?} and was made anew"
                );
            }
            Err(refusal) => {
                tracing::warn!(plugin = self.key, hint = refusal.help, "it panics, and a new instance of it {refusal}");
            }
        }
    }
}

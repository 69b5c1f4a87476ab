//! What is counted of one plugin.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the latency histogram, in microseconds.
pub const BUCKETS: [u64; 10] = [10, 50, 100, 500, 1_000, 5_000, 20_000, 100_000, 1_000_000, 10_000_000];
/// Codes told apart; further ones are `other`.
const MOST_CODES: usize = 64;
/// Numbers of its own that a plugin may add.
const MOST_CUSTOM: usize = 64;

/// Counters of one plugin, over all its generations.
#[derive(Debug, Default)]
pub struct Counters {
    /// Calls that ended.
    pub calls: AtomicU64,
    /// Calls under way that somebody waits for.
    pub in_flight: AtomicU64,
    /// Calls nobody waits for that the plugin has not ended.
    pub orphans: AtomicU64,
    /// Threads given up.
    pub lost_threads: AtomicU64,
    /// Processes started after a crash or kill.
    pub restarts: AtomicU64,
    /// Completions for calls that were not there.
    pub stray: AtomicU64,
    /// Lines of log left out because there were too many.
    pub log_dropped: AtomicU64,
    /// Sum of latencies, in microseconds.
    pub latency_sum: AtomicU64,
    /// Calls within each of [`BUCKETS`], not cumulative; the last is beyond all.
    pub latency: [AtomicU64; 11],
    errors: Mutex<BTreeMap<String, u64>>,
    custom: Mutex<BTreeMap<String, f64>>,
}

impl Counters {
    pub(crate) fn error(&self, code: &str) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let known = errors.contains_key(code) || errors.len() < MOST_CODES;
        *errors.entry(if known { code } else { "other" }.to_owned()).or_default() += 1;
    }

    pub(crate) fn ended(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.latency_sum.fetch_add(micros, Ordering::Relaxed);
        let at = BUCKETS.iter().position(|bound| micros <= *bound).unwrap_or(BUCKETS.len());
        if let Some(bucket) = self.latency.get(at) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Adds to a number of the plugin's own; false when it has too many.
    pub(crate) fn add_custom(&self, name: &str, value: f64) -> bool {
        let mut custom = self.custom.lock().unwrap_or_else(PoisonError::into_inner);
        if !custom.contains_key(name) && custom.len() >= MOST_CUSTOM {
            return false;
        }
        *custom.entry(name.to_owned()).or_default() += value;
        true
    }

    /// The plugin's own numbers.
    #[must_use]
    pub fn custom(&self) -> BTreeMap<String, f64> {
        self.custom.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Errors by code.
    #[must_use]
    pub fn errors(&self) -> BTreeMap<String, u64> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

//! What is counted of one plugin.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::plugin::PluginStatus;

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

/// The counters of all these plugins as OpenMetrics text, without its end.
#[must_use]
pub fn counted(plugins: &[std::sync::Arc<crate::plugin::Plugin>]) -> String {
    let mut text = String::new();
    if plugins.is_empty() {
        return text;
    }
    let statuses: Vec<_> = plugins.iter().map(|plugin| (plugin, plugin.status())).collect();
    let mut family = |name: &str, kind: &str, help: &str, suffix: &str, value: &dyn Fn(&PluginStatus) -> u64| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# HELP roster_plugin_{name} {help}.\n# TYPE roster_plugin_{name} {kind}");
        for (_, status) in &statuses {
            let _ = writeln!(text, "roster_plugin_{name}{suffix}{{plugin=\"{}\"}} {}", status.key, value(status));
        }
    };
    family("calls", "counter", "Calls that ended", "_total", &|status| status.counters.calls);
    family("in_flight", "gauge", "Calls under way", "", &|status| status.counters.in_flight);
    family("orphans", "gauge", "Calls nobody waits for that have not ended", "", &|status| status.counters.orphans);
    family("lost_threads", "counter", "Threads given up", "_total", &|status| status.counters.lost_threads);
    family("restarts", "counter", "Processes started anew", "_total", &|status| status.counters.restarts);
    family("stray_completions", "counter", "Answers to no call", "_total", &|status| status.counters.stray_completions);
    family("generation", "gauge", "The generation that serves", "", &|status| status.generation);
    let _ =
        writeln!(text, "# HELP roster_plugin_errors Calls that failed, by code.\n# TYPE roster_plugin_errors counter");
    for (_, status) in &statuses {
        for (code, count) in &status.counters.errors {
            let code: String = code.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            let _ = writeln!(text, "roster_plugin_errors_total{{plugin=\"{}\",code=\"{code}\"}} {count}", status.key);
        }
    }
    let _ =
        writeln!(text, "# HELP roster_plugin_custom The plugins' own numbers.\n# TYPE roster_plugin_custom counter");
    for (plugin, status) in &statuses {
        for (name, value) in plugin.counters.custom() {
            let _ = writeln!(text, "roster_plugin_custom_total{{plugin=\"{}\",name=\"{name}\"}} {value}", status.key);
        }
    }
    latencies(&mut text, plugins);
    text
}

fn latencies(text: &mut String, plugins: &[std::sync::Arc<crate::plugin::Plugin>]) {
    let _ = writeln!(
        text,
        "# HELP roster_plugin_call_seconds How long calls took.\n# TYPE roster_plugin_call_seconds histogram"
    );
    for plugin in plugins {
        let (key, counters, mut sum) = (plugin.key(), &plugin.counters, 0);
        for (at, bucket) in counters.latency.iter().enumerate() {
            sum += bucket.load(Ordering::Relaxed);
            let bound = BUCKETS.get(at).map_or("+Inf".to_owned(), |micros| (*micros as f64 / 1e6).to_string());
            let _ = writeln!(text, "roster_plugin_call_seconds_bucket{{plugin=\"{key}\",le=\"{bound}\"}} {sum}");
        }
        let seconds = counters.latency_sum.load(Ordering::Relaxed) as f64 / 1e6;
        let _ = writeln!(text, "roster_plugin_call_seconds_sum{{plugin=\"{key}\"}} {seconds}");
        let _ = writeln!(text, "roster_plugin_call_seconds_count{{plugin=\"{key}\"}} {sum}");
    }
}

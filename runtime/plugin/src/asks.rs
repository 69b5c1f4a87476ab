//! What a plugin asks of the host, from wherever it runs: its log, and services by grant.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use roster_abi::code::{E_DENIED, E_UNSUPPORTED, LOG_DEBUG, LOG_ERROR, LOG_INFO, LOG_WARN};
use tokio::time::Instant;

use crate::instance::{Asks, Instance, Line};
use crate::plugin::Plugin;
use crate::settings::Settings;

/// Lines of log a second; further ones are counted.
const LINES: u32 = 200;

/// The host's answers to one generation of a plugin.
pub(crate) struct HostAsks {
    plugin: Weak<Plugin>,
    key: String,
    generation: u64,
    second: Mutex<(Option<Instant>, u32)>,
    dropped: AtomicU64,
    clock: Arc<dyn roster_model::time::Clock>,
}

impl HostAsks {
    pub(crate) fn new(plugin: &Arc<Plugin>, generation: u64, settings: &Settings) -> Self {
        Self {
            plugin: Arc::downgrade(plugin),
            key: settings.key.clone(),
            generation,
            second: Mutex::default(),
            dropped: AtomicU64::new(0),
            clock: Arc::clone(&plugin.around.clock),
        }
    }

    /// Whether this second has room for a line; how many were left out in the one before.
    fn admits(&self) -> Option<u64> {
        let now = Instant::now();
        let mut second = self.second.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = 0;
        if second.0.is_none_or(|began| now.duration_since(began) >= Duration::from_secs(1)) {
            *second = (Some(now), 0);
            before = self.dropped.swap(0, Ordering::Relaxed);
        }
        second.1 += 1;
        (second.1 <= LINES).then_some(before)
    }

    /// Writes a line of the plugin's into the runtime's log.
    pub(crate) fn line(&self, line: &Line) {
        let Some(left_out) = self.admits() else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            if let Some(plugin) = self.plugin.upgrade() {
                plugin.counters.log_dropped.fetch_add(1, Ordering::Relaxed);
            }
            return;
        };
        let (plugin, generation) = (&self.key, self.generation);
        if left_out > 0 {
            tracing::warn!(plugin, generation, left_out, "more than {LINES} lines of log a second");
        }
        let Line { call, target, message, fields, .. } = line;
        match line.level {
            LOG_ERROR => tracing::error!(plugin, generation, call, from = target, fields, "{message}"),
            LOG_WARN => tracing::warn!(plugin, generation, call, from = target, fields, "{message}"),
            LOG_INFO => tracing::info!(plugin, generation, call, from = target, fields, "{message}"),
            LOG_DEBUG => tracing::debug!(plugin, generation, call, from = target, fields, "{message}"),
            _ => tracing::trace!(plugin, generation, call, from = target, fields, "{message}"),
        }
    }
}

impl Asks for HostAsks {
    fn log(&self, line: Line) {
        self.line(&line);
    }

    fn request(&self, _from: &Arc<Instance>, _call: u64, _request: u64, service: &str, _bytes: &[u8]) -> i32 {
        match service {
            "kv.get" | "kv.put" | "kv.delete" | "kv.list" | "secret.get" | "http.fetch" | "metric.add" => E_DENIED,
            _ => E_UNSUPPORTED,
        }
    }

    fn clock_unix_ms(&self) -> u64 {
        u64::try_from(self.clock.now().millis()).unwrap_or_default()
    }
}

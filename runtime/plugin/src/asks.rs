//! What a plugin asks of the host, from wherever it runs: its log, and services by grant.

mod kv;
mod service;

pub(crate) use kv::Kv;
pub use service::{Fetch, FetchError};

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use roster_abi::code::{ENC_JSON, LOG_DEBUG, LOG_ERROR, LOG_INFO, LOG_WARN, OK};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::instance::{Asks, Instance, Line, error_json};
use crate::plugin::Plugin;
use crate::set::Around;
use crate::settings::Settings;
use service::Denial;

/// Lines of log a second; further ones are counted.
const LINES: u32 = 200;

/// The host's answers to one generation of a plugin.
pub(crate) struct HostAsks {
    plugin: Weak<Plugin>,
    key: String,
    generation: u64,
    second: Mutex<(Option<Instant>, u32)>,
    dropped: AtomicU64,
    settings: Arc<Settings>,
    around: Arc<Around>,
}

impl HostAsks {
    pub(crate) fn new(plugin: &Arc<Plugin>, generation: u64, settings: &Arc<Settings>) -> Self {
        Self {
            plugin: Arc::downgrade(plugin),
            key: settings.key.clone(),
            generation,
            second: Mutex::default(),
            dropped: AtomicU64::new(0),
            settings: Arc::clone(settings),
            around: Arc::clone(&plugin.around),
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

impl HostAsks {
    /// Where tasks of the plugins belong.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.around.tasks
    }

    /// Answers a request, never from inside of it: the plugin may hold a lock of its own.
    pub(crate) fn serve(
        self: &Arc<Self>,
        service: &str,
        input: &[u8],
        reply: impl FnOnce(i32, u32, &[u8]) + Send + 'static,
    ) {
        let (this, service, input) = (Arc::clone(self), service.to_owned(), input.to_vec());
        let serving = async move {
            match this.answer(&service, &input).await {
                Ok(value) => reply(OK, ENC_JSON, value.to_string().as_bytes()),
                Err(Denial { status, code, message }) => reply(status, ENC_JSON, &error_json(code, &message)),
            }
        };
        self.around.tasks.spawn_on(serving, &self.around.runtime);
    }
}

impl Asks for HostAsks {
    fn stray(&self, call: u64) {
        tracing::debug!(plugin = self.key, generation = self.generation, call, "an answer to no call");
        if let Some(plugin) = self.plugin.upgrade() {
            plugin.counters.stray.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn log(&self, line: Line) {
        self.line(&line);
    }

    fn request(self: Arc<Self>, from: &Arc<Instance>, _call: u64, request: u64, service: &str, bytes: &[u8]) -> i32 {
        let instance = Arc::downgrade(from);
        self.serve(service, bytes, move |status, encoding, bytes| {
            if let Some(instance) = instance.upgrade() {
                instance.reply(request, status, encoding, bytes);
            }
        });
        OK
    }

    fn clock_unix_ms(&self) -> u64 {
        u64::try_from(self.around.clock.now().millis()).unwrap_or_default()
    }
}

//! When to stop: the signals of a runtime that serves.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long turns may go on after the first signal before they are interrupted.
pub const DRAIN: Duration = Duration::from_secs(10);
/// How long interrupted turns may take to store what was said, and connections to send their last bytes.
pub const WIND_UP: Duration = Duration::from_secs(5);

/// The signals that end a process, caught.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Catches SIGTERM, SIGINT and SIGHUP from now on. Needs a tokio runtime.
    ///
    /// # Errors
    /// When the system does not let a signal be caught.
    pub fn catch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal to stop and gives its name. Each SIGHUP until then calls `hangup`.
    pub async fn stop(&mut self, hangup: &dyn Fn()) -> &'static str {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                // Unhandled it would end the process, and with it every turn.
                _ = self.hangup.recv() => hangup(),
            }
        }
    }
}

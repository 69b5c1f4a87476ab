//! When to stop: the signals of a runtime that serves.
//!
//! Signals are heard by a thread of their own, so that a second one ends the process whatever the workers are at.

use std::io::{self, Write};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, oneshot};

use crate::error::Exit;

/// How long turns may go on after the first signal before they are interrupted.
pub const DRAIN: Duration = Duration::from_secs(10);
/// How long interrupted turns may take to store what was said, and connections to send their last bytes.
pub const WIND_UP: Duration = Duration::from_secs(5);
/// How long the last line of the log may take: nobody may be reading it.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// The signals that end a process, caught from now on. The second one ends the process at once, with exit code 130:
/// what was acknowledged is on disk already.
pub struct Signals {
    first: oneshot::Receiver<&'static str>,
    hangup: Arc<Notify>,
}

impl Signals {
    /// Catches SIGTERM, SIGINT and SIGHUP until the process ends. Once a process, outside of any runtime.
    ///
    /// # Errors
    /// When the system gives no thread, or does not let a signal be caught.
    pub fn catch() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let heard = Heard::register(&runtime)?;
        let (say_first, first) = oneshot::channel();
        let hangup = Arc::new(Notify::new());
        let told = Arc::clone(&hangup);
        let hear = move || runtime.block_on(heard.until_second(say_first, &told));
        thread::Builder::new().name("signals".to_owned()).spawn(hear)?;
        Ok(Self { first, hangup })
    }

    /// Waits for the first signal to stop and gives its name. SIGHUPs until then call `hangup`; those that come while it
    /// is at work are one.
    pub async fn stop(&mut self, hangup: &dyn Fn()) -> &'static str {
        loop {
            tokio::select! {
                biased;
                // The thread that hears ends with the process only.
                first = &mut self.first => return first.unwrap_or("the end of the thread that hears signals"),
                () = self.hangup.notified() => hangup(),
            }
        }
    }
}

struct Heard {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Heard {
    fn register(runtime: &Runtime) -> io::Result<Self> {
        let _inside = runtime.enter();
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn until_second(mut self, say_first: oneshot::Sender<&'static str>, hangup: &Notify) {
        let first = self.stop(hangup).await;
        // Nobody waits for it while the runtime is put together; then the second one counts all the same.
        let _ = say_first.send(first);
        let second = self.stop(hangup).await;
        end_at_once(second);
    }

    /// The next signal to stop. SIGHUP would end the process if nobody heard it.
    async fn stop(&mut self, hangup: &Notify) -> &'static str {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.hangup.recv() => hangup.notify_one(),
            }
        }
    }
}

/// Says why, if that can be said, and ends the process.
fn end_at_once(signal: &'static str) {
    let (said, is_said) = mpsc::channel::<()>();
    let say = move || {
        tracing::warn!("{signal} while draining: ending at once");
        drop(io::stderr().flush());
        drop(said);
    };
    // Another thread may hold stderr and wait for a reader that does not read.
    if thread::Builder::new().name("last-words".to_owned()).spawn(say).is_ok() {
        let _ = is_said.recv_timeout(LAST_WORDS);
    }
    #[expect(clippy::disallowed_methods, reason = "a second signal does not wait for whoever is busy")]
    std::process::exit(Exit::Signalled.code().into());
}

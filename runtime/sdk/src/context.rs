//! A call as the plugin's code sees it.

use std::future::poll_fn;
use std::sync::OnceLock;
use std::task::Poll;
use std::time::{Duration, Instant};

use roster_abi::code;
use roster_abi::contract::{CallContext, Progress};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::host::Host;

/// A call: who asks, how long there is, and where progress and pieces of the answer go.
pub struct Context {
    host: Host,
    call: u64,
    wants_chunks: bool,
    deadline: Option<Instant>,
    text: Vec<u8>,
    parsed: OnceLock<CallContext>,
}

impl Context {
    pub(crate) fn new(host: Host, call: u64, flags: u32, deadline_ms: u64, text: Vec<u8>) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "a plugin has no clock injected, and no deadline across suspends"
        )]
        let deadline = (deadline_ms > 0).then(|| Instant::now().checked_add(Duration::from_millis(deadline_ms)));
        let wants_chunks = flags & code::CALL_WANTS_CHUNKS != 0;
        Self { host, call, wants_chunks, deadline: deadline.flatten(), text, parsed: OnceLock::new() }
    }

    /// The call's id; never reused.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.call
    }

    /// The host, bound to this call.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Turn, agent, thread and owner, where the call belongs to some.
    #[must_use]
    pub fn about(&self) -> &CallContext {
        self.parsed.get_or_init(|| serde_json::from_slice(&self.text).unwrap_or_default())
    }

    /// How much time is left; `None`: no deadline.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        #[expect(clippy::disallowed_methods, reason = "see `new`")]
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// True when nobody waits for the answer any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.host.table().cancelled(self.call) != code::OK
    }

    /// For loops: `cx.check()?;`
    ///
    /// # Errors
    /// When nobody waits for the answer any more.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
    }

    /// How far the call is, 0 to 1, with a word for people. May be lost; the newest wins.
    pub fn progress(&self, fraction: f64, message: &str) {
        let progress = Progress { fraction: Some(fraction), message: Some(message.to_owned()) };
        if let Ok(json) = serde_json::to_vec(&progress) {
            self.host.table().emit(self.call, code::EV_PROGRESS, &json);
        }
    }

    /// True when the caller takes pieces of the answer; else [`Context::chunk`] does nothing.
    #[must_use]
    pub fn wants_chunks(&self) -> bool {
        self.wants_chunks
    }

    /// A piece of the answer; none is lost, and they arrive in order. In a blocking plugin it waits for room.
    ///
    /// # Errors
    /// Cancelled; or, in a plugin that does not block, no room at the moment (see [`Context::send`]).
    pub fn chunk<T: Serialize>(&self, value: &T) -> Result<()> {
        if !self.wants_chunks {
            return self.check();
        }
        self.emitted(self.host.table().emit(self.call, code::EV_CHUNK, &serde_json::to_vec(value)?))
    }

    /// As [`Context::chunk`], for async code: waits for room without holding the thread.
    ///
    /// # Errors
    /// Cancelled.
    pub async fn send<T: Serialize>(&self, value: &T) -> Result<()> {
        if !self.wants_chunks {
            return self.check();
        }
        let json = serde_json::to_vec(value)?;
        let status = poll_fn(|cx| {
            // First the waker: the room may come between a refusal and the wait.
            self.host.shared().wait_for_room(self.call, cx.waker());
            match self.host.table().emit(self.call, code::EV_CHUNK, &json) {
                code::E_BUSY => Poll::Pending,
                status => Poll::Ready(status),
            }
        });
        let status = status.await;
        self.host.shared().done(self.call);
        self.emitted(status)
    }

    fn emitted(&self, status: i32) -> Result<()> {
        match status {
            code::OK => Ok(()),
            code::E_CANCELLED | code::E_NO_SUCH_CALL => Err(Error::cancelled()),
            code::E_BUSY => Err(Error::busy("no room for another chunk at the moment")),
            code::E_TOO_LARGE => Err(Error::with(status, "too_large", "the chunk is larger than the operator allows")),
            status => Err(Error::with(status, "emit_failed", format!("the host refused a chunk ({status})"))),
        }
    }
}

//! The way to the runtime: completions, events, log lines and requests as frames.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use roster_abi::code::{EV_CHUNK, EV_PROGRESS, OK};
use roster_abi::frame::{COMPLETE, EVENT, LOG, REQUEST};

use crate::frame::{Frame, RequestBody, STRAY};
use crate::instance::{Answer, Asks, Instance, Line};

/// The writing end.
pub(super) struct Link {
    channel: Mutex<UnixStream>,
}

impl Link {
    pub(super) fn new(channel: UnixStream) -> Self {
        Self { channel: Mutex::new(channel) }
    }

    pub(super) fn send(&self, frame: &Frame) -> io::Result<()> {
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        frame.write_blocking(&mut *channel)
    }

    /// When the runtime is gone the reader sees it too, and the process ends there.
    fn tell(&self, frame: &Frame) {
        drop(self.send(frame));
    }
}

/// Where the answers of one call go.
pub(super) struct Remote {
    pub(super) link: Arc<Link>,
    pub(super) call: u64,
}

impl Answer for Remote {
    fn progress(&self, bytes: &[u8]) {
        let frame = Frame { call: self.call, aux: EV_PROGRESS, payload: bytes.to_vec(), ..Frame::of(EVENT) };
        self.link.tell(&frame);
    }

    fn chunk(&self, encoding: u32, bytes: &[u8]) {
        let status = i32::try_from(encoding).unwrap_or_default();
        let frame = Frame { call: self.call, status, aux: EV_CHUNK, payload: bytes.to_vec(), ..Frame::of(EVENT) };
        self.link.tell(&frame);
    }

    fn complete(&self, status: i32, encoding: u32, bytes: &[u8]) {
        let frame = Frame { call: self.call, status, aux: encoding, payload: bytes.to_vec(), ..Frame::of(COMPLETE) };
        self.link.tell(&frame);
    }
}

/// The runtime is asked over the channel.
pub(super) struct ChildAsks(pub(super) Arc<Link>);

impl Asks for ChildAsks {
    fn stray(&self, call: u64) {
        self.0.tell(&Frame { call, aux: STRAY, ..Frame::of(EVENT) });
    }

    fn log(&self, line: Line) {
        let payload = serde_json::to_vec(&line).unwrap_or_default();
        self.0.tell(&Frame { call: line.call, payload, ..Frame::of(LOG) });
    }

    fn request(self: Arc<Self>, _from: &Arc<Instance>, call: u64, request: u64, service: &str, bytes: &[u8]) -> i32 {
        let payload = RequestBody { request, service, input: bytes }.to_bytes();
        self.0.tell(&Frame { call, payload, ..Frame::of(REQUEST) });
        OK
    }

    #[expect(clippy::disallowed_methods, reason = "this process has no clock but the system's")]
    fn clock_unix_ms(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

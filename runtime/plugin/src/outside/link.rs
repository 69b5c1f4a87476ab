//! One process and the channel to it. Sending never waits: what the channel does not take is kept and sent on.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use roster_abi::code::{CALL_WANTS_CHUNKS, EV_CHUNK, EV_PROGRESS};
use roster_abi::frame::{
    BYE, CALL, CANCEL, COMPLETE, CREDIT, EVENT, FAIL, LOG, PING, PONG, QUIESCE, READY, REPLY, REQUEST,
};
use tokio::net::UnixStream;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::asks::HostAsks;
use crate::call::{CallError, Slot};
use crate::frame::{CallBody, Frame, RequestBody, STRAY};
use crate::instance::{Answer, Asks as _, Line, Work};

/// The channel to one process.
pub(super) struct Link {
    stream: UnixStream,
    out: Mutex<Vec<u8>>,
    /// Told when something is kept in `out`.
    flush: Notify,
    calls: Mutex<Calls>,
    /// When the process is to be killed.
    pub(super) kill_at: Mutex<Option<Instant>>,
    pub(super) kill: Notify,
    /// Why we killed it, where we did.
    pub(super) condemned: OnceLock<&'static str>,
    pinged: AtomicBool,
}

/// The calls under way.
#[derive(Default)]
struct Calls {
    slots: HashMap<u64, Arc<Slot>>,
    /// The process is gone: nobody would end another.
    over: bool,
}

/// What a frame of the process means for who keeps it.
pub(super) enum News {
    /// It came up; its description.
    Ready(Vec<u8>),
    /// It cannot be loaded; the refusal as JSON.
    Failed(Vec<u8>),
    /// It ends in order.
    Bye,
}

impl Link {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            out: Mutex::default(),
            flush: Notify::new(),
            calls: Mutex::default(),
            kill_at: Mutex::default(),
            kill: Notify::new(),
            condemned: OnceLock::new(),
            pinged: AtomicBool::new(false),
        }
    }

    /// Sends a call; its slot is filled by [`Link::read`]. False: the process is gone, the call is another's.
    pub(super) fn call(&self, work: &Work, slot: &Arc<Slot>) -> bool {
        {
            let mut calls = lock(&self.calls);
            if calls.over {
                return false;
            }
            calls.slots.insert(work.id, Arc::clone(slot));
        }
        let left = work.deadline.map_or(0, |deadline| {
            u64::try_from(deadline.saturating_duration_since(Instant::now()).as_millis()).unwrap_or(u64::MAX).max(1)
        });
        let body = CallBody {
            deadline_ms: left,
            encoding: work.encoding,
            flags: if work.chunks { CALL_WANTS_CHUNKS } else { 0 },
            component: &work.component,
            method: &work.method,
            context: &work.context,
            input: &work.input,
        };
        let frame = Frame { call: work.id, payload: body.to_bytes(), ..Frame::of(CALL) };
        if !self.send(&frame) {
            self.end_call(work.id, CallError::host("too_large", "the input is larger than 16 MiB", false));
        }
        true
    }

    pub(super) fn cancel(&self, id: u64, reason: u32) {
        if self.has(id) {
            self.send(&Frame { call: id, aux: reason, ..Frame::of(CANCEL) });
        }
    }

    pub(super) fn credit(&self, id: u64, bytes: usize) {
        let aux = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.send(&Frame { call: id, aux, ..Frame::of(CREDIT) });
    }

    pub(super) fn has(&self, id: u64) -> bool {
        lock(&self.calls).slots.contains_key(&id)
    }

    pub(super) fn ids(&self) -> Vec<u64> {
        lock(&self.calls).slots.keys().copied().collect()
    }

    /// No call is in flight; stop. Killed when it takes longer than `within`.
    pub(super) fn quiesce(&self, within: Duration) {
        let aux = u32::try_from(within.as_millis()).unwrap_or(u32::MAX);
        self.send(&Frame { aux, ..Frame::of(QUIESCE) });
        self.kill_in(within);
    }

    /// Notes why it is killed; the first reason counts.
    pub(super) fn condemn(&self, why: &'static str) {
        let _ = self.condemned.set(why);
    }

    /// Killed in a while, for a call that hangs.
    pub(super) fn hangs(&self, grace: Duration) {
        self.condemn("a call hung");
        // Alone it need not wait.
        self.kill_in(if lock(&self.calls).slots.len() <= 1 { Duration::ZERO } else { grace });
    }

    fn kill_in(&self, grace: Duration) {
        *lock(&self.kill_at) = Some(Instant::now() + grace);
        self.kill.notify_one();
    }

    /// Asks whether it is there; false when it did not answer the last time.
    pub(super) fn ping(&self) -> bool {
        let answered = !self.pinged.swap(true, Ordering::AcqRel);
        answered && self.send(&Frame::of(PING))
    }

    /// Sends, or keeps for [`Link::flush`]; false when the frame is too long.
    pub(super) fn send(&self, frame: &Frame) -> bool {
        let mut out = lock(&self.out);
        let before = out.len();
        if frame.write_to(&mut out).is_err() {
            return false;
        }
        if before == 0 {
            // What goes wrong here is seen by the reader.
            let sent = self.stream.try_write(&out).unwrap_or_default();
            out.drain(..sent);
        }
        if !out.is_empty() {
            self.flush.notify_one();
        }
        true
    }

    /// Sends on what was kept, until the channel ends.
    pub(super) async fn flush(&self) -> io::Error {
        loop {
            if lock(&self.out).is_empty() {
                self.flush.notified().await;
            }
            if let Err(error) = self.stream.writable().await {
                return error;
            }
            let mut out = lock(&self.out);
            match self.stream.try_write(&out) {
                Ok(sent) => drop(out.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return error,
            }
        }
    }

    /// Reads on until there is news for the keeper; `None` at the end of the channel. `bytes` holds what was read.
    pub(super) async fn read(&self, bytes: &mut Vec<u8>, asks: &Arc<HostAsks>, me: &Arc<Self>) -> Option<News> {
        loop {
            let mut used = 0;
            while let Some((frame, length)) = Frame::read_from(bytes.get(used..)?).ok()? {
                used += length;
                if let Some(news) = self.take(frame, asks, me) {
                    bytes.drain(..used);
                    return Some(news);
                }
            }
            bytes.drain(..used);
            self.stream.readable().await.ok()?;
            match self.stream.try_read_buf(bytes) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }

    fn take(&self, frame: Frame, asks: &Arc<HostAsks>, me: &Arc<Self>) -> Option<News> {
        match frame.kind {
            COMPLETE => {
                let slot = lock(&self.calls).slots.remove(&frame.call);
                if let Some(slot) = slot {
                    slot.complete_owned(frame.status, frame.aux, frame.payload);
                }
            }
            EVENT if frame.aux == STRAY => asks.stray(frame.call),
            EVENT => {
                let slot = lock(&self.calls).slots.get(&frame.call).cloned();
                match (slot, frame.aux) {
                    (Some(slot), EV_PROGRESS) => slot.progress(&frame.payload),
                    (Some(slot), EV_CHUNK) => {
                        slot.chunk(u32::try_from(frame.status).unwrap_or_default(), &frame.payload);
                    }
                    _ => {}
                }
            }
            LOG => {
                if let Ok(line) = serde_json::from_slice::<Line>(&frame.payload) {
                    asks.line(&line);
                }
            }
            REQUEST => {
                if let Ok(body) = RequestBody::of(&frame.payload) {
                    let (link, request) = (Arc::clone(me), body.request);
                    asks.serve(body.service, body.input, move |status, encoding, bytes| {
                        let mut payload = request.to_le_bytes().to_vec();
                        payload.extend_from_slice(bytes);
                        link.send(&Frame { status, aux: encoding, payload, ..Frame::of(REPLY) });
                    });
                }
            }
            PONG => self.pinged.store(false, Ordering::Release),
            READY => return Some(News::Ready(frame.payload)),
            FAIL => return Some(News::Failed(frame.payload)),
            BYE => return Some(News::Bye),
            _ => {}
        }
        None
    }

    /// Ends every call with an error; of a process that is gone.
    pub(super) fn end_all(&self, error: &dyn Fn() -> CallError) {
        let calls = std::mem::replace(&mut *lock(&self.calls), Calls { slots: HashMap::new(), over: true });
        calls.slots.into_values().for_each(|slot| slot.fail(error()));
    }

    fn end_call(&self, id: u64, error: CallError) {
        let slot = lock(&self.calls).slots.remove(&id);
        if let Some(slot) = slot {
            slot.fail(error);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

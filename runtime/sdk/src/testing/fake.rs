//! The harness's host: the table of functions over a map of calls.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use roster_abi::c::{Host, Out, Payload, Slice};
use roster_abi::code;
use serde_json::Value;

use super::{Answer, Instance, Line};
use crate::error::{Error, Result};

type Service = Arc<dyn Fn(Value) -> Result<Value> + Send + Sync>;

pub(super) struct FakeHost {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    last: u64,
    calls: HashMap<u64, Progressing>,
    services: HashMap<String, Service>,
    lines: Vec<Line>,
    strays: u64,
    room: Option<usize>,
    /// Where replies go; gone with the instance.
    plugin: Weak<Instance>,
}

/// A call under way.
#[derive(Default)]
struct Progressing {
    cancelled: i32,
    progress: Vec<Vec<u8>>,
    chunks: VecDeque<Vec<u8>>,
    end: Option<(i32, u32, Vec<u8>)>,
}

/// Runs a function with an `arp_out`: what it wrote, or the failure it wrote.
pub(super) fn answered(function: impl FnOnce(*const Out) -> i32) -> Result<Vec<u8>> {
    type Written = (Vec<u8>, Vec<u8>);
    unsafe extern "C" fn write(ctx: *mut c_void, kind: u32, data: Slice) {
        // SAFETY: `ctx` is the pair below, which lives while the function runs; the slice until this returns.
        let (pair, bytes) = unsafe { (&mut *ctx.cast::<Written>(), data.bytes()) };
        let place = if kind == code::OUT_VALUE { &mut pair.0 } else { &mut pair.1 };
        place.extend_from_slice(bytes);
    }
    let mut written: Written = (Vec::new(), Vec::new());
    let out = Out { ctx: (&raw mut written).cast(), write };
    match function(&raw const out) {
        code::OK => Ok(written.0),
        status => Err(failure(status, &written.1)),
    }
}

fn failure(status: i32, json: &[u8]) -> Error {
    match serde_json::from_slice(json) {
        Ok(fault) => Error::of_fault(status, fault),
        Err(_) => Error::with(status, "unexplained", format!("failed with {status} and no readable error")),
    }
}

fn values(texts: impl IntoIterator<Item = Vec<u8>>) -> Vec<Value> {
    texts.into_iter().map(|text| serde_json::from_slice(&text).unwrap_or_default()).collect()
}

impl FakeHost {
    /// A host lives for ever, as the contract says: a plugin's stray thread may still ask it.
    pub(super) fn leaked() -> &'static Self {
        Box::leak(Box::new(Self { state: Mutex::default(), changed: Condvar::new() }))
    }

    pub(super) fn table(&'static self) -> *const Host {
        Box::leak(Box::new(Host {
            struct_size: size_of::<Host>() as u32,
            abi_major: code::ABI_MAJOR,
            abi_minor: code::ABI_MINOR,
            ctx: std::ptr::from_ref(self).cast_mut().cast(),
            log,
            emit,
            complete,
            cancelled,
            request,
            clock_unix_ms,
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn bind(&self, plugin: &Arc<Instance>) {
        self.state().plugin = Arc::downgrade(plugin);
    }

    pub(super) fn serve(&self, name: &str, service: Service) {
        self.state().services.insert(name.to_owned(), service);
    }

    pub(super) fn narrow(&self, chunks: usize) {
        self.state().room = Some(chunks);
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        self.state().lines.clone()
    }

    pub(super) fn strays(&self) -> u64 {
        self.state().strays
    }

    pub(super) fn open_call(&self) -> u64 {
        let mut state = self.state();
        state.last += 1;
        let id = state.last;
        state.calls.insert(id, Progressing::default());
        id
    }

    pub(super) fn cancel(&self, call: u64, reason: u32) {
        if let Some(call) = self.state().calls.get_mut(&call) {
            call.cancelled = reason.cast_signed();
        }
        self.changed.notify_all();
    }

    /// Waits until `ready` finds what it looks for in the call, or the patience ends.
    fn until<T>(&self, call: u64, patience: Duration, ready: impl Fn(&mut Progressing) -> Option<T>) -> Option<T> {
        let mut found = None;
        let waiting = |state: &mut State| {
            found = state.calls.get_mut(&call).and_then(&ready);
            found.is_none() && state.calls.contains_key(&call)
        };
        let waited = self.changed.wait_timeout_while(self.state(), patience, waiting);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        found
    }

    pub(super) fn wait(&self, call: u64, patience: Duration) -> Answer {
        let ended = self.until(call, patience, |call| call.end.take());
        let rest = self.state().calls.remove(&call).unwrap_or_default();
        let (status, encoding, bytes) = ended.unwrap_or((code::E_DEADLINE, code::ENC_JSON, Vec::new()));
        let result = match status {
            code::OK if encoding == code::ENC_JSON => serde_json::from_slice(&bytes).map_err(Error::from),
            code::OK => Ok(Value::Null),
            status => Err(failure(status, &bytes)),
        };
        let progress = rest.progress.iter().map(|text| serde_json::from_slice(text).unwrap_or_default()).collect();
        Answer { result, bytes: (encoding, bytes), progress, chunks: values(rest.chunks) }
    }

    /// The next chunk, and whether taking it made room where there was none.
    pub(super) fn next_chunk(&self, call: u64, patience: Duration) -> Option<(Value, bool)> {
        let room = self.state().room;
        let taken = self.until(call, patience, |call| {
            let full = room.is_some_and(|room| call.chunks.len() >= room);
            match call.chunks.pop_front() {
                Some(chunk) => Some(Some((chunk, full))),
                None => call.end.is_some().then_some(None),
            }
        });
        self.changed.notify_all();
        let (chunk, full) = taken??;
        Some((serde_json::from_slice(&chunk).unwrap_or_default(), full))
    }

    pub(super) fn wait_for_progress(&self, call: u64, patience: Duration) {
        self.until(call, patience, |call| (!call.progress.is_empty() || call.end.is_some()).then_some(()));
    }

    pub(super) fn end(&self, call: u64, status: i32, encoding: u32, bytes: Vec<u8>) -> i32 {
        let mut state = self.state();
        let given = match state.calls.get_mut(&call) {
            Some(open) if open.end.is_none() => {
                open.end = Some((status, encoding, bytes));
                code::OK
            }
            _ => {
                state.strays += 1;
                code::E_NO_SUCH_CALL
            }
        };
        drop(state);
        self.changed.notify_all();
        given
    }

    fn emitted(&self, call: u64, kind: u32, bytes: Vec<u8>) -> i32 {
        let mut state = self.state();
        let room = state.room;
        let status = match state.calls.get_mut(&call) {
            Some(open) if open.end.is_some() => code::E_NO_SUCH_CALL,
            Some(open) if open.cancelled != 0 => code::E_CANCELLED,
            Some(open) if kind == code::EV_CHUNK => {
                if room.is_some_and(|room| open.chunks.len() >= room) {
                    return code::E_BUSY;
                }
                open.chunks.push_back(bytes);
                code::OK
            }
            Some(open) => {
                open.progress.push(bytes);
                code::OK
            }
            None => code::E_NO_SUCH_CALL,
        };
        drop(state);
        self.changed.notify_all();
        status
    }

    /// Answers from a thread: never from inside `request`.
    fn requested(&self, req: u64, service: &str, input: &[u8]) -> i32 {
        let state = self.state();
        let (answer, plugin) = (state.services.get(service).cloned(), Weak::clone(&state.plugin));
        drop(state);
        let Some(answer) = answer else { return code::E_DENIED };
        let input = serde_json::from_slice(input).unwrap_or_default();
        std::thread::spawn(move || {
            let (status, json) = match answer(input) {
                Ok(value) => (code::OK, value.to_string().into_bytes()),
                Err(error) => (error.status(), serde_json::to_vec(error.fault()).unwrap_or_default()),
            };
            if let Some(plugin) = plugin.upgrade() {
                plugin.reply(req, status, &json);
            }
        });
        code::OK
    }
}

/// The host behind `ctx`.
///
/// # Safety
/// `ctx` is the one of [`FakeHost::table`].
unsafe fn host(ctx: *mut c_void) -> &'static FakeHost {
    // SAFETY: the caller's promise; it lives for ever.
    unsafe { &*ctx.cast_const().cast() }
}

/// What a payload carries.
///
/// # Safety
/// NULL, or readable until the function it came with returns.
unsafe fn carried(payload: *const Payload) -> (u32, Vec<u8>) {
    // SAFETY: the caller's promise.
    match unsafe { payload.as_ref() } {
        // SAFETY: as above.
        Some(payload) => (payload.encoding, unsafe { payload.data.bytes() }.to_vec()),
        None => (0, Vec::new()),
    }
}

unsafe extern "C" fn log(ctx: *mut c_void, _call: u64, level: u32, _target: Slice, message: Slice, _fields: Slice) {
    // SAFETY: our own `ctx`; the slice lives until this returns.
    let (host, message) = unsafe { (host(ctx), message.bytes()) };
    host.state().lines.push(Line { level, message: String::from_utf8_lossy(message).into_owned() });
}

unsafe extern "C" fn emit(ctx: *mut c_void, call: u64, kind: u32, payload: *const Payload) -> i32 {
    // SAFETY: our own `ctx`; the payload lives until this returns.
    let (host, (_, bytes)) = unsafe { (host(ctx), carried(payload)) };
    host.emitted(call, kind, bytes)
}

unsafe extern "C" fn complete(ctx: *mut c_void, call: u64, status: i32, payload: *const Payload) -> i32 {
    // SAFETY: our own `ctx`; the payload lives until this returns.
    let (host, (encoding, bytes)) = unsafe { (host(ctx), carried(payload)) };
    host.end(call, status, encoding, bytes)
}

unsafe extern "C" fn cancelled(ctx: *mut c_void, call: u64) -> i32 {
    // SAFETY: our own `ctx`.
    let host = unsafe { host(ctx) };
    host.state().calls.get(&call).map_or(code::E_NO_SUCH_CALL, |call| call.cancelled)
}

unsafe extern "C" fn request(ctx: *mut c_void, _call: u64, req: u64, service: Slice, payload: *const Payload) -> i32 {
    // SAFETY: our own `ctx`; slice and payload live until this returns.
    let (host, service, (_, bytes)) = unsafe { (host(ctx), service.bytes(), carried(payload)) };
    host.requested(req, &String::from_utf8_lossy(service), &bytes)
}

unsafe extern "C" fn clock_unix_ms(_ctx: *mut c_void) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "this is the host's clock")]
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

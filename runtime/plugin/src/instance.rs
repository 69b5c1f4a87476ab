//! A plugin's instance in this very process, be it the runtime's or the plugin's own: the host's half of the contract.
#![expect(unsafe_code, reason = "calls into a plugin's table, and what it calls back")]

mod calls;
mod pool;
mod table;

pub(crate) use calls::{Answer, Work};
pub(crate) use table::{Asks, Line, Surroundings};

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

use roster_abi::c::{Call, Out, Payload, PluginApi, Slice};
use roster_abi::code::{CALL_WANTS_CHUNKS, E_BUSY, E_CANCELLED, OK, OUT_ERROR};
use tokio::time::Instant;

use crate::library::Library;
use crate::preflight::Manifest;
use crate::refusal::{Refusal, RefusalKind};
use calls::Live;
use pool::Pool;
use table::HostSide;

/// An inline call that takes longer is warned of.
const SLOW: Duration = Duration::from_millis(10);
/// After so many of them the plugin is treated as one that blocks.
const MOST_SLOW: u32 = 3;

/// A created instance. Its last owner must have called [`Instance::destroy`], or it is leaked.
pub(crate) struct Instance {
    api: PluginApi,
    raw: *mut c_void,
    host: &'static HostSide,
    pool: Pool,
    blocking: bool,
    slow: AtomicU32,
    /// Threads that are inside of the plugin now.
    inside: AtomicU32,
    /// Set once, before the instance is freed.
    ended: AtomicBool,
}

/// A thread on its way through the plugin.
struct Inside<'a>(&'a Instance);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

// SAFETY: the contract lets `call` be entered from any thread (one at a time unless CONCURRENT, which the pool sees to),
// `cancel`, `writable` and `reply` beside it; the others are called by one owner.
unsafe impl Send for Instance {}
// SAFETY: as above.
unsafe impl Sync for Instance {}

/// A library whose table was read; from here static facts can be had and instances made.
pub(crate) struct Loaded {
    api: PluginApi,
    host: &'static HostSide,
    blocking: bool,
    concurrent: bool,
}

impl Loaded {
    /// Opens a staged copy and reads its table. The host's half is leaked: a stray thread may call it whenever it likes.
    pub(crate) fn open(path: &std::path::Path, manifest: &Manifest, around: Surroundings) -> Result<Self, Refusal> {
        let library = Library::open(path, manifest)?;
        let host = HostSide::leak(around);
        let api = library.api(&host.table)?;
        Ok(Self { api, host, blocking: manifest.is_blocking(), concurrent: manifest.is_concurrent() })
    }

    /// What it contributes, without an instance.
    pub(crate) fn describe(&self) -> Result<Vec<u8>, Refusal> {
        describe(&self.api, std::ptr::null_mut())
    }

    /// Makes an instance with this configuration, with at most `threads` threads of the host's for calls that block.
    pub(crate) fn create(self, config: &[u8], threads: usize, name: &str) -> Result<Arc<Instance>, Refusal> {
        let Some(create) = self.api.create else { return Err(no_function("create")) };
        let mut raw = std::ptr::null_mut();
        let (status, out) = written(|out| {
            // SAFETY: the table is the plugin's own; everything borrowed lives until the function returns.
            unsafe { create(&raw const self.host.table, Slice::of(config), out, &raw mut raw) }
        });
        if status != OK {
            return Err(said_no("create", status, &out.error));
        }
        let threads = if self.concurrent { threads } else { 1 };
        let (api, host) = (self.api, self.host);
        let instance = Instance {
            api,
            raw,
            host,
            pool: Pool::new(name, threads),
            blocking: self.blocking || !self.concurrent,
            slow: AtomicU32::new(0),
            inside: AtomicU32::new(0),
            ended: AtomicBool::new(false),
        };
        let instance = Arc::new(instance);
        host.belongs_to(Arc::downgrade(&instance));
        Ok(instance)
    }
}

impl Instance {
    /// What it contributes now.
    pub(crate) fn describe(&self) -> Result<Vec<u8>, Refusal> {
        describe(&self.api, self.raw)
    }

    /// Whether it is well.
    pub(crate) fn health(&self) -> Result<(), Refusal> {
        let Some(health) = self.api.health else { return Ok(()) };
        // SAFETY: the instance is alive: only `destroy` ends it, and it takes the last owner.
        let (status, out) = written(|out| unsafe { health(self.raw, out) });
        if status == OK { Ok(()) } else { Err(said_no("health", status, &out.error)) }
    }

    /// Begins a call: on a thread of the pool when it may block, else right here. `answer` gets exactly one completion.
    pub(crate) fn start(self: &Arc<Self>, work: Work, answer: Arc<dyn Answer>) {
        let live = Arc::new(Live::new(answer, &work, self.blocking));
        self.host.calls.add(work.id, Arc::clone(&live));
        if self.blocking || self.slow.load(Ordering::Relaxed) >= MOST_SLOW {
            let this = Arc::clone(self);
            if let Err(error) = self.pool.run(work.id, move || this.enter(&work, &live, Instant::now())) {
                self.host.calls.finish(error.call, E_BUSY, &error_json("busy", &error.message));
            }
            return;
        }
        let began = Instant::now();
        self.enter(&work, &live, began);
        let took = began.elapsed();
        if took > SLOW {
            let times = self.slow.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::warn!(
                component = work.component,
                took_ms = took.as_millis() as u64,
                times,
                "a plugin that says it does not block held its thread; after {MOST_SLOW} times it runs on threads of its own"
            );
        }
    }

    fn enter(&self, work: &Work, live: &Live, now: Instant) {
        if live.cancelled() != 0 {
            self.host.calls.finish(work.id, E_CANCELLED, &error_json("cancelled", "cancelled before it began"));
            return;
        }
        let left = work.deadline.map_or(0, |deadline| {
            u64::try_from(deadline.saturating_duration_since(now).as_millis()).unwrap_or(u64::MAX).max(1)
        });
        let call = Call {
            struct_size: size_of::<Call>() as u32,
            flags: if work.chunks { CALL_WANTS_CHUNKS } else { 0 },
            id: work.id,
            deadline_ms: left,
            component: Slice::of(work.component.as_bytes()),
            method: Slice::of(work.method.as_bytes()),
            input: Payload::of(work.encoding, &work.input),
            context: Slice::of(&work.context),
        };
        let (Some(enter), Some(_inside)) = (self.api.call, self.inside()) else {
            self.host.calls.finish(work.id, E_BUSY, &error_json("stopped", "the plugin was stopped"));
            return;
        };
        // SAFETY: the instance is alive (see `health`); all that is borrowed lives until the function returns; the
        // plugin's own guard keeps its panics.
        let status = unsafe { enter(self.raw, &raw const call) };
        if status < OK {
            let text = format!("`{}` refused the call", work.component);
            self.host.calls.finish(work.id, status, &error_json("refused", &text));
        }
    }

    /// Nobody waits for this call any more.
    pub(crate) fn cancel(&self, call: u64, reason: u32) {
        if !self.host.calls.cancel(call, reason) {
            return;
        }
        if let (Some(cancel), Some(_inside)) = (self.api.cancel, self.inside()) {
            // SAFETY: allowed any time between create and destroy, from any thread.
            unsafe { cancel(self.raw, call, reason) };
        }
    }

    /// Nobody waits for anything any more.
    pub(crate) fn cancel_all(&self, reason: u32) {
        self.host.calls.ids().into_iter().for_each(|call| self.cancel(call, reason));
    }

    /// A chunk of this many bytes was taken by who asked.
    pub(crate) fn credit(&self, call: u64, bytes: usize) {
        if self.host.calls.credit(call, bytes)
            && let (Some(writable), Some(_inside)) = (self.api.writable, self.inside())
        {
            // SAFETY: as for `cancel`.
            unsafe { writable(self.raw, call) };
        }
    }

    /// The answer to what the plugin asked a service.
    pub(crate) fn reply(&self, request: u64, status: i32, encoding: u32, bytes: &[u8]) {
        if let (Some(reply), Some(_inside)) = (self.api.reply, self.inside()) {
            let payload = Payload::of(encoding, bytes);
            // SAFETY: as for `cancel`; the payload lives until the function returns.
            unsafe { reply(self.raw, request, status, &raw const payload) };
        }
    }

    /// The thread of this call will not come back: another takes its place.
    pub(crate) fn write_off(&self, call: u64) {
        self.pool.write_off(call);
    }

    /// Stops the plugin's own threads and frees the instance; false when a thread is still inside of it after
    /// `timeout`: then it is left as it is. No call may be in flight.
    pub(crate) fn destroy(&self, timeout: Duration) -> bool {
        if self.ended.load(Ordering::SeqCst) {
            return true;
        }
        if let (Some(quiesce), Some(_inside)) = (self.api.quiesce, self.inside()) {
            let ms = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
            // SAFETY: the instance is alive and no call is in flight.
            unsafe { quiesce(self.raw, ms) };
        }
        if self.ended.swap(true, Ordering::SeqCst) {
            return true;
        }
        self.pool.close();
        self.host.belongs_to(Weak::new());
        if !self.is_left(timeout) {
            return false;
        }
        if let Some(destroy) = self.api.destroy {
            // SAFETY: once (`ended` was false before), after everything else, and nobody is inside or can come in.
            unsafe { destroy(self.raw) };
        }
        true
    }

    /// Waits until no thread is inside; a call may complete before it returns.
    fn is_left(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        let (nobody, tick) = (Mutex::new(()), Condvar::new());
        let mut guard = nobody.lock().unwrap_or_else(PoisonError::into_inner);
        while self.inside.load(Ordering::SeqCst) > 0 {
            if Instant::now() > until {
                return false;
            }
            guard = tick.wait_timeout(guard, Duration::from_millis(1)).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Comes in, unless the instance is being freed.
    fn inside(&self) -> Option<Inside<'_>> {
        self.inside.fetch_add(1, Ordering::SeqCst);
        let inside = Inside(self);
        (!self.ended.load(Ordering::SeqCst)).then_some(inside)
    }
}

/// What a plugin wrote through `arp_out`.
#[derive(Default)]
struct Written {
    value: Vec<u8>,
    error: Vec<u8>,
}

/// The most that is taken of a description or an error.
const LARGEST_OUT: usize = 4 * 1024 * 1024;

fn written(run: impl FnOnce(*const Out) -> i32) -> (i32, Written) {
    /// # Safety
    /// `ctx` is the `Written` of the running call, `data` readable until it returns.
    unsafe extern "C" fn write(ctx: *mut c_void, kind: u32, data: Slice) {
        // SAFETY: `ctx` is handed out below and is used by one thread until `run` returns, which the contract asks for.
        let (written, bytes) = unsafe { (&mut *ctx.cast::<Written>(), data.bytes()) };
        let to = if kind == OUT_ERROR { &mut written.error } else { &mut written.value };
        let room = LARGEST_OUT.saturating_sub(to.len());
        to.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
    }
    let mut written = Written::default();
    let out = Out { ctx: (&raw mut written).cast(), write };
    let status = run(&raw const out);
    (status, written)
}

fn describe(api: &PluginApi, raw: *mut c_void) -> Result<Vec<u8>, Refusal> {
    let Some(describe) = api.describe else { return Err(no_function("describe")) };
    // SAFETY: NULL or a living instance, as the contract wants.
    let (status, out) = written(|out| unsafe { describe(raw, out) });
    if status == OK { Ok(out.value) } else { Err(said_no("describe", status, &out.error)) }
}

fn no_function(name: &str) -> Refusal {
    Refusal::new(RefusalKind::Abi, format!("has no `{name}`"), "build it with roster-sdk, or after the C template")
}

fn said_no(function: &str, status: i32, error: &[u8]) -> Refusal {
    let said = crate::status::message(status, error);
    Refusal::new(
        RefusalKind::Start,
        format!("did not start: `{function}` answered {said}"),
        "see its log lines above, and its configuration",
    )
}

pub(crate) fn error_json(code: &str, message: &str) -> Vec<u8> {
    serde_json::json!({ "code": code, "message": message, "retryable": false }).to_string().into_bytes()
}

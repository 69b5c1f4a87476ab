//! The table that a plugin gets: logging, events, completions, services. Every function may be called from any thread at
//! any time, with any id; none of them panics into the plugin.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use roster_abi::c::{Host, Payload, Slice};
use roster_abi::code::{
    ABI_MAJOR, ABI_MINOR, E_INTERNAL, E_INVALID, E_NO_SUCH_CALL, E_TOO_LARGE, E_UNSUPPORTED, EV_CHUNK, EV_PROGRESS, OK,
};

use super::Instance;
use super::calls::Calls;

/// A line of a plugin's log.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Line {
    /// The call it belongs to, or 0.
    pub(crate) call: u64,
    /// `LOG_*`.
    pub(crate) level: u32,
    pub(crate) target: String,
    pub(crate) message: String,
    /// A JSON object, or empty.
    pub(crate) fields: String,
}

/// What a plugin asks of the host. Never blocks.
pub(crate) trait Asks: Send + Sync {
    /// A completion came for a call that is not there.
    fn stray(&self, call: u64);
    /// A line of its log.
    fn log(&self, line: Line);
    /// Asks a service; the answer comes through [`Instance::reply`]. Gives a status at once: `OK` means that one comes.
    fn request(self: Arc<Self>, from: &Arc<Instance>, call: u64, request: u64, service: &str, bytes: &[u8]) -> i32;
    /// Milliseconds since 1970.
    fn clock_unix_ms(&self) -> u64;
}

/// What an instance is put into.
pub(crate) struct Surroundings {
    /// Who is asked.
    pub(crate) asks: Arc<dyn Asks>,
    /// The largest output, in bytes.
    pub(crate) output: usize,
}

/// The host's half of one instance. Leaked: a plugin's stray thread may hold it until the process ends.
pub(super) struct HostSide {
    pub(super) table: Host,
    pub(super) calls: Calls,
    around: Surroundings,
    instance: Mutex<Weak<Instance>>,
}

/// The longest line of a log, and of each of its parts.
const LONGEST_LINE: usize = 16 * 1024;

impl HostSide {
    pub(super) fn leak(around: Surroundings) -> &'static Self {
        let table = Host {
            struct_size: size_of::<Host>() as u32,
            abi_major: ABI_MAJOR,
            abi_minor: ABI_MINOR,
            ctx: std::ptr::null_mut(),
            log,
            emit,
            complete,
            cancelled,
            request,
            clock_unix_ms,
        };
        let side = Self { table, calls: Calls::default(), around, instance: Mutex::default() };
        let side = Box::into_raw(Box::new(side));
        // SAFETY: the pointer is the box's own; nobody else has it yet, and it is never freed.
        unsafe {
            (*side).table.ctx = side.cast();
            &*side
        }
    }

    pub(super) fn belongs_to(&self, instance: Weak<Instance>) {
        *self.instance.lock().unwrap_or_else(PoisonError::into_inner) = instance;
    }

    fn instance(&self) -> Option<Arc<Instance>> {
        self.instance.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }
}

// SAFETY: the table's pointer is to the value itself, which is shared behind locks.
unsafe impl Send for HostSide {}
// SAFETY: as above.
unsafe impl Sync for HostSide {}

/// # Safety
/// `ctx` is the one of a leaked [`HostSide`].
unsafe fn side<'a>(ctx: *mut c_void) -> &'a HostSide {
    // SAFETY: the caller's; it is leaked, so it lives for ever, and only read.
    unsafe { &*ctx.cast::<HostSide>() }
}

/// A fault of ours stays here.
fn guarded(run: impl FnOnce() -> i32) -> i32 {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(E_INTERNAL)
}

/// # Safety
/// The contract's: slices are readable until it returns.
unsafe extern "C" fn log(ctx: *mut c_void, call: u64, level: u32, target: Slice, message: Slice, fields: Slice) {
    // SAFETY: the contract's.
    let (side, target, message, fields) = unsafe { (side(ctx), target.bytes(), message.bytes(), fields.bytes()) };
    guarded(|| {
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes.get(..bytes.len().min(LONGEST_LINE)).unwrap_or_default()).into_owned()
        };
        // Half an object is none.
        let fields = if fields.len() > LONGEST_LINE { String::new() } else { text(fields) };
        side.around.asks.log(Line { call, level, target: text(target), message: text(message), fields });
        OK
    });
}

/// # Safety
/// The contract's: `payload` is NULL or readable until it returns.
unsafe extern "C" fn emit(ctx: *mut c_void, call: u64, kind: u32, payload: *const Payload) -> i32 {
    // SAFETY: the contract's.
    let (side, (encoding, bytes)) = unsafe { (side(ctx), content(payload)) };
    guarded(|| {
        let Some(live) = side.calls.get(call) else { return E_NO_SUCH_CALL };
        if bytes.len() > side.around.output {
            return E_TOO_LARGE;
        }
        match kind {
            EV_PROGRESS => live.progress(bytes),
            EV_CHUNK => live.chunk(encoding, bytes),
            _ => E_UNSUPPORTED,
        }
    })
}

/// # Safety
/// As for [`emit`].
unsafe extern "C" fn complete(ctx: *mut c_void, call: u64, status: i32, payload: *const Payload) -> i32 {
    // SAFETY: the contract's.
    let (side, (encoding, bytes)) = unsafe { (side(ctx), content(payload)) };
    guarded(|| {
        let taken = side.calls.complete(call, status, encoding, bytes, side.around.output);
        if taken == E_NO_SUCH_CALL {
            side.around.asks.stray(call);
        }
        taken
    })
}

/// # Safety
/// The contract's.
unsafe extern "C" fn cancelled(ctx: *mut c_void, call: u64) -> i32 {
    // SAFETY: the contract's.
    let side = unsafe { side(ctx) };
    guarded(|| side.calls.get(call).map_or(E_NO_SUCH_CALL, |live| live.cancelled()))
}

/// # Safety
/// As for [`emit`].
unsafe extern "C" fn request(ctx: *mut c_void, call: u64, req: u64, service: Slice, payload: *const Payload) -> i32 {
    // SAFETY: the contract's.
    let (side, service, (_, bytes)) = unsafe { (side(ctx), service.bytes(), content(payload)) };
    guarded(|| {
        let Some(instance) = side.instance() else { return E_UNSUPPORTED };
        let Ok(service) = std::str::from_utf8(service) else { return E_INVALID };
        if bytes.len() > side.around.output {
            return E_TOO_LARGE;
        }
        Arc::clone(&side.around.asks).request(&instance, call, req, service, bytes)
    })
}

/// # Safety
/// The contract's.
unsafe extern "C" fn clock_unix_ms(ctx: *mut c_void) -> u64 {
    // SAFETY: the contract's.
    let side = unsafe { side(ctx) };
    catch_unwind(AssertUnwindSafe(|| side.around.asks.clock_unix_ms())).unwrap_or_default()
}

/// # Safety
/// `payload` is NULL or readable, with what it points to, for `'a`.
unsafe fn content<'a>(payload: *const Payload) -> (u32, &'a [u8]) {
    if payload.is_null() {
        return (roster_abi::code::ENC_JSON, &[]);
    }
    // SAFETY: the caller's.
    unsafe { ((*payload).encoding, (*payload).data.bytes()) }
}

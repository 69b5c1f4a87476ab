//! The structs that cross as C. Field order is the layout.

use std::ffi::c_void;

use crate::code;

/// Borrowed bytes, valid until the function that carried them returns. `ptr` may be anything when `len` is 0.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Slice {
    /// The first byte.
    pub ptr: *const u8,
    /// How many.
    pub len: usize,
}

/// Borrowed bytes and what they are.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Payload {
    /// `ENC_*`.
    pub encoding: u32,
    /// Zero.
    pub reserved: u32,
    /// The bytes.
    pub data: Slice,
}

/// What a library says about itself, read from the file before it is opened: no pointers, no relocations. Exported as
/// the constant `arp_plugin_manifest`. The first 32 bytes never change in any major version.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manifest {
    /// `MAGIC`.
    pub magic: u64,
    /// Of this struct as the plugin knows it.
    pub struct_size: u32,
    /// `MF_*`.
    pub flags: u32,
    /// The major version the plugin was built for.
    pub abi_major: u16,
    /// The minor version the plugin was built for.
    pub abi_minor: u16,
    /// The least minor version it needs from a host.
    pub abi_minor_min: u16,
    /// 64.
    pub pointer_bits: u16,
    /// Size of the plugin's `arp_plugin_api`.
    pub plugin_api_size: u32,
    /// The least size of `arp_host` it needs.
    pub host_size_min: u32,
    /// Reverse-DNS id, zero-padded.
    pub id: [u8; 64],
    /// Semantic version, zero-padded.
    pub version: [u8; 32],
    /// `rustc 1.95 sdk 1.0`, zero-padded.
    pub toolchain: [u8; 64],
}

/// Where a synchronous answer is written, any number of times; the pieces are joined.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Out {
    /// Handed back to `write`.
    pub ctx: *mut c_void,
    /// `kind` is `OUT_*`.
    pub write: unsafe extern "C" fn(ctx: *mut c_void, kind: u32, data: Slice),
}

/// A call. Everything in it is borrowed until the function `call` returns; a plugin copies what it keeps.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Of this struct as the host knows it.
    pub struct_size: u32,
    /// `CALL_*`.
    pub flags: u32,
    /// Never reused in the life of the host.
    pub id: u64,
    /// Milliseconds from now; 0 = none.
    pub deadline_ms: u64,
    /// `get_forecast`.
    pub component: Slice,
    /// `invoke`.
    pub method: Slice,
    /// The input.
    pub input: Payload,
    /// JSON: run, thread, resource, traceparent, tenant.
    pub context: Slice,
}

/// What a plugin may ask of the host. Valid for the life of the process, from any thread; no pointer in it is NULL.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// Of this struct as the host knows it.
    pub struct_size: u32,
    /// `ABI_MAJOR` of the host.
    pub abi_major: u16,
    /// `ABI_MINOR` of the host.
    pub abi_minor: u16,
    /// Handed back to every function.
    pub ctx: *mut c_void,
    /// `call` is the call it belongs to or 0; `level` is `LOG_*`; `fields_json` is a JSON object or empty.
    pub log: unsafe extern "C" fn(
        ctx: *mut c_void,
        call: u64,
        level: u32,
        target: Slice,
        message: Slice,
        fields_json: Slice,
    ),
    /// `kind` is `EV_*`. From a BLOCKING call a CHUNK waits for room; else `E_BUSY`, and `writable` comes later.
    pub emit: unsafe extern "C" fn(ctx: *mut c_void, call: u64, kind: u32, payload: *const Payload) -> i32,
    /// Exactly once per accepted call, inside `call` or later, from any thread. `E_TOO_LARGE`: nothing was taken, the
    /// call is still open.
    pub complete: unsafe extern "C" fn(ctx: *mut c_void, call: u64, status: i32, payload: *const Payload) -> i32,
    /// 0, or `CANCEL_*`; `E_NO_SUCH_CALL` for an id that is done.
    pub cancelled: unsafe extern "C" fn(ctx: *mut c_void, call: u64) -> i32,
    /// Asks a host service; `req` is chosen by the plugin and comes back in `reply`, exactly once if this gives `OK`.
    /// `call` is the call it is asked for, or 0. Not before `create` returned: there is nobody to reply to.
    pub request:
        unsafe extern "C" fn(ctx: *mut c_void, call: u64, req: u64, service: Slice, payload: *const Payload) -> i32,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub clock_unix_ms: unsafe extern "C" fn(ctx: *mut c_void) -> u64,
}

/// What a plugin offers: a static table, given by the entry function. Up to `destroy` everything is mandatory.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PluginApi {
    /// Of this struct as the plugin knows it.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Makes an instance. On failure: a status below 0 and the error in `out`; then no `destroy`.
    pub create: Option<
        unsafe extern "C" fn(host: *const Host, config_json: Slice, out: *const Out, instance: *mut *mut c_void) -> i32,
    >,
    /// What it contributes, JSON. `instance` is NULL when only static facts are asked for.
    pub describe: Option<unsafe extern "C" fn(instance: *mut c_void, out: *const Out) -> i32>,
    /// `OK`: accepted, one completion comes. Below 0: refused, none comes.
    pub call: Option<unsafe extern "C" fn(instance: *mut c_void, call: *const Call) -> i32>,
    /// Frees the instance; no call is in flight, nothing of the plugin runs after it.
    pub destroy: Option<unsafe extern "C" fn(instance: *mut c_void)>,
    /// Nobody waits for this call any more; `reason` is `CANCEL_*`.
    pub cancel: Option<unsafe extern "C" fn(instance: *mut c_void, call: u64, reason: u32)>,
    /// There is room for chunks of this call again.
    pub writable: Option<unsafe extern "C" fn(instance: *mut c_void, call: u64)>,
    /// The answer to `request`.
    pub reply: Option<unsafe extern "C" fn(instance: *mut c_void, req: u64, status: i32, payload: *const Payload)>,
    /// Stop and join own threads, flush; returns within `timeout_ms`.
    pub quiesce: Option<unsafe extern "C" fn(instance: *mut c_void, timeout_ms: u32) -> i32>,
    /// `OK`, or a status and the error in `out`.
    pub health: Option<unsafe extern "C" fn(instance: *mut c_void, out: *const Out) -> i32>,
}

/// The type of the exported function `arp_plugin_entry_v1`: does no work, starts no thread, may be called repeatedly.
pub type Entry = unsafe extern "C" fn(host: *const Host) -> *const PluginApi;

/// Name of the exported manifest.
pub const MANIFEST_SYMBOL: &str = "arp_plugin_manifest";
/// Name of the exported entry function.
pub const ENTRY_SYMBOL: &str = "arp_plugin_entry_v1";

impl Slice {
    /// No bytes.
    pub const EMPTY: Self = Self { ptr: std::ptr::null(), len: 0 };

    /// Borrows `bytes`; the caller keeps them alive as long as the function it hands the slice to runs.
    #[must_use]
    pub const fn of(bytes: &[u8]) -> Self {
        Self { ptr: bytes.as_ptr(), len: bytes.len() }
    }

    /// The bytes.
    ///
    /// # Safety
    /// `ptr` and `len` name readable bytes that stay unchanged for `'a`, or `len` is 0.
    #[must_use]
    pub const unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the caller's promise; a length of zero with any pointer was handled above.
        unsafe { std::slice::from_raw_parts(self.ptr, self.len) }
    }
}

impl Payload {
    /// Borrows `bytes` as `encoding` (`ENC_*`).
    #[must_use]
    pub const fn of(encoding: u32, bytes: &[u8]) -> Self {
        Self { encoding, reserved: 0, data: Slice::of(bytes) }
    }
}

impl Manifest {
    /// A manifest of this version.
    ///
    /// # Panics
    /// While compiling, when a text does not fit its field.
    #[must_use]
    pub const fn new(id: &str, version: &str, toolchain: &str, flags: u32) -> Self {
        Self {
            magic: code::MAGIC,
            struct_size: size_of::<Self>() as u32,
            flags,
            abi_major: code::ABI_MAJOR,
            abi_minor: code::ABI_MINOR,
            abi_minor_min: 0,
            pointer_bits: usize::BITS as u16,
            plugin_api_size: size_of::<PluginApi>() as u32,
            host_size_min: size_of::<Host>() as u32,
            id: padded(id),
            version: padded(version),
            toolchain: padded(toolchain),
        }
    }
}

const fn padded<const N: usize>(text: &str) -> [u8; N] {
    let text = text.as_bytes();
    assert!(text.len() < N, "too long for the manifest");
    let mut field = [0; N];
    let mut at = 0;
    while at < text.len() {
        field[at] = text[at];
        at += 1;
    }
    field
}

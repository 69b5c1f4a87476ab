//! The numbers: versions, flags, status codes, kinds.

/// A different major is refused.
pub const ABI_MAJOR: u16 = 1;
/// Grows when something is added; a plugin says the least it needs.
pub const ABI_MINOR: u16 = 0;
/// First eight bytes of a manifest: `1ARPLGP1` in memory.
pub const MAGIC: u64 = 0x3150_474C_5052_4131;

/// `call` may block: run it on the plugin's own pool.
pub const MF_BLOCKING: u32 = 1;
/// `call` may be entered by several threads at once.
pub const MF_CONCURRENT: u32 = 2;
/// Built with panic=abort: refused in process.
pub const MF_PANIC_ABORT: u32 = 4;
/// The author asks for process isolation.
pub const MF_WANTS_PROCESS: u32 = 8;
/// An unknown flag in the upper half means: refuse.
pub const MF_CRITICAL: u32 = 0xFFFF_0000;

/// `call`: accepted, one completion comes. As a completion's status: good.
pub const OK: i32 = 0;
/// The input or the configuration is not what was asked for.
pub const E_INVALID: i32 = -1;
/// No such component, method, thread or key.
pub const E_NOT_FOUND: i32 = -2;
/// The plugin panicked.
pub const E_PANIC: i32 = -3;
/// The call was cancelled.
pub const E_CANCELLED: i32 = -4;
/// No room now; try again (`emit`: wait for `writable`).
pub const E_BUSY: i32 = -5;
/// Anything else that failed.
pub const E_INTERNAL: i32 = -6;
/// Known, but not offered here.
pub const E_UNSUPPORTED: i32 = -7;
/// The call's id is unknown or already completed.
pub const E_NO_SUCH_CALL: i32 = -8;
/// The plugin gave the call up without an answer.
pub const E_DROPPED: i32 = -9;
/// More than the limit.
pub const E_TOO_LARGE: i32 = -10;
/// Not granted by the operator.
pub const E_DENIED: i32 = -11;
/// The deadline passed.
pub const E_DEADLINE: i32 = -12;

/// Payload: UTF-8 JSON.
pub const ENC_JSON: u32 = 1;
/// Payload: bytes.
pub const ENC_BYTES: u32 = 2;
/// Payload: 32-bit floats, little endian.
pub const ENC_F32LE: u32 = 3;

/// `emit`: how far the call is; lossy, the newest wins.
pub const EV_PROGRESS: u32 = 1;
/// `emit`: a piece of the answer; lossless and in order.
pub const EV_CHUNK: u32 = 2;

/// `arp_out.write`: the answer, JSON.
pub const OUT_VALUE: u32 = 0;
/// `arp_out.write`: why there is none, JSON `{"code","message","retryable","details"}`.
pub const OUT_ERROR: u32 = 1;

/// `arp_call.flags`: the caller wants CHUNK events.
pub const CALL_WANTS_CHUNKS: u32 = 1;

/// `log`: something failed.
pub const LOG_ERROR: u32 = 1;
/// `log`: something is odd.
pub const LOG_WARN: u32 = 2;
/// `log`: worth knowing.
pub const LOG_INFO: u32 = 3;
/// `log`: for the plugin's author.
pub const LOG_DEBUG: u32 = 4;
/// `log`: everything.
pub const LOG_TRACE: u32 = 5;

/// `cancel` and `cancelled`: whoever asked has left.
pub const CANCEL_CALLER: u32 = 1;
/// `cancel` and `cancelled`: the deadline passed.
pub const CANCEL_DEADLINE: u32 = 2;
/// `cancel` and `cancelled`: the plugin is being replaced or the runtime stops.
pub const CANCEL_SHUTDOWN: u32 = 3;

//! Numbers of the channel between the runtime and a plugin's own process. A frame is a header of [`HEADER_LEN`] bytes,
//! little endian, `len u32 | type u16 | flags u16 | call u64 | status i32 | aux u32`, and `len` bytes of payload.
//!
//! CALL: `deadline_ms u64, encoding u32, flags u32`, then component, method and context as `u32 length + bytes`, the
//! rest is the input. COMPLETE, EVENT, REQUEST and REPLY: `aux` is the encoding or the event's kind; REQUEST and REPLY
//! put the request's id (`u64`) in front of their payload, REQUEST then the service as `u32 length + bytes`.

/// Bytes of a header.
pub const HEADER_LEN: usize = 24;
/// A payload that is longer ends the channel.
pub const MAX_PAYLOAD: usize = 16 * 1024 * 1024;
/// Version of the channel, in HELLO. Both ends are the same binary, so that a difference is an error.
pub const PROTOCOL: u32 = 1;
/// Bytes of chunks a child may send for one call before it waits for CREDIT.
pub const WINDOW: usize = 1024 * 1024;

/// To the child: protocol, build, library, configuration, limits; JSON.
pub const HELLO: u16 = 0;
/// To the child: a call.
pub const CALL: u16 = 1;
/// To the host: the call's end.
pub const COMPLETE: u16 = 2;
/// To the host: progress or a chunk.
pub const EVENT: u16 = 3;
/// To the host: a line of log; JSON.
pub const LOG: u16 = 4;
/// To the child: nobody waits any more; `aux` is the reason.
pub const CANCEL: u16 = 5;
/// To the host: manifest and description; JSON.
pub const READY: u16 = 6;
/// To the host: it cannot be loaded; JSON of the error.
pub const FAIL: u16 = 7;
/// To the host: a service is asked for.
pub const REQUEST: u16 = 8;
/// To the child: the service's answer.
pub const REPLY: u16 = 9;
/// To the child: `aux` more bytes of chunks may be sent for this call.
pub const CREDIT: u16 = 10;
/// Are you there? Either way.
pub const PING: u16 = 11;
/// Yes.
pub const PONG: u16 = 12;
/// To the child: no call is in flight, stop own threads; `aux` is the time in milliseconds.
pub const QUIESCE: u16 = 13;
/// The channel ends in order.
pub const BYE: u16 = 14;

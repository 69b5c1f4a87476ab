//! The contract between the runtime and a plugin, in three layers: what crosses as C ([`c`], with the numbers in
//! [`code`]), what crosses between two processes ([`frame`]), and what the JSON inside says ([`contract`]).
//!
//! Rules that hold for ever within ABI major 1: structs only grow at their end, a field is never reused, reordered or
//! retyped; a struct that can grow begins with its size; no memory changes owner, the receiver copies; text is UTF-8
//! with a length. Whatever is here can also be said as a frame, so that one library runs in process and in a process
//! of its own. The layout is locked by asserts in [`layout`] and by the header `include/roster_plugin.h`, which a test
//! generates from `c.rs` and `code.rs`. 64-bit targets only.
//!
//! What is *not* here: loading, threads, anything that runs.

pub mod c;
pub mod code;
pub mod contract;
pub mod frame;
pub mod layout;

/// The C header of this version, for whoever writes it beside a plugin.
pub const HEADER: &str = include_str!("../include/roster_plugin.h");

#[cfg(test)]
mod tests;

//! The contract between the runtime and a plugin, in three layers: what crosses as C ([`c`], with the numbers in
//! [`code`]), what crosses between two processes ([`frame`]), and what the JSON inside says ([`contract`]).
//!
//! Rules that hold for ever within ABI major 1: structs only grow at their end, a field is never reused, reordered or
//! retyped; a struct that can grow begins with its size; no memory changes owner, the receiver copies; text is UTF-8
//! with a length. Whatever is here can also be said as a frame, so that one library runs in process and in a process
//! of its own. The layout is locked by asserts in `layout.rs`. 64-bit targets only.
//!
//! What is *not* here: loading, threads, anything that runs.

pub mod c;
pub mod code;
pub mod contract;
pub mod frame;
mod layout;

#[cfg(test)]
mod tests;

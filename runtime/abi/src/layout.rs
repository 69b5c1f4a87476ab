//! Where every field of the contract stands. A change that moves one does not compile.

use std::mem::offset_of;

use crate::c::{Call, Host, Manifest, Out, Payload, PluginApi, Slice};
use crate::code::ABI_MAJOR;

/// A struct as it lies in memory; the same numbers stand as asserts in the C header.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// `Slice`.
    pub name: &'static str,
    /// Bytes.
    pub size: usize,
    /// Every field in order, and where it begins.
    pub fields: &'static [(&'static str, usize)],
}

/// Asserts size and offsets of a struct, all of its fields in order, and gives them as a [`Layout`].
macro_rules! locked {
    ($name:ident, $size:literal, { $($field:ident: $offset:literal),* $(,)? }) => {{
        assert!(size_of::<$name>() == $size);
        assert!(align_of::<$name>() == 8);
        $(assert!(offset_of!($name, $field) == $offset);)*
        // Naming every field once: a new one must get its line.
        let _: fn($name) = |$name { $($field: _),* }| {};
        Layout { name: stringify!($name), size: $size, fields: &[$((stringify!($field), $offset)),*] }
    }};
}

const _: () = assert!(usize::BITS == 64 && ABI_MAJOR == 1);

/// All structs, in the order of their definition.
pub const ALL: &[Layout] = &[
    locked!(Slice, 16, { ptr: 0, len: 8 }),
    locked!(Payload, 24, { encoding: 0, reserved: 4, data: 8 }),
    locked!(Manifest, 192, {
        magic: 0, struct_size: 8, flags: 12, abi_major: 16, abi_minor: 18, abi_minor_min: 20, pointer_bits: 22,
        plugin_api_size: 24, host_size_min: 28, id: 32, version: 96, toolchain: 128,
    }),
    locked!(Out, 16, { ctx: 0, write: 8 }),
    locked!(Call, 96, {
        struct_size: 0, flags: 4, id: 8, deadline_ms: 16, component: 24, method: 40, input: 56, context: 80,
    }),
    locked!(Host, 64, {
        struct_size: 0, abi_major: 4, abi_minor: 6, ctx: 8, log: 16, emit: 24, complete: 32, cancelled: 40, request: 48,
        clock_unix_ms: 56,
    }),
    locked!(PluginApi, 80, {
        struct_size: 0, reserved: 4, create: 8, describe: 16, call: 24, destroy: 32, cancel: 40, writable: 48, reply: 56,
        quiesce: 64, health: 72,
    }),
];

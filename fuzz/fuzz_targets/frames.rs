//! Whatever bytes a plugin's own process sends, both readers of the channel agree on them, and what was read is written
//! as it came.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../frames.rs"]
mod frames;

fuzz_target!(|bytes: &[u8]| frames::check(bytes));

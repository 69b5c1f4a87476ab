//! Whatever file lies where a plugin should, it is a plugin or refused in words; looking at it never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster_plugin::preflight::preflight;

fuzz_target!(|bytes: &[u8]| {
    if let Err(refusal) = preflight(bytes) {
        assert!(!refusal.to_string().is_empty());
    }
});

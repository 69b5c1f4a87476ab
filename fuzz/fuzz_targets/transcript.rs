//! Whatever rows a store holds, every provider takes what the reader makes of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster_engine::memory::transcript::{ResultCap, for_model, rules};

#[path = "../rows.rs"]
mod rows;

fuzz_target!(|bytes: &[u8]| {
    let rows = rows::rows(bytes);
    let prompt = for_model(rows.iter().map(|(role, parts)| (*role, parts.as_slice())), ResultCap::default());
    for dialect in rules::Dialect::ALL {
        if let Err(fault) = rules::check(dialect, &prompt) {
            panic!("{dialect:?}: {fault}");
        }
    }
});

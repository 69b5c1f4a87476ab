//! The C header: generated, kept, and compiled.
#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests read and write files of their own"
)]

mod compile;
mod header;

//! The plugin room's tests against real libraries, built by the system's C compiler.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and read files"
)]

mod bytes;
mod conformance;
mod corpora;
mod exporter;
mod failures;
mod inside;
mod liar;
mod memory;
mod outside;
mod pressure;
mod processor;
mod replace;
mod services;
mod shipped;
mod world;

//! Plugins run by the harness, through the functions a host calls.
#![forbid(unsafe_code)]
#![expect(clippy::expect_used, reason = "tests say what they count on")]

mod faults;
mod kinds;
mod services;
mod waiting;
mod weather;

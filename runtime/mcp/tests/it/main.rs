//! Tests of the room `mcp`: its client over real processes.
#![allow(
    unreachable_pub,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "one test binary: it fails by panicking, and reads what its servers wrote"
)]

mod calls;
mod hostile;
mod lives;
mod peer;

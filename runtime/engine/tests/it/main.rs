//! The engine as its users see it: definitions in, turns out; stores and providers handed in by the tests.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]
#![allow(unreachable_pub, reason = "an integration binary has no outside")]

mod double;
mod model;
mod pay;
mod registry;
mod subagents;
mod trace;
mod turn;

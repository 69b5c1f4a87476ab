//! The engine as its users see it: definitions in, turns out; stores and providers handed in by the tests.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]
#![allow(unreachable_pub, reason = "an integration binary has no outside")]

mod approval;
mod double;
mod embedder;
mod export;
mod histories;
mod model;
mod output;
mod pattern;
mod pay;
mod processors;
mod recall;
mod registry;
mod rounds;
mod servers;
mod stored;
mod subagents;
mod title;
mod tool_bounds;
mod tool_result;
mod trace;
mod turn;
mod working;

//! The stores against the conformance suite, and what only a real file can show.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "test helpers fail by panicking")]
#![allow(clippy::print_stdout, reason = "children report to their parent")]
#![allow(clippy::disallowed_methods, reason = "tests look at files and start children from outside the store")]

mod child;
mod copy;
mod delete;
mod faults;
mod full;
mod gate;
mod index;
mod inspect;
mod ledger;
mod log;
mod mastra;
mod modes;
mod observation;
mod old;
mod open;
mod ram;
mod session;
mod shared;
mod sqlite;
mod start;
mod time;

//! Conformance suites: what every implementation of a trait must do, written once.

#![allow(clippy::expect_used, reason = "a suite is test code: a broken rule panics")]

pub mod conversation;
pub mod feed;
pub mod housekeeping;
pub mod ledger;
pub mod provider;
pub mod recall;
pub mod session;
pub mod suspension;
pub mod working;

//! Conformance suites, a scripted model server, fault injectors and temp projects; for tests only.

pub mod clock;
pub mod faulty;
pub mod ids;
pub mod scripted;
pub mod suite;

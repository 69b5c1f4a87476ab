//! Session memory: *store much, feed little*. A factory makes one [`Memory`] per registration; the turn asks it what to
//! feed and hands it what to store.
//!
//! Tier 1 is the window of newest rows, tier 2 [`recall`] by meaning and words, tier 3 [`working`] memory. Whatever they
//! choose reaches a provider through one reader, [`transcript`]; what was chosen and why is the [`feed`] record.

pub mod feed;
mod policy;
pub mod recall;
pub mod title;
pub mod transcript;
mod window;
pub mod working;

pub use policy::{Elsewhere, FactoryError, Keeps, Memory, MemoryFactory, Policy};
pub use window::{CutResult, Fitted, Spoken, estimate_tokens, fit};

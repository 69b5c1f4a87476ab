//! Session memory: *store much, feed little*. A factory makes one [`Memory`] per registration; the turn asks it what to
//! feed and hands it what to store.

mod policy;
pub mod transcript;
mod window;

pub use policy::{FactoryError, Memory, MemoryFactory, Policy};
pub use window::{estimate_tokens, fit};

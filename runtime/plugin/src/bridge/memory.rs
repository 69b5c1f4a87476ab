//! `memory/1` as a conversation store.
//!
//! The plugin keeps threads, messages and working memories. What one turn owes the next is kept here, in this process: one
//! turn of a thread at a time, rows of dead turns marked, dates in order. Recall, copies and feed records are nobody's:
//! such a call says so.

mod handle;
mod lines;
mod session;
mod store;
mod told;
mod turns;

pub use handle::Finder;
pub use store::{Beside, PluginMemory, open, opened};

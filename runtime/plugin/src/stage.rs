//! From the file an operator put somewhere to a private copy under a name that was never used: the copy is what is
//! opened, so that overwriting the file does nothing to code that runs, and a new one is never taken for the old.

mod cache;
mod source;

pub use cache::{Cache, Staged};
pub(crate) use source::hex;
pub use source::{Source, locate, read};

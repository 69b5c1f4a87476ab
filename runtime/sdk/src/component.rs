//! The kinds of components, one file each; every file adds its methods to [`crate::registry::Registry`].

mod embedder;
mod exporter;
mod memory;
mod model;
mod processor;
#[cfg(feature = "tokio")]
mod tasks;
mod tool;

pub use memory::Memory;
pub use processor::ProcessorEntry;
#[cfg(feature = "tokio")]
pub(crate) use tasks::Tasks;

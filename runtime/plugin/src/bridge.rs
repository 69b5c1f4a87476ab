//! What a plugin contributes, in the shape the runtime expects it. A bridge holds the plugin, not a generation: calls go
//! to whatever serves.

pub mod embedder;
pub mod exporter;
pub mod memory;
pub mod model;
pub mod processor;
pub mod tool;

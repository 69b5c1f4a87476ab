//! Agent definitions: from the text of a TOML file to a checked [`Definition`], with every problem of every file in
//! one pass. Reads no file itself and makes nothing: a definition is data, names and policies only.

mod agent;
pub mod keys;
mod lines;
mod load;
mod load_memory;
pub mod orchestration;
mod path;
mod positions;
pub mod problem;
pub mod schema;
pub mod shape;
mod suggest;
pub mod syntax;
pub mod table;
pub mod text;
pub mod units;
pub mod view;

pub use agent::{
    Definition, MemoryConfig, ModelChoice, ModelTable, OnDisconnect, OnProcessorError, RecallConfig, Scope,
    ToolSettings, WindowConfig, WorkingConfig, WorkingForm, fingerprint_of,
};
pub use lines::Lines;
pub use load::{DEFAULT_RESOURCE, Instructions, Loaded, Unreadable, load_agent};
pub use load_memory::DEFAULT_TEMPLATE;
pub use orchestration::{Orchestration, Pattern, Stage};
pub use positions::{Positions, SettingsPositions};
pub use problem::{Problem, Severity, keep_first};
pub use suggest::suggest;

#[cfg(test)]
mod tests;

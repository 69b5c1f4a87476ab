//! Agent definitions: from the text of a TOML file to a checked [`Definition`], with every problem of every file in
//! one pass. Reads no file itself and makes nothing: a definition is data, names and policies only.

mod agent;
pub mod problem;

pub use agent::{
    Definition, MemoryConfig, ModelChoice, ModelTable, OnDisconnect, ToolSettings, WindowConfig, fingerprint_of,
};
pub use problem::{Problem, Severity};

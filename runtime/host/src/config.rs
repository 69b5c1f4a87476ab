//! What people write besides agents: `config/runtime.toml`, `config/registry.toml`, and the reading of a whole
//! project. The only room that reads the project's files.

mod expand;
pub mod models;
mod plugins;
pub(crate) mod project;
mod registry;
mod runtime;
pub mod schema;
pub(crate) mod secret;
mod shapes;

pub use plugins::{EXECUTABLE, PluginEntry, PluginsConfig};
pub use project::{AgentFile, ProjectFiles, ReadFailure, read_config, read_file, read_project};
pub use registry::{LoadedRegistry, RegistryLine, load_registry};
pub(crate) use runtime::unknown_agents;
pub use runtime::{
    Auth, ExporterEntry, Limits, Listener, LoadedRuntime, McpReach, McpServer, ObservabilityConfig, OfferedAgent,
    Proof, ProviderConfig, ProviderKey, ProxyConfig, Reach, ReloadConfig, RuntimeConfig, Setting, StorageConfig, Token,
    is_open, load_runtime,
};
pub use secret::Secret;

/// Asks for an environment variable; `None` when it is not set.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

#[cfg(test)]
mod tests;

//! The registry: which agents are served now, at which version, and how the next version comes about.
//!
//! `prepare` does all that may fail, per agent; `publish` swaps one `Arc` and cannot fail. A turn keeps the snapshot it
//! began with.

mod absent;
mod catalog;
mod control;
mod cycles;
mod diff;
mod prepare;
mod providers;
mod remote;
mod resolve;
mod snapshot;

pub use catalog::{
    BoundEmbedder, BoundModel, BoundProcessor, Catalog, EmbedderSource, FactorySource, ModelSource, NameFault,
    PluginNames, PluginStanding, ProcessorSource,
};
pub use control::{AdminEvent, Control, ControlError};
pub use diff::{Change, ChangeKind, keys as differing_keys};
pub use prepare::{Candidate, Prepared, check_names, prepare};
pub use providers::ProviderStanding;
pub use resolve::{DEFAULT_EMBEDDER, TOOL_TIMEOUT};
pub use snapshot::{Agent, AgentState, Entry, Registry, Snapshot};

//! Reloading: from a change of files to a registry that serves, while everything goes on.
//!
//! One thread, one queue, one enum of triggers. The thread looks at the files ([`world`]), decides per file when its
//! content may be taken ([`tracked`]), lets the engine prepare, and publishes by swapping one pointer. Reading order:
//! [`inbox`], [`stamp`], [`tracked`], [`unit`], [`single`], [`lines`], [`world`], [`candidates`], [`reloader`],
//! [`publish`], [`after`], [`control`], [`socket`].

mod after;
mod candidates;
mod control;
mod hearing;
mod inbox;
mod lines;
mod past;
mod pin;
mod plugins;
mod publish;
mod reloader;
mod report;
mod settings;
mod single;
mod skeleton;
mod socket;
mod stamp;
mod tell;
mod tracked;
mod unit;
mod world;

pub use control::{Apply, MakeCatalog, Reload, Start, start};
pub use report::Report;
pub use socket::{Socket, ask, is_served};

#[cfg(test)]
mod tests;

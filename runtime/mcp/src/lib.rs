//! The Model Context Protocol, in both roles.
//!
//! [`client`] keeps connections to the configured servers and offers their tools to agents through the model's
//! `ToolSource`; [`door`] offers agents as tools to programs that speak the protocol. The library `rmcp` speaks it; what
//! is here decides what is believed, how long anybody waits, and what happens when the other side is gone. Nothing here
//! knows definitions, the store or the listeners.

pub mod client;
pub mod door;

//! The Model Context Protocol.
//!
//! [`client`] keeps connections to the configured servers and offers their tools to agents through the model's
//! `ToolSource`. The library `rmcp` speaks the protocol; what is here decides what is believed, how long anybody waits,
//! and what happens when the other side is gone. Nothing here knows agents, the store or the listeners.

pub mod client;

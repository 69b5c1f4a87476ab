//! The whole, from outside: the real binary, over projects in folders of their own and a scripted model server.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "one test binary: it fails by panicking, and reads and writes files of its own"
)]

mod http;
mod project;
mod roster;

mod approval;
mod backup;
mod chat;
mod check;
mod client_tools;
mod definitions;
mod histories;
mod import;
mod mcp;
mod mcp_door;
mod memory;
mod output;
mod plugin_exporter;
mod plugin_memory;
mod plugins;
mod recorded;
mod rehearsal;
mod reload;
mod restart;
mod serve;
mod shutdown;
mod stale;
mod tidy;
mod tools;
mod turns;
mod unusable;
mod window;

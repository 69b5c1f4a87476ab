//! The doors, through the routers without a socket; the last module through real sockets.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking, in their helpers as well")]

mod admin;
mod auth;
mod bad;
mod chat;
mod conversations;
mod double;
mod events;
mod faults;
mod isolation;
mod limits;
mod mastra;
mod memory;
mod metrics;
mod openai;
mod operator;
mod pages;
mod sockets;
mod tools;
mod turns;
mod world;

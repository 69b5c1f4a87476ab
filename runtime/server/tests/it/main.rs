//! The doors, through the routers without a socket; the last module through real sockets.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking, in their helpers as well")]

mod auth;
mod chat;
mod conversations;
mod double;
mod faults;
mod limits;
mod mastra;
mod openai;
mod pages;
mod sockets;
mod world;

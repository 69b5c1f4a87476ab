//! Servers whose tools agents use.
//!
//! One task a server: connect, ask for the tools, wait for what happens, and after the end of a connection try again,
//! ever more slowly. A server that is slow, dead or lying costs its own tools and nothing else. Reading order:
//! [`config`], [`servers`], [`server`], [`connection`], [`child`], [`web`], [`listing`], [`tool`], [`content`].

mod backoff;
mod child;
mod config;
mod connection;
mod content;
mod hearing;
mod lines;
mod listing;
mod secrets;
mod server;
mod servers;
mod stderr;
mod tool;
mod web;

pub use config::{Reach, ServerConfig};
pub use servers::{Notice, Servers};

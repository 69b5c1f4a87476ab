//! HTTP: the gateway's doors, Studio and the Mastra REST.
//!
//! A door turns a request of its own wire form into a turn (or a question to the store) and encodes what comes back.
//! `http` holds what every door shares: one table of routes, one guard in front of them, one place where failures get
//! their status. `gateway`, `mastra` and `studio` never import each other; `listener` puts their routes together.
//! Reading order: [`app`], `http`, `gateway`, `mastra`, `studio`, `listener`, `serve`.

pub mod app;
mod gateway;
mod http;
mod listener;
mod mastra;
mod serve;
mod studio;

pub use app::{App, Auth, HttpConfig, McpCaller, McpDoor, McpRequest, McpResponse, Scope, TokenGrant};
pub use http::limits::DEFAULT_BODY_LIMIT;
pub use http::peer::Peer;
pub use listener::{gateway, studio};
pub use serve::serve;

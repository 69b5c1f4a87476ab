//! A model server under full control: it answers byte for byte what a test scripted and remembers what it was sent.
//!
//! It listens on a free port of 127.0.0.1 and speaks HTTP/1.1 over plain TCP, so that chunk borders, pauses, cuts and
//! resets are exactly as written. Replies are taken from a queue ([`ScriptedServer::push`]); when the queue is empty,
//! [`ScriptedServer::default_reply`] decides. Nothing in it sleeps unless a script says so: a test stops an answer
//! with a [`Gate`] and opens it when what it waits for has happened.

mod answer;
mod connection;
mod dialect;
mod embeddings;
mod gate;
mod recorded;
mod reply;
mod script;
mod server;
mod strict;
#[cfg(test)]
mod tests;

pub use dialect::ServerDialect;
pub use gate::Gate;
pub use recorded::RecordedRequest;
pub use reply::Reply;
pub use server::{Builder, ScriptedServer, refused_base_url};
pub use strict::{strict_fault, strict_fault_of};

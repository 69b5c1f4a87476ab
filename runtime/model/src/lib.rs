//! The nouns and the sockets of Roster: pure data and traits.
//!
//! What is *not* here: input or output, clocks, an async runtime, TOML, HTTP, SQL. Everything another room needs in
//! order to talk about agents, threads and turns is here, and the whole can be read in twenty minutes. Reading order:
//! [`id`], [`time`], [`message`], [`tool`], [`source`], [`processor`], [`provider`], [`embedder`], [`storage`], [`suspension`], [`working`],
//! [`recall`], [`housekeeping`], [`feed`], [`ledger`], [`observation`], [`words`].

pub mod embedder;
pub mod feed;
pub mod housekeeping;
pub mod id;
pub mod ledger;
pub mod message;
pub mod observation;
pub mod processor;
pub mod provider;
pub mod recall;
pub mod source;
pub mod storage;
pub mod suspension;
pub mod time;
pub mod tool;
pub mod words;
pub mod working;

use std::future::Future;
use std::pin::Pin;

/// A boxed future, written out by hand so that traits can be made into objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

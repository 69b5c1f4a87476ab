//! The sessions store (conversations, session memory, the ledger): SQLite and RAM.
//!
//! The same traits, several stores: [`sqlite`] is durable and shared between processes, [`ram`] forgets and is what
//! tests of other rooms use, [`unavailable`] stands in for a store that could not be opened.

mod budget;
mod cursor;
mod fingerprint;
mod ids;
mod line;
mod metadata;
pub mod ram;
pub mod sqlite;
pub mod unavailable;

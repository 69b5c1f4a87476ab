//! Conversation stores: SQLite and RAM.
//!
//! One trait, several stores: [`sqlite`] is durable and shared between processes, [`ram`] forgets and is what tests
//! of other rooms use, [`unavailable`] stands in for a store that could not be opened.

mod cursor;
mod line;
pub mod ram;
pub mod sqlite;
pub mod unavailable;

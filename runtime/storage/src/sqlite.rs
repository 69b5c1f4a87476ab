//! Conversations in one SQLite file: durable, shared between the processes of one host.
//!
//! One writer thread puts all waiting writes into one transaction; two threads read; one keeps house (checkpoints,
//! leftovers). A turn holds its thread through a lease row, and a lease is alive as long as its holder has its lock
//! file locked, so no clock is involved. Reading order: [`open`], then `schema`, `writer`, `turn`.

mod conversation;
mod copy;
mod erase;
mod error;
mod holder;
mod keeper;
mod ledger;
mod message;
mod observation;
mod open;
mod reader;
mod row;
mod schema;
mod store;
mod thread;
mod turn;
mod writer;

pub use copy::{Counts, Integrity, RestoreError, check_integrity, restore};
pub use error::{OpenError, OpenErrorKind};
pub use observation::{ObservationOptions, SqliteObservations, open_observations};
pub use open::{Options, Trial, open};
pub use store::SqliteStore;

//! Session memory in one SQLite file: durable, shared between the processes of one host.
//!
//! One writer thread puts all waiting writes into one transaction; two threads read, one more only
//! for turns; one keeps house (checkpoints, leftovers). A turn holds its thread through a lease row, and a lease is alive as long as its holder has its lock
//! file locked, so no clock is involved. Reading order: [`open`], then `schema`, `writer`, `turn`.

mod conversation;
mod copy;
mod erase;
mod error;
mod guard;
mod holder;
mod housekeeping;
mod inspect;
mod integrity;
mod keeper;
mod ledger;
mod mastra;
mod memory;
mod message;
mod observation;
mod open;
mod private;
mod reader;
mod recall;
mod row;
mod schema;
mod store;
mod suspension;
#[cfg(test)]
mod tests;
mod thread;
mod turn;
mod writer;

pub use copy::{RestoreError, restore};
pub use error::{OpenError, OpenErrorKind};
pub use inspect::{FileState, Inspection, inspect, inspect_observations};
pub use integrity::{Counts, Integrity, Vectors, check_integrity};
pub use mastra::{
    Count, ImportError, ImportOptions, ImportReport, NewOwner, Noun, Progress, Skipped, try_import_mastra,
};
pub use observation::{ObservationOptions, SqliteObservations, open_observations};
pub use open::{Options, Trial, open};
pub use store::SqliteStore;

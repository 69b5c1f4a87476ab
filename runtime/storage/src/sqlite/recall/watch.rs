//! Whether an owner's index changed, whoever changed it: asked before what is cached over it is used.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use roster_model::id::ResourceId;
use rusqlite::{Connection, OptionalExtension};

use super::super::error::OpenError;
use super::super::open;
use crate::line::lock;

/// Every transaction that changes an index counts in its owner's row, whichever process it is of; this reads the row.
pub(in super::super) struct IndexWatch {
    connection: Mutex<Option<Connection>>,
    /// Times the count could not be read: then it is taken as changed.
    doubts: AtomicU64,
}

impl IndexWatch {
    /// Opens a connection of its own.
    pub(in super::super) fn start(path: &Path) -> Result<Self, OpenError> {
        Ok(Self { connection: Mutex::new(Some(open::read_only(path)?)), doubts: AtomicU64::new(0) })
    }

    /// Closes the connection.
    pub(in super::super) fn close(&self) {
        *lock(&self.connection) = None;
    }

    /// Moves when the owner's index may have changed. Takes microseconds: the read of one row.
    pub(in super::super) fn version(&self, resource: &ResourceId) -> u64 {
        let count = lock(&self.connection).as_ref().and_then(|connection| count(connection, resource).ok());
        let doubts = match count {
            Some(_) => self.doubts.load(Ordering::Relaxed),
            None => self.doubts.fetch_add(1, Ordering::Relaxed) + 1,
        };
        // Doubts stand far above all counts.
        count.unwrap_or(0).cast_unsigned().wrapping_add(doubts << 48)
    }
}

/// With the number in it: an owner that was erased and comes again has another one, and begins to count anew. 0 for
/// an owner without an index.
fn count(connection: &Connection, resource: &ResourceId) -> rusqlite::Result<i64> {
    let sql = "SELECT (number << 32) + changes FROM owners WHERE resource = ?1";
    let found = connection.prepare_cached(sql)?.query_row([resource.as_str()], |row| row.get(0)).optional()?;
    Ok(found.unwrap_or(0))
}

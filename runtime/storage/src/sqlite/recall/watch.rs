//! Whether the index changed, whoever changed it: asked before what is cached over it is used.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;

use super::super::error::OpenError;
use super::super::open;
use crate::line::lock;

/// Every transaction that changes an index counts in the database; this reads the count when the database moved.
pub(in super::super) struct IndexWatch {
    eye: Mutex<Option<Eye>>,
    /// Times the count could not be read: then it is taken as changed.
    doubts: AtomicU64,
}

struct Eye {
    connection: Connection,
    /// `PRAGMA data_version` at the last look: moves with every commit of another connection, of whichever process.
    seen: i64,
    count: i64,
}

impl IndexWatch {
    /// Opens a connection of its own.
    pub(in super::super) fn start(path: &Path) -> Result<Self, OpenError> {
        let eye = Eye { connection: open::read_only(path)?, seen: i64::MIN, count: 0 };
        Ok(Self { eye: Mutex::new(Some(eye)), doubts: AtomicU64::new(0) })
    }

    /// Closes the connection.
    pub(in super::super) fn close(&self) {
        *lock(&self.eye) = None;
    }

    /// Moves when the index may have changed. Takes microseconds: a look at shared memory, and after a commit of
    /// anybody the read of one row.
    pub(in super::super) fn version(&self) -> u64 {
        let mut eye = lock(&self.eye);
        let count = eye.as_mut().and_then(|eye| eye.look().ok());
        let doubts = match count {
            Some(_) => self.doubts.load(Ordering::Relaxed),
            None => self.doubts.fetch_add(1, Ordering::Relaxed) + 1,
        };
        // Doubts stand far above all counts.
        count.unwrap_or(0).cast_unsigned().wrapping_add(doubts << 48)
    }
}

impl Eye {
    fn look(&mut self) -> rusqlite::Result<i64> {
        let now = self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if now != self.seen {
            let sql = "SELECT value FROM counters WHERE name = 'index'";
            self.count = self.connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
            self.seen = now;
        }
        Ok(self.count)
    }
}

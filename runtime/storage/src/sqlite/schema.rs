//! The tables, and how a file of one version becomes one of the next.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::copy;
use super::error::OpenError;

/// Marks our files among SQLite's: "Rstr".
pub(super) const APPLICATION_ID: i32 = 0x5273_7472;

/// Migrations in order; the n-th (from 1) makes version n. Released ones are never changed.
pub(super) const MIGRATIONS: &[&str] = &[V1, V2];

/// Every table of the newest version, for the look at their roots when a file is opened.
const TABLES: &[&str] = &[
    "schema_versions",
    "counters",
    "threads",
    "messages",
    "participants",
    "leases",
    "owner_counts",
    "texts",
    "versions",
    "ledger",
    "pins",
];

const V1: &str = "
-- When which version came.
CREATE TABLE schema_versions (
  version INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL
) STRICT;

-- `activity`: the last number given to a making, a message or a change; orders the lists of threads.
CREATE TABLE counters (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES ('activity', 0);

CREATE TABLE threads (
  number     INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice: a late row of a dead thread finds no new one
  resource   TEXT NOT NULL,
  id         TEXT NOT NULL,
  agent      TEXT,
  parent     TEXT,                               -- id of the calling thread, same resource
  title      TEXT NOT NULL,
  metadata   TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  active     INTEGER NOT NULL,                   -- number of the last message (or of the making)
  changed    INTEGER NOT NULL,                   -- number of the last change of any kind
  messages   INTEGER NOT NULL DEFAULT 0,
  last_seq   INTEGER NOT NULL DEFAULT 0,
  dead       INTEGER NOT NULL DEFAULT 0          -- 1: deleted, its rows are being removed; invisible
) STRICT;
CREATE UNIQUE INDEX threads_by_key ON threads (resource, id) WHERE dead = 0;
CREATE INDEX threads_by_making ON threads (resource, number) WHERE dead = 0 AND parent IS NULL;
CREATE INDEX threads_by_activity ON threads (resource, active) WHERE dead = 0 AND parent IS NULL;
CREATE INDEX threads_by_change ON threads (resource, changed) WHERE dead = 0 AND parent IS NULL;
CREATE INDEX threads_by_parent ON threads (resource, parent) WHERE parent IS NOT NULL;
CREATE INDEX threads_by_id ON threads (id, resource) WHERE dead = 0;
CREATE INDEX threads_dead ON threads (resource, id) WHERE dead = 1;

CREATE TABLE messages (
  place       INTEGER PRIMARY KEY,               -- thread * 2^32 + seq: a thread's rows lie together and in order
  thread      INTEGER NOT NULL REFERENCES threads (number) ON DELETE CASCADE,
  seq         INTEGER NOT NULL,
  id          TEXT NOT NULL,
  turn        TEXT,
  role        TEXT NOT NULL,
  status      TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  parts       TEXT NOT NULL,
  agent       TEXT,                              -- these three: which definition made it
  generation  INTEGER,
  fingerprint TEXT,
  metadata    TEXT
) STRICT;
CREATE UNIQUE INDEX messages_by_id ON messages (thread, id);
CREATE INDEX messages_running ON messages (thread, turn) WHERE status = 'running';

-- Agents that took part in a thread.
CREATE TABLE participants (
  thread INTEGER NOT NULL REFERENCES threads (number) ON DELETE CASCADE,
  agent  TEXT NOT NULL,
  PRIMARY KEY (thread, agent)
) STRICT, WITHOUT ROWID;

-- Which turn has a thread now, and which open store runs it.
CREATE TABLE leases (
  thread INTEGER PRIMARY KEY REFERENCES threads (number) ON DELETE CASCADE,
  turn   TEXT NOT NULL,
  holder TEXT NOT NULL
) STRICT;

-- Listed threads of an owner: all of them (agent '') and per agent.
CREATE TABLE owner_counts (
  resource TEXT NOT NULL,
  agent    TEXT NOT NULL,
  threads  INTEGER NOT NULL,
  PRIMARY KEY (resource, agent)
) STRICT, WITHOUT ROWID;
";

const V2: &str = "
-- The places of listed threads, repeated per agent: an owner's list of one agent walks an index of its own.
ALTER TABLE participants ADD COLUMN resource TEXT;                       -- NULL: its thread stands in no list
ALTER TABLE participants ADD COLUMN active   INTEGER NOT NULL DEFAULT 0; -- as in the thread's row
ALTER TABLE participants ADD COLUMN changed  INTEGER NOT NULL DEFAULT 0; -- as in the thread's row
UPDATE participants SET resource = t.resource, active = t.active, changed = t.changed
  FROM threads t WHERE t.number = participants.thread AND t.dead = 0 AND t.parent IS NULL;
CREATE INDEX participants_by_making ON participants (resource, agent, thread) WHERE resource IS NOT NULL;
CREATE INDEX participants_by_activity ON participants (resource, agent, active) WHERE resource IS NOT NULL;
CREATE INDEX participants_by_change ON participants (resource, agent, changed) WHERE resource IS NOT NULL;

-- Texts of definitions and of instructions files, each one once.
CREATE TABLE texts (
  number INTEGER PRIMARY KEY,
  sha256 BLOB NOT NULL UNIQUE,
  text   TEXT NOT NULL
) STRICT;

-- Every version of every definition that was ever served.
CREATE TABLE versions (
  number       INTEGER PRIMARY KEY,
  agent        TEXT NOT NULL,
  fingerprint  TEXT NOT NULL,
  text         INTEGER NOT NULL REFERENCES texts (number),
  instructions INTEGER REFERENCES texts (number),                       -- NULL: it names no file
  UNIQUE (agent, fingerprint)
) STRICT;

-- What was published when; the newest of each agent.
CREATE TABLE ledger (
  agent       TEXT NOT NULL,
  seq         INTEGER NOT NULL,                  -- per agent, in the order written, without a gap
  run         TEXT NOT NULL,
  generation  INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  change      TEXT NOT NULL,
  fingerprint TEXT NOT NULL,                     -- no reference: the version may not have been written
  keys        TEXT NOT NULL,                     -- a JSON array
  PRIMARY KEY (agent, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX ledger_by_publish ON ledger (run, generation, agent, change);

-- The version an operator pinned an agent to.
CREATE TABLE pins (
  agent   TEXT PRIMARY KEY,
  version INTEGER NOT NULL REFERENCES versions (number)
) STRICT, WITHOUT ROWID;
";

/// What to run: the released migrations, and in tests one more.
pub(super) fn plan(extra: Option<&'static str>) -> Vec<&'static str> {
    MIGRATIONS.iter().copied().chain(extra).collect()
}

/// The version and the application id of a file.
pub(super) fn marks(connection: &Connection) -> rusqlite::Result<(u32, i32)> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok((u32::try_from(version).unwrap_or(u32::MAX), application))
}

/// Judges the marks of a file: `Ok(true)` when it is of the newest version.
pub(super) fn judge(path: &Path, marks: (u32, i32), newest: u32, application: i32) -> Result<bool, OpenError> {
    let (version, found) = marks;
    if found != application && (version, found) != (0, 0) {
        return Err(OpenError::Foreign { path: path.to_owned() });
    }
    if version > newest {
        return Err(OpenError::Newer { path: path.to_owned(), found: version, supported: newest });
    }
    Ok(version == newest)
}

/// Brings the file to the newest version in one transaction, with a copy of an older file kept beside it first.
/// Safe while other processes do the same: the version is looked at again under the write lock.
pub(super) fn migrate(connection: &mut Connection, path: &Path, plan: &[&str], now: i64) -> Result<(), OpenError> {
    let sorted = |error| OpenError::from_sqlite(path, error);
    let newest = u32::try_from(plan.len()).unwrap_or(u32::MAX);
    if !judge(path, marks(connection).map_err(sorted)?, newest, APPLICATION_ID)? {
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sorted)?;
        let found = marks(&change).map_err(sorted)?;
        if judge(path, found, newest, APPLICATION_ID)? {
            return Ok(());
        }
        if found.0 > 0 {
            copy::keep_before_migration(path, found.0)?;
        } else if !is_empty(&change).map_err(sorted)? {
            return Err(OpenError::Foreign { path: path.to_owned() });
        }
        run(&change, plan, found.0, now).map_err(sorted)?;
        change.commit().map_err(sorted)?;
    }
    look_at_roots(connection).map_err(sorted)
}

fn run(change: &Connection, plan: &[&str], from: u32, now: i64) -> rusqlite::Result<()> {
    for (version, sql) in (1_u32..).zip(plan) {
        if version > from {
            change.execute_batch(sql)?;
            change.execute("INSERT INTO schema_versions (version, at) VALUES (?1, ?2)", (version, now))?;
        }
    }
    change.pragma_update(None, "application_id", APPLICATION_ID)?;
    change.pragma_update(None, "user_version", u32::try_from(plan.len()).unwrap_or(u32::MAX))
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

/// One row of each table: damage at the top of the file shows here. No scan.
fn look_at_roots(connection: &Connection) -> rusqlite::Result<()> {
    for table in TABLES {
        match connection.query_row(&format!("SELECT 1 FROM {table} LIMIT 1"), [], |_| Ok(())) {
            Ok(()) | Err(rusqlite::Error::QueryReturnedNoRows) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether waiting and trying again may help.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

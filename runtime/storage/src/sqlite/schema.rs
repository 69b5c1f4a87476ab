//! The tables, and how a file of one version becomes one of the next.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::copy;
use super::error::OpenError;

/// Marks our files among SQLite's: "Rstr".
pub(super) const APPLICATION_ID: i32 = 0x5273_7472;

/// Migrations in order; the n-th (from 1) makes version n. Released ones are never changed.
pub(super) const MIGRATIONS: &[&str] = &[V1, V2, V3, V4, V5];

/// Every table of the newest version, for the look at their roots when a file is opened.
pub(super) const TABLES: &[&str] = &[
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
    "working_threads",
    "working_owners",
    "feed",
    "owners",
    "spaces",
    "shelves",
    "vectors",
    "runs",
    "settled",
    "terms",
    "words",
    "words_moving",
    "suspensions",
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

const V3: &str = "
-- Sub-agents' threads by activity, beside the listed ones of threads_by_activity.
CREATE INDEX threads_below_by_activity ON threads (resource, active) WHERE dead = 0 AND parent IS NOT NULL;
-- Copies being made (dead = 2): invisible until whole; without a lease, left by a process that died.
CREATE INDEX threads_in_making ON threads (resource, id) WHERE dead = 2;

-- Working memories. A cleared one keeps its row, so that an old version never fits again.
CREATE TABLE working_threads (
  thread     INTEGER PRIMARY KEY REFERENCES threads (number) ON DELETE CASCADE,
  text       TEXT,                               -- NULL: cleared
  version    INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE working_owners (
  resource   TEXT PRIMARY KEY,
  text       TEXT,
  version    INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the model calls of a turn were given.
CREATE TABLE feed (
  number INTEGER PRIMARY KEY,                    -- in the order written
  thread INTEGER NOT NULL REFERENCES threads (number) ON DELETE CASCADE,
  turn   TEXT NOT NULL,
  step   INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  record TEXT NOT NULL                           -- a JSON object
) STRICT;
CREATE UNIQUE INDEX feed_by_step ON feed (thread, turn, step);
CREATE INDEX feed_by_thread ON feed (thread);
CREATE INDEX feed_by_time ON feed (at);

-- Grows whenever a recall index changes: what is cached over it is dropped.
INSERT INTO counters VALUES ('index', 0);

-- Owners with a recall index. The number stands in the words of their messages and is never given twice.
CREATE TABLE owners (
  number   INTEGER PRIMARY KEY AUTOINCREMENT,
  resource TEXT NOT NULL UNIQUE,
  arrivals INTEGER NOT NULL DEFAULT 0            -- threads that came from another owner
) STRICT;

-- Names of embedders with version and dimensions.
CREATE TABLE spaces (
  number INTEGER PRIMARY KEY,
  name   TEXT NOT NULL UNIQUE
) STRICT;

-- A thread's entries of one space.
CREATE TABLE shelves (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  thread INTEGER NOT NULL REFERENCES threads (number) ON DELETE CASCADE,
  space  INTEGER NOT NULL REFERENCES spaces (number),
  owner  INTEGER NOT NULL                        -- of the thread, as it is now
) STRICT;
CREATE UNIQUE INDEX shelves_by_thread ON shelves (thread, space);
CREATE INDEX shelves_by_owner ON shelves (owner, space, number);

-- Entries, those of a shelf together and in order; with all that a scan needs of the message.
CREATE TABLE vectors (
  place      INTEGER PRIMARY KEY,                -- shelf * 2^32 + seq
  role       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  vector     BLOB                                -- f32, little-endian; NULL: the words alone
) STRICT;

-- Which seqs of a shelf have an entry: runs without a gap. What lies between them is still to be done.
CREATE TABLE runs (
  shelf INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last  INTEGER NOT NULL,
  PRIMARY KEY (shelf, first)
) STRICT, WITHOUT ROWID;

-- An owner's threads whose activity lies in the range have nothing left to do in the space.
CREATE TABLE settled (
  owner INTEGER NOT NULL,
  space INTEGER NOT NULL,
  lower INTEGER NOT NULL,
  upper INTEGER NOT NULL,
  PRIMARY KEY (owner, space)
) STRICT, WITHOUT ROWID;

-- The words of messages as they were given, and the index over them: it holds no text of its own and is written anew
-- from here when a thread changes its owner.
CREATE TABLE terms (
  place INTEGER PRIMARY KEY,                     -- as in messages
  terms TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE words USING fts5 (
  terms, content = '', contentless_delete = 1, detail = 'none', tokenize = 'ascii'
);
CREATE TABLE words_moving (
  thread INTEGER PRIMARY KEY REFERENCES threads (number) ON DELETE CASCADE
) STRICT;
";

const V4: &str = "
-- Turns that wait for somebody or once did, by the row of their answer, whose status says whether they wait now.
CREATE TABLE suspensions (
  turn  TEXT PRIMARY KEY,
  place INTEGER NOT NULL REFERENCES messages (place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX suspensions_by_place ON suspensions (place);
CREATE INDEX messages_waiting ON messages (place) WHERE status IN ('suspended', 'awaiting');
";

const V5: &str = "
-- How often an owner's recall index changed: what is cached over it is dropped, and nothing of other owners.
ALTER TABLE owners ADD COLUMN changes INTEGER NOT NULL DEFAULT 0;
DELETE FROM counters WHERE name = 'index';
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

/// The files a store calls its own: the newest version it knows, and its mark.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ours {
    pub(super) newest: u32,
    pub(super) application: i32,
}

impl Ours {
    /// Those of the sessions store when it knows this plan.
    pub(super) fn sessions(plan: &[&str]) -> Self {
        Self { newest: u32::try_from(plan.len()).unwrap_or(u32::MAX), application: APPLICATION_ID }
    }

    /// Judges the marks of a file: `Ok(true)` when it is of the newest version.
    pub(super) fn judge(self, path: &Path, marks: (u32, i32)) -> Result<bool, OpenError> {
        let (version, found) = marks;
        if found != self.application && marks != (0, 0) {
            return Err(OpenError::Foreign { path: path.to_owned() });
        }
        if version > self.newest {
            return Err(OpenError::Newer { path: path.to_owned(), found: version, supported: self.newest });
        }
        Ok(version == self.newest)
    }

    /// Judges what a connection sees: its marks, and that a file without marks holds nothing at all. Gives the version.
    /// The outer failure is one of looking.
    pub(super) fn look(self, path: &Path, connection: &Connection) -> rusqlite::Result<Result<u32, OpenError>> {
        let unmarked = |connection| Ok::<_, rusqlite::Error>(marks(connection)? == (0, 0));
        // Asked again after: another process of ours may have made tables and marks in between.
        if unmarked(connection)? && !is_empty(connection)? && unmarked(connection)? {
            return Ok(Err(OpenError::Foreign { path: path.to_owned() }));
        }
        let marks = marks(connection)?;
        Ok(self.judge(path, marks).map(|_| marks.0))
    }
}

/// Brings the file to the newest version in one transaction, with a copy of an older file kept beside it first.
/// Safe while other processes do the same: the version is looked at again under the write lock.
pub(super) fn migrate(connection: &mut Connection, path: &Path, plan: &[&str], now: i64) -> Result<(), OpenError> {
    let sorted = |error| OpenError::from_sqlite(path, error);
    let ours = Ours::sessions(plan);
    if !ours.judge(path, marks(connection).map_err(sorted)?)? {
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sorted)?;
        let found = marks(&change).map_err(sorted)?;
        if ours.judge(path, found)? {
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
    look_at_roots(connection, TABLES).map_err(sorted)
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
pub(super) fn look_at_roots(connection: &Connection, tables: &[impl std::fmt::Display]) -> rusqlite::Result<()> {
    for table in tables {
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

//! Working memory and feed records in SQL.

use roster_model::feed::{FeedRecord, FeedStore, TurnFeed};
use roster_model::id::{ThreadKey, TurnId};
use roster_model::storage::{StoreErrorKind, StoreResult};
use roster_model::time::Timestamp;
use roster_model::working::{MemoryScope, WorkingMemory, WorkingMemoryStore};
use rusqlite::{Connection, OptionalExtension, Row};

use super::error::{Outcome, fail};
use super::store::SqliteStore;
use super::writer::Group;
use super::{row, thread};

/// Old feed records removed by one write; the rest waits for the next.
const PRUNED: u32 = 500;

impl WorkingMemoryStore for SqliteStore {
    fn working_memory<'a>(&'a self, scope: &'a MemoryScope) -> StoreResult<'a, Option<WorkingMemory>> {
        let scope = scope.clone();
        Box::pin(self.readers.read_for_turn(move |connection| read(connection, &scope)))
    }

    fn set_working_memory<'a>(
        &'a self,
        scope: &'a MemoryScope,
        text: Option<String>,
        seen: u64,
    ) -> StoreResult<'a, u64> {
        let scope = scope.clone();
        Box::pin(async move {
            let now = self.now();
            self.writer.write(move |group| set(group, &scope, text.as_deref(), seen, now)).await
        })
    }
}

impl FeedStore for SqliteStore {
    fn put_feed(&self, turns: Vec<TurnFeed>, keep_after: Timestamp) -> StoreResult<'_, ()> {
        Box::pin(self.writer.write(move |group| put_feed(group, &turns, keep_after.millis())))
    }

    fn feed<'a>(&'a self, key: &'a ThreadKey, turn: Option<&'a TurnId>) -> StoreResult<'a, Vec<FeedRecord>> {
        let (key, turn) = (key.clone(), turn.cloned());
        Box::pin(self.readers.read(move |connection| feed(connection, &key, turn.as_ref())))
    }
}

fn memory(row: &Row<'_>) -> rusqlite::Result<WorkingMemory> {
    let updated_at = Timestamp::from_millis(row.get(2)?);
    Ok(WorkingMemory { text: row.get(0)?, version: row.get::<_, i64>(1)?.cast_unsigned(), updated_at })
}

pub(super) fn read(connection: &Connection, scope: &MemoryScope) -> Outcome<Option<WorkingMemory>> {
    let found = match scope {
        MemoryScope::Thread(key) => {
            let sql = "SELECT w.text, w.version, w.updated_at FROM threads t JOIN working_threads w \
                       ON w.thread = t.number WHERE t.resource = ?1 AND t.id = ?2 AND t.dead = 0 AND w.text NOTNULL";
            connection.prepare_cached(sql)?.query_row((key.resource.as_str(), key.thread.as_str()), memory)
        }
        MemoryScope::Resource(resource) => {
            let sql = "SELECT text, version, updated_at FROM working_owners WHERE resource = ?1 AND text NOTNULL";
            connection.prepare_cached(sql)?.query_row([resource.as_str()], memory)
        }
    };
    Ok(found.optional()?)
}

/// What was ever written: nothing, or a text, which `None` stands for once it was cleared.
pub(super) fn ever(connection: &Connection, scope: &MemoryScope) -> Outcome<Option<Option<String>>> {
    let found = match scope {
        MemoryScope::Thread(key) => {
            let sql = "SELECT w.text FROM threads t JOIN working_threads w ON w.thread = t.number \
                       WHERE t.resource = ?1 AND t.id = ?2 AND t.dead = 0";
            let values = (key.resource.as_str(), key.thread.as_str());
            connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))
        }
        MemoryScope::Resource(resource) => {
            let sql = "SELECT text FROM working_owners WHERE resource = ?1";
            connection.prepare_cached(sql)?.query_row([resource.as_str()], |row| row.get(0))
        }
    };
    Ok(found.optional()?)
}

/// Compares and swaps; the writer is alone, so nothing comes in between.
pub(super) fn set(group: &Group<'_>, scope: &MemoryScope, text: Option<&str>, seen: u64, now: i64) -> Outcome<u64> {
    let there = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?));
    let known = |sql: &str, name: &dyn rusqlite::ToSql| -> Outcome<Option<(i64, bool)>> {
        Ok(group.connection.prepare_cached(sql)?.query_row([name], there).optional()?)
    };
    match scope {
        MemoryScope::Thread(key) => {
            let thread = thread::find_or_fail(group.connection, key)?.number;
            let found = known("SELECT version, text ISNULL FROM working_threads WHERE thread = ?1", &thread)?;
            let next = next_version(found, seen)?;
            let sql = "INSERT OR REPLACE INTO working_threads (thread, text, version, updated_at) \
                       VALUES (?1, ?2, ?3, ?4)";
            group.connection.prepare_cached(sql)?.execute((thread, text, next, now))?;
            Ok(next.cast_unsigned())
        }
        MemoryScope::Resource(resource) => {
            let resource = resource.as_str();
            let found = known("SELECT version, text ISNULL FROM working_owners WHERE resource = ?1", &resource)?;
            let next = next_version(found, seen)?;
            let sql = "INSERT OR REPLACE INTO working_owners (resource, text, version, updated_at) \
                       VALUES (?1, ?2, ?3, ?4)";
            group.connection.prepare_cached(sql)?.execute((resource, text, next, now))?;
            Ok(next.cast_unsigned())
        }
    }
}

/// `found`: the version there, and whether it is of a cleared memory.
fn next_version(found: Option<(i64, bool)>, seen: u64) -> Outcome<i64> {
    let (version, empty) = found.unwrap_or((0, true));
    if seen != version.cast_unsigned() && !(empty && seen == 0) {
        return fail(StoreErrorKind::Conflict, format!("the working memory has version {version}, not {seen}"));
    }
    Ok(version + 1)
}

fn put_feed(group: &Group<'_>, turns: &[TurnFeed], keep_after: i64) -> Outcome<()> {
    let sql = "INSERT INTO feed (thread, turn, step, at, record) VALUES (?1, ?2, ?3, ?4, ?5) \
               ON CONFLICT (thread, turn, step) DO UPDATE SET at = excluded.at, record = excluded.record";
    let mut insert = group.connection.prepare_cached(sql)?;
    for (key, records) in turns {
        let Some(thread) = thread::find(group.connection, key)?.map(|found| found.number) else { continue };
        for record in records {
            insert.execute((thread, record.turn.as_str(), record.step, record.at.millis(), &record.record))?;
        }
    }
    let old = "DELETE FROM feed WHERE number IN (SELECT number FROM feed WHERE at < ?1 ORDER BY at LIMIT ?2)";
    group.connection.prepare_cached(old)?.execute((keep_after, PRUNED))?;
    Ok(())
}

fn feed(connection: &Connection, key: &ThreadKey, turn: Option<&TurnId>) -> Outcome<Vec<FeedRecord>> {
    let Some(thread) = thread::find(connection, key)?.map(|found| found.number) else { return Ok(Vec::new()) };
    let newest = "SELECT turn FROM feed WHERE thread = ?1 ORDER BY number DESC LIMIT 1";
    let turn = match turn {
        Some(turn) => Some(turn.as_str().to_owned()),
        None => connection.prepare_cached(newest)?.query_row([thread], |row| row.get(0)).optional()?,
    };
    let Some(turn) = turn else { return Ok(Vec::new()) };
    let sql = "SELECT step, at, record FROM feed WHERE thread = ?1 AND turn = ?2 ORDER BY step";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((thread, &turn))?;
    let turn = row::id(&turn, TurnId::new)?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(FeedRecord {
            turn: turn.clone(),
            step: row.get(0)?,
            at: Timestamp::from_millis(row.get(1)?),
            record: row.get(2)?,
        });
    }
    Ok(records)
}

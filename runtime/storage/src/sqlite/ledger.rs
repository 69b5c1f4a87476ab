//! The ledger in SQL: texts, versions, what was published, pins.

use std::sync::Arc;

use roster_model::id::AgentId;
use roster_model::ledger::{LedgerEntry, LedgerStore, LedgerWrite, Version};
use roster_model::storage::{StoreErrorKind, StoreResult};
use roster_model::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, Params, Row};
use sha2::{Digest, Sha256};
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use super::error::{Outcome, fail};
use super::row;
use super::store::SqliteStore;
use super::writer::{Group, Step};
use crate::fingerprint;

/// Entries kept of an agent.
const KEPT: i64 = 1000;

/// The columns [`read_version`] wants, in its order.
const COLUMNS: &str = "v.agent, v.fingerprint, t.text, i.text";
/// Where its texts come from.
const TEXTS: &str = "JOIN texts t ON t.number = v.text LEFT JOIN texts i ON i.number = v.instructions";

impl LedgerStore for SqliteStore {
    fn write(&self, write: LedgerWrite) -> StoreResult<'_, ()> {
        Box::pin(async move {
            // The work goes on when the caller leaves, and the next write waits for it all the same.
            let order = Arc::clone(&self.ledger).lock_owned().await;
            self.writer.slices(step(write, order)).await
        })
    }

    fn last_served<'a>(&'a self, agent: &'a AgentId) -> StoreResult<'a, Option<Version>> {
        let agent = agent.clone();
        Box::pin(self.readers.read(move |connection| last_served(connection, &agent)))
    }

    fn are_served_last(&self, versions: Vec<(AgentId, String)>) -> StoreResult<'_, Vec<bool>> {
        Box::pin(self.readers.read(move |connection| {
            versions.iter().map(|(agent, fingerprint)| is_served_last(connection, agent, fingerprint)).collect()
        }))
    }

    fn version<'a>(&'a self, agent: &'a AgentId, fingerprint: &'a str) -> StoreResult<'a, Option<Version>> {
        let (agent, fingerprint) = (agent.clone(), fingerprint.to_owned());
        Box::pin(self.readers.read(move |connection| version(connection, &agent, &fingerprint)))
    }

    fn history<'a>(&'a self, agent: &'a AgentId, limit: usize) -> StoreResult<'a, Vec<LedgerEntry>> {
        let agent = agent.clone();
        Box::pin(self.readers.read(move |connection| history(connection, &agent, limit)))
    }

    fn pin<'a>(&'a self, agent: &'a AgentId, fingerprint: Option<String>) -> StoreResult<'a, ()> {
        let agent = agent.clone();
        Box::pin(async move {
            // What is being written may hold the very version.
            let _order = self.ledger.lock().await;
            self.writer.write(move |group| pin(group, &agent, fingerprint.as_deref())).await
        })
    }

    fn pins(&self) -> StoreResult<'_, Vec<Version>> {
        Box::pin(self.readers.read(pins))
    }
}

/// Writes the versions, then the entries, so that an entry always finds its text. Every slice does one row at least.
fn step(write: LedgerWrite, order: OwnedMutexGuard<()>) -> Step {
    let (mut versions, mut entries) = (write.versions.into_iter(), write.entries.into_iter());
    Box::new(move |group, until| {
        let _held_to_the_end = &order;
        loop {
            if let Some(version) = versions.next() {
                write_version(group, &version)?;
            } else if let Some(entry) = entries.next() {
                write_entry(group, &entry)?;
            } else {
                return Ok(true);
            }
            if Instant::now() >= until {
                return Ok(false);
            }
        }
    })
}

fn write_version(group: &Group<'_>, version: &Version) -> Outcome<()> {
    let known = "SELECT EXISTS (SELECT 1 FROM versions WHERE agent = ?1 AND fingerprint = ?2)";
    let name = (version.agent.as_str(), version.fingerprint.as_str());
    if group.connection.prepare_cached(known)?.query_row(name, |row| row.get(0))? {
        return Ok(());
    }
    let text = text_number(group, &version.text)?;
    let instructions = version.instructions.as_deref().map(|text| text_number(group, text)).transpose()?;
    let sql = "INSERT INTO versions (agent, fingerprint, text, instructions) VALUES (?1, ?2, ?3, ?4)";
    group.connection.prepare_cached(sql)?.execute((name.0, name.1, text, instructions))?;
    Ok(())
}

/// The number of a text, stored now if it is new.
fn text_number(group: &Group<'_>, text: &str) -> Outcome<i64> {
    let hash = Sha256::digest(text.as_bytes());
    let sql = "SELECT number FROM texts WHERE sha256 = ?1";
    let known = group.connection.prepare_cached(sql)?.query_row([hash.as_slice()], |row| row.get(0));
    if let Some(number) = known.optional()? {
        return Ok(number);
    }
    let sql = "INSERT INTO texts (sha256, text) VALUES (?1, ?2)";
    group.connection.prepare_cached(sql)?.execute((hash.as_slice(), text))?;
    Ok(group.connection.last_insert_rowid())
}

fn write_entry(group: &Group<'_>, entry: &LedgerEntry) -> Outcome<()> {
    // A write that is tried again finds what its first try stored.
    let sql = "INSERT INTO ledger (agent, seq, run, generation, at, change, fingerprint, keys) VALUES \
               (?1, 1 + coalesce((SELECT max(seq) FROM ledger WHERE agent = ?1), 0), ?2, ?3, ?4, ?5, ?6, ?7) \
               ON CONFLICT (run, generation, agent, change) DO NOTHING";
    let fresh = group.connection.prepare_cached(sql)?.execute((
        entry.agent.as_str(),
        &entry.run,
        entry.generation.cast_signed(),
        entry.at.millis(),
        &entry.change,
        &entry.fingerprint,
        row::list_text(&entry.keys)?,
    ))?;
    if fresh > 0 {
        let old = "DELETE FROM ledger WHERE agent = ?1 AND seq <= (SELECT max(seq) FROM ledger WHERE agent = ?1) - ?2";
        group.connection.prepare_cached(old)?.execute((entry.agent.as_str(), KEPT))?;
    }
    Ok(())
}

fn pin(group: &Group<'_>, agent: &AgentId, fingerprint: Option<&str>) -> Outcome<()> {
    let Some(fingerprint) = fingerprint else {
        group.connection.prepare_cached("DELETE FROM pins WHERE agent = ?1")?.execute([agent.as_str()])?;
        return Ok(());
    };
    let sql = "INSERT INTO pins (agent, version) SELECT agent, number FROM versions WHERE agent = ?1 AND \
               fingerprint = ?2 ON CONFLICT (agent) DO UPDATE SET version = excluded.version";
    if group.connection.prepare_cached(sql)?.execute((agent.as_str(), fingerprint))? == 0 {
        return fail(StoreErrorKind::NotFound, format!("agent `{agent}` has no version `{fingerprint}`"));
    }
    Ok(())
}

/// Versions out of `from`, a join that calls their table `v`, as `rest` chooses.
fn versions(connection: &Connection, from: &str, rest: &str, values: impl Params) -> Outcome<Vec<Version>> {
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM {from} {TEXTS} {rest}"))?;
    let mut rows = statement.query(values)?;
    let mut versions = Vec::new();
    while let Some(row) = rows.next()? {
        versions.push(read_version(row)?);
    }
    Ok(versions)
}

fn read_version(row: &Row<'_>) -> Outcome<Version> {
    Ok(Version {
        agent: row::id(&row.get::<_, String>(0)?, AgentId::new)?,
        fingerprint: row.get(1)?,
        text: row.get(2)?,
        instructions: row.get(3)?,
    })
}

/// The version of the newest entry that says what is served and whose text is known.
fn last_served(connection: &Connection, agent: &AgentId) -> Outcome<Option<Version>> {
    // CROSS: from the newest entry on.
    let from = "ledger l CROSS JOIN versions v ON v.agent = l.agent AND v.fingerprint = l.fingerprint";
    let rest = "WHERE l.agent = ?1 AND l.change <> 'removed' ORDER BY l.seq DESC LIMIT 1";
    Ok(versions(connection, from, rest, [agent.as_str()])?.pop())
}

fn is_served_last(connection: &Connection, agent: &AgentId, fingerprint: &str) -> Outcome<bool> {
    let sql = "SELECT change <> 'removed' AND fingerprint = ?2 AND EXISTS \
               (SELECT 1 FROM versions WHERE agent = ?1 AND fingerprint = ?2) \
               FROM ledger WHERE agent = ?1 ORDER BY seq DESC LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row((agent.as_str(), fingerprint), |row| row.get(0)).optional()?.unwrap_or(false))
}

fn version(connection: &Connection, agent: &AgentId, text: &str) -> Outcome<Option<Version>> {
    let exact = "WHERE v.agent = ?1 AND v.fingerprint = ?2";
    if let Some(whole) = versions(connection, "versions v", exact, (agent.as_str(), text))?.pop() {
        return Ok(Some(whole));
    }
    let Some(beginning) = fingerprint::beginning(text) else { return Ok(None) };
    // `g` comes after every hex digit. Two are enough to know that it is ambiguous.
    let range = "WHERE v.agent = ?1 AND v.fingerprint >= ?2 AND v.fingerprint < ?2 || 'g' LIMIT 2";
    let mut found = versions(connection, "versions v", range, (agent.as_str(), beginning))?;
    Ok(if found.len() == 1 { found.pop() } else { None })
}

fn history(connection: &Connection, agent: &AgentId, limit: usize) -> Outcome<Vec<LedgerEntry>> {
    let sql = "SELECT run, generation, at, change, fingerprint, keys FROM ledger WHERE agent = ?1 \
               ORDER BY seq DESC LIMIT ?2";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((agent.as_str(), limit))?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        entries.push(LedgerEntry {
            run: row.get(0)?,
            generation: row.get::<_, i64>(1)?.cast_unsigned(),
            at: Timestamp::from_millis(row.get(2)?),
            agent: agent.clone(),
            change: row.get(3)?,
            fingerprint: row.get(4)?,
            keys: row::list(&row.get::<_, String>(5)?)?,
        });
    }
    Ok(entries)
}

fn pins(connection: &Connection) -> Outcome<Vec<Version>> {
    versions(connection, "pins p CROSS JOIN versions v ON v.number = p.version", "ORDER BY p.agent", [])
}

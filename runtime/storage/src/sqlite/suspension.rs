//! Turns that wait, in SQL.

use std::sync::Arc;

use roster_model::id::{ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::message::{MessageStatus, Seq, StoredMessage};
use roster_model::storage::{StoreError, StoreErrorKind, StoreResult};
use roster_model::suspension::{EXPIRES_AFTER, ResumedTurn, SuspendedTurn, SuspensionStore};
use rusqlite::{Connection, OptionalExtension, Params};

use super::error::{Outcome, fail};
use super::message;
use super::row::{self, Encoded, place};
use super::store::SqliteStore;
use super::thread::{self, Found};
use super::turn::Desk;
use super::writer::{Group, Writer};
use crate::line::Hold;

impl SuspensionStore for SqliteStore {
    fn suspended_turn<'a>(
        &'a self,
        resource: &'a ResourceId,
        turn: &'a TurnId,
    ) -> StoreResult<'a, Option<SuspendedTurn>> {
        let (resource, turn) = (resource.clone(), turn.clone());
        Box::pin(self.readers.read(move |connection| find(connection, Some(&resource), &turn)))
    }

    fn suspended_turns<'a>(&'a self, resource: &'a ResourceId, limit: usize) -> StoreResult<'a, Vec<SuspendedTurn>> {
        let (resource, now) = (resource.clone(), self.now());
        Box::pin(self.readers.read(move |connection| list(connection, Some(&resource), limit, now)))
    }

    fn resume_turn<'a>(&'a self, resource: &'a ResourceId, turn: &'a TurnId) -> StoreResult<'a, ResumedTurn> {
        Box::pin(resume(&self.desk, &self.writer, resource.clone(), turn.clone()))
    }
}

/// Reads turns of `tail`, which goes on after the tables: `WHERE …`.
fn read(connection: &Connection, from: &str, values: impl Params) -> Outcome<Vec<SuspendedTurn>> {
    let sql = format!("SELECT {}, t.resource, t.id {from}", message::columns("m"));
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(values)?;
    let mut turns = Vec::new();
    while let Some(row) = rows.next()? {
        let key = ThreadKey {
            resource: row::id(&row.get::<_, String>(11)?, ResourceId::new)?,
            thread: row::id(&row.get::<_, String>(12)?, ThreadId::new)?,
        };
        let row = row::read(row)?;
        // A row without a turn is none of ours.
        if let Some(turn) = row.turn.clone() {
            turns.push(SuspendedTurn { key, turn, row });
        }
    }
    Ok(turns)
}

/// A turn of this owner, or of any.
pub(super) fn find(
    connection: &Connection,
    resource: Option<&ResourceId>,
    turn: &TurnId,
) -> Outcome<Option<SuspendedTurn>> {
    let from = "FROM suspensions s JOIN messages m ON m.place = s.place JOIN threads t ON t.number = m.thread \
                WHERE s.turn = ?1 AND (?2 IS NULL OR t.resource = ?2) AND t.dead = 0";
    Ok(read(connection, from, (turn.as_str(), resource.map(ResourceId::as_str)))?.pop())
}

/// Those of an owner or of all that still wait, the newest first.
pub(super) fn list(
    connection: &Connection,
    resource: Option<&ResourceId>,
    limit: usize,
    now: i64,
) -> Outcome<Vec<SuspendedTurn>> {
    let since = now.saturating_sub(i64::try_from(EXPIRES_AFTER.as_millis()).unwrap_or(i64::MAX));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let from = "FROM messages m INDEXED BY messages_waiting JOIN threads t ON t.number = m.thread \
                WHERE m.status IN ('suspended', 'awaiting') AND m.status = 'suspended' AND m.created_at > ?1 AND t.dead = 0 AND (?2 IS NULL OR t.resource = ?2) \
                ORDER BY m.created_at DESC, m.place DESC LIMIT ?3";
    read(connection, from, (since, resource.map(ResourceId::as_str), limit))
}

/// Notes that the row of this id waits.
pub(super) fn note(group: &Group<'_>, thread: i64, turn: &TurnId, message: &str) -> Outcome<()> {
    let sql = "INSERT OR IGNORE INTO suspensions (turn, place) \
               SELECT ?1, place FROM messages WHERE thread = ?2 AND id = ?3";
    group.connection.prepare_cached(sql)?.execute((turn.as_str(), thread, message))?;
    Ok(())
}

/// Abandons what waits in a thread: a new turn begins there.
pub(super) fn overtake(group: &Group<'_>, thread: i64) -> Outcome<()> {
    let sql = format!(
        "SELECT {} FROM messages INDEXED BY messages_waiting \
         WHERE status IN ('suspended', 'awaiting') AND place > ?1 AND place < ?2",
        row::COLUMNS
    );
    let waiting = message::collect(group.connection, &sql, (place(thread, 0), place(thread + 1, 0)))?;
    for StoredMessage { turn, mut message, .. } in waiting {
        message.abandon();
        if let Some(turn) = turn {
            Encoded::new(message)?.overwrite(group, thread, &turn)?;
        }
    }
    Ok(())
}

async fn resume(
    desk: &Arc<Desk>,
    writer: &Writer,
    resource: ResourceId,
    turn: TurnId,
) -> Result<ResumedTurn, StoreError> {
    let desk = Arc::clone(desk);
    // Whoever goes away now drops the hold with the answer, and the thread is free again.
    let (resumed, hold) = writer.write(move |group| retake(group, &desk, &resource, &turn)).await?;
    hold.keep();
    Ok(resumed)
}

fn retake(group: &mut Group<'_>, desk: &Desk, resource: &ResourceId, turn: &TurnId) -> Outcome<(ResumedTurn, Hold)> {
    let now = desk.clock.now();
    let Some(mut waiting) = find(group.connection, Some(resource), turn)? else {
        return fail(StoreErrorKind::NotFound, "no turn of this id waits");
    };
    if !waiting.waits(now) {
        return fail(StoreErrorKind::Conflict, format!("turn `{turn}` does not wait any more"));
    }
    let thread = thread::find_or_fail(group.connection, &waiting.key)?;
    if thread.lease.as_ref().is_some_and(|lease| desk.is_alive(lease)) {
        return fail(StoreErrorKind::Conflict, "another turn has the thread");
    }
    let seq = waiting.row.seq.0.cast_signed();
    let sql = "UPDATE messages SET status = 'running' WHERE place = ?1";
    group.connection.prepare_cached(sql)?.execute([place(thread.number, seq)])?;
    waiting.row.message.status = MessageStatus::Running;
    thread::changed(group, &thread, now.millis())?;
    let sql = "INSERT OR REPLACE INTO leases (thread, turn, holder) VALUES (?1, ?2, ?3)";
    group.connection.prepare_cached(sql)?.execute((thread.number, turn.as_str(), &desk.holder))?;
    let question = question(group, &thread, turn, seq)?;
    let hold = desk.lines.hold(&waiting.key, turn);
    Ok((ResumedTurn { turn: waiting, question }, hold))
}

/// The seq of the turn's question, before its answer at `seq`.
fn question(group: &Group<'_>, thread: &Found, turn: &TurnId, seq: i64) -> Outcome<Option<Seq>> {
    let sql = "SELECT seq FROM messages WHERE place > ?1 AND place < ?2 AND turn = ?3 AND role = 'user' \
               ORDER BY place DESC LIMIT 1";
    let range = (place(thread.number, 0), place(thread.number, seq), turn.as_str());
    let found = group.connection.prepare_cached(sql)?.query_row(range, |row| row.get::<_, i64>(0)).optional()?;
    Ok(found.map(|seq| Seq(seq.cast_unsigned())))
}

/// Those of all owners, as of now.
pub(super) fn all(store: &SqliteStore, limit: usize) -> StoreResult<'_, Vec<SuspendedTurn>> {
    let now = store.now();
    Box::pin(store.readers.read(move |connection| list(connection, None, limit, now)))
}

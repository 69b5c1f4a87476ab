//! Reading a thread's messages, and appending outside a turn.

use roster_model::id::ThreadKey;
use roster_model::message::{Seq, StoredMessage};
use roster_model::storage::{Direction, MessageQuery, Page, StoreErrorKind};
use rusqlite::{Connection, OptionalExtension, Params};

use super::error::{Outcome, fail};
use super::row::{self, Encoded, place};
use super::thread::{self, Found};
use super::writer::Group;

fn collect(connection: &Connection, sql: &str, values: impl Params) -> Outcome<Vec<StoredMessage>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        messages.push(row::read(row)?);
    }
    Ok(messages)
}

/// The newest messages below `before`, oldest first.
pub(super) fn tail(
    connection: &Connection,
    key: &ThreadKey,
    limit: usize,
    before: Option<Seq>,
) -> Outcome<Vec<StoredMessage>> {
    let before = before.map_or(u64::MAX, |seq| seq.0).min(1 << row::SEQ_BITS).cast_signed();
    let sql = format!(
        "SELECT {} FROM threads t JOIN messages m ON m.place > t.number << 32 AND m.place < (t.number << 32) + ?3 \
         WHERE t.resource = ?1 AND t.id = ?2 AND t.dead = 0 ORDER BY m.place DESC LIMIT ?4",
        columns("m")
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = collect(connection, &sql, (key.resource.as_str(), key.thread.as_str(), before, limit))?;
    rows.reverse();
    Ok(rows)
}

/// The message columns of the table called `alias`.
fn columns(alias: &str) -> String {
    row::COLUMNS.split(", ").map(|column| format!("{alias}.{column}")).collect::<Vec<_>>().join(", ")
}

/// A page of a thread's messages.
pub(super) fn page(connection: &Connection, key: &ThreadKey, query: &MessageQuery) -> Outcome<Page<StoredMessage>> {
    let thread = thread::find_or_fail(connection, key)?;
    let end = match &query.before {
        None => thread.last_seq + 1,
        Some(id) => match seq_of(connection, &thread, id.as_str())? {
            Some(seq) => seq,
            None => return fail(StoreErrorKind::NotFound, "no such message"),
        },
    };
    let direction = match query.direction {
        Direction::Ascending => "ASC",
        Direction::Descending => "DESC",
    };
    // Seqs are 1, 2, 3 … without a gap, so a page is a range of them and the count before `end` is known.
    let total = end - 1;
    let skip = i64::try_from(query.offset).unwrap_or(i64::MAX).min(total);
    let take = i64::try_from(query.limit).unwrap_or(i64::MAX).min(total - skip);
    let first = match query.direction {
        Direction::Ascending => 1 + skip,
        Direction::Descending => end - skip - take,
    };
    let sql =
        format!("SELECT {} FROM messages WHERE place >= ?1 AND place < ?2 ORDER BY place {direction}", row::COLUMNS);
    let range = (place(thread.number, first), place(thread.number, first + take));
    let rows = collect(connection, &sql, range)?;
    let more = skip + take < total;
    let next = rows.last().filter(|_| more).map(|last| last.message.id.as_str().to_owned());
    Ok(Page { rows, total: total.cast_unsigned(), next })
}

fn seq_of(connection: &Connection, thread: &Found, id: &str) -> Outcome<Option<i64>> {
    let sql = "SELECT seq FROM messages WHERE thread = ?1 AND id = ?2";
    Ok(connection.prepare_cached(sql)?.query_row((thread.number, id), |row| row.get(0)).optional()?)
}

/// Appends outside a turn: all or none, since the job is one savepoint.
pub(super) fn append(
    group: &mut Group<'_>,
    key: &ThreadKey,
    messages: Vec<Encoded>,
    now: i64,
) -> Outcome<Vec<StoredMessage>> {
    let mut thread = thread::find_or_fail(group.connection, key)?;
    let mut stored = Vec::with_capacity(messages.len());
    for encoded in messages {
        add(group, key, &mut thread, &encoded, None)?;
        stored.push(StoredMessage { seq: Seq(thread.last_seq.cast_unsigned()), turn: None, message: encoded.message });
    }
    if !stored.is_empty() {
        thread::grown(group, &thread, stored.len(), now)?;
    }
    Ok(stored)
}

/// Writes the thread's next row; [`thread::grown`] must follow in the same job.
pub(super) fn add(
    group: &Group<'_>,
    key: &ThreadKey,
    thread: &mut Found,
    encoded: &Encoded,
    turn: Option<&roster_model::id::TurnId>,
) -> Outcome<()> {
    let seq = thread.last_seq + 1;
    if seq > i64::from(u32::MAX) {
        return fail(StoreErrorKind::Full, "the thread has reached its largest number of messages");
    }
    encoded.insert(group, thread.number, seq, turn)?;
    thread.last_seq = seq;
    match encoded.author() {
        Some(agent) if thread.agent.as_deref() != Some(agent.as_str()) => {
            thread::take_part(group, key, thread, agent.as_str(), 0)
        }
        _ => Ok(()),
    }
}

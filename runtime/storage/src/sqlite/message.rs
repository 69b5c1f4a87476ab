//! Reading a thread's messages, and appending outside a turn.

use roster_model::id::{MessageId, ResourceId, ThreadKey};
use roster_model::message::{Seq, StoredMessage};
use roster_model::storage::{Direction, MessageQuery, Page, StoreErrorKind};
use rusqlite::{Connection, OptionalExtension, Params};

use super::error::{Outcome, fail};
use super::row::{self, Encoded, place};
use super::thread::{self, Found};
use super::writer::Group;
use crate::budget::Budget;

pub(super) fn collect(connection: &Connection, sql: &str, values: impl Params) -> Outcome<Vec<StoredMessage>> {
    collect_within(connection, sql, values, Budget::endless())
}

/// The first rows that fit into the budget.
pub(super) fn collect_within(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    mut budget: Budget,
) -> Outcome<Vec<StoredMessage>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        if !budget.takes(row::stored_bytes(row)?) {
            break;
        }
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
    let range = (key.resource.as_str(), key.thread.as_str(), before, limit);
    let mut rows = collect_within(connection, &sql, range, Budget::answer())?;
    rows.reverse();
    Ok(rows)
}

/// The message columns of the table called `alias`.
pub(super) fn columns(alias: &str) -> String {
    row::COLUMNS.split(", ").map(|column| format!("{alias}.{column}")).collect::<Vec<_>>().join(", ")
}

/// A page of a thread's messages.
pub(super) fn page(connection: &Connection, key: &ThreadKey, query: &MessageQuery) -> Outcome<Page<StoredMessage>> {
    let thread = thread::find_or_fail(connection, key)?;
    let seq = |id: &Option<MessageId>, otherwise| match id {
        None => Ok(otherwise),
        Some(id) => match seq_of(connection, &thread, id.as_str())? {
            Some(seq) => Ok(seq),
            None => fail(StoreErrorKind::NotFound, "no such message"),
        },
    };
    let start = seq(&query.from, 1)?;
    let end = seq(&query.before, thread.last_seq + 1)?.max(start);
    if thread.messages != thread.last_seq {
        return page_with_gaps(connection, &thread, query, (start, end));
    }
    // Seqs are 1, 2, 3 … without a gap, so a page is a range of them and the count before `end` is known.
    let total = end - start;
    let skip = i64::try_from(query.offset).unwrap_or(i64::MAX).min(total);
    let take = i64::try_from(query.limit).unwrap_or(i64::MAX).min(total - skip);
    let first = match query.direction {
        Direction::Ascending => start + skip,
        Direction::Descending => end - skip - take,
    };
    let sql = format!(
        "SELECT {} FROM messages WHERE place >= ?1 AND place < ?2 ORDER BY place {}",
        row::COLUMNS,
        direction(query)
    );
    let range = (place(thread.number, first), place(thread.number, first + take));
    let rows = collect_within(connection, &sql, range, Budget::answer())?;
    Ok(page_of(rows, total, skip))
}

fn direction(query: &MessageQuery) -> &'static str {
    match query.direction {
        Direction::Ascending => "ASC",
        Direction::Descending => "DESC",
    }
}

/// The page after `skip` rows of `total`.
fn page_of(rows: Vec<StoredMessage>, total: i64, skip: i64) -> Page<StoredMessage> {
    let seen = skip.saturating_add(i64::try_from(rows.len()).unwrap_or(i64::MAX));
    let next = rows.last().filter(|_| seen < total).map(|last| last.message.id.as_str().to_owned());
    Page { rows, total: total.cast_unsigned(), next }
}

/// The same where messages were deleted: rows are skipped one by one, and counted when an end of the range is named.
fn page_with_gaps(
    connection: &Connection,
    thread: &Found,
    query: &MessageQuery,
    (start, end): (i64, i64),
) -> Outcome<Page<StoredMessage>> {
    let (first, end) = (place(thread.number, start), place(thread.number, end));
    let total = if query.before.is_none() && query.from.is_none() {
        thread.messages
    } else {
        let sql = "SELECT count(*) FROM messages WHERE place >= ?1 AND place < ?2";
        connection.prepare_cached(sql)?.query_row((first, end), |row| row.get(0))?
    };
    let sql = format!(
        "SELECT {} FROM messages WHERE place >= ?1 AND place < ?2 ORDER BY place {} LIMIT ?3 OFFSET ?4",
        row::COLUMNS,
        direction(query)
    );
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let offset = i64::try_from(query.offset).unwrap_or(i64::MAX);
    let rows = collect_within(connection, &sql, (first, end, limit, offset), Budget::answer())?;
    Ok(page_of(rows, total, offset))
}

/// The owners that have a message of this id: ids are unique in their thread only, so every thread is asked.
pub(super) fn owners(connection: &Connection, id: &MessageId, limit: usize) -> Outcome<Vec<ResourceId>> {
    let sql = "SELECT DISTINCT t.resource FROM threads t \
               CROSS JOIN messages m INDEXED BY messages_by_id ON m.thread = t.number AND m.id = ?1 \
               WHERE t.dead = 0 LIMIT ?2";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((id.as_str(), limit))?;
    let mut owners = Vec::new();
    while let Some(row) = rows.next()? {
        owners.push(row::id(&row.get::<_, String>(0)?, ResourceId::new)?);
    }
    Ok(owners)
}

pub(super) fn seq_of(connection: &Connection, thread: &Found, id: &str) -> Outcome<Option<i64>> {
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
    let mut created_at = encoded.message.created_at.millis();
    if turn.is_some() {
        // It may have waited long for another turn's answer, which is dated later.
        created_at = created_at.max(thread.earliest);
        thread.earliest = created_at;
    }
    encoded.insert(group, thread.number, seq, turn, created_at)?;
    thread.last_seq = seq;
    match encoded.author() {
        Some(agent) if thread.agent.as_deref() != Some(agent.as_str()) => {
            thread::take_part(group, key, thread, agent.as_str(), 0)
        }
        _ => Ok(()),
    }
}

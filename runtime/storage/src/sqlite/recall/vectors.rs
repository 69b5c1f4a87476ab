//! Reading vectors page by page, and messages with their neighbours.

use roster_model::id::{ResourceId, ThreadId, ThreadKey};
use roster_model::message::{Role, Seq, StoredMessage};
use roster_model::recall::IndexedVector;
use roster_model::storage::StoreErrorKind;
use roster_model::time::Timestamp;
use rusqlite::{Connection, Params, Row};

use super::super::error::{Outcome, fail};
use super::super::row::{self, SEQ_BITS, place};
use super::super::{message, thread};
use super::shelf;

/// The columns [`read`] wants, in its order.
const COLUMNS: &str = "v.place, v.role, v.created_at, v.vector";

/// A page of an owner's vectors, by shelf and seq; the number of a row is its place.
pub(super) fn page(
    connection: &Connection,
    resource: &ResourceId,
    thread: Option<&ThreadId>,
    space: &str,
    after: u64,
    limit: usize,
) -> Outcome<(Vec<IndexedVector>, Option<u64>)> {
    let (owner, space) = (shelf::owner(connection, resource.as_str())?, shelf::space(connection, space)?);
    let (Some(owner), Some(space)) = (owner, space) else { return Ok((Vec::new(), None)) };
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let one_more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let name = resource.as_str();
    match thread {
        None => {
            // CROSS: shelf by shelf, each from its first row on; both are in order, so nothing is sorted.
            let sql = format!(
                "SELECT {COLUMNS}, t.id FROM shelves s INDEXED BY shelves_by_owner \
                 CROSS JOIN threads t ON t.number = s.thread AND t.dead = 0 AND t.resource = ?6 \
                 CROSS JOIN vectors v ON v.place > max(s.number << 32, ?4) AND v.place < (s.number + 1) << 32 \
                 WHERE s.owner = ?1 AND s.space = ?2 AND s.number >= ?3 AND v.vector NOTNULL \
                 ORDER BY s.number, v.place LIMIT ?5"
            );
            collect(connection, &sql, (owner, space, after >> SEQ_BITS, after, one_more, name), limit)
        }
        Some(thread) => {
            let sql = format!(
                "SELECT {COLUMNS}, t.id FROM threads t CROSS JOIN shelves s ON s.thread = t.number AND s.space = ?2 \
                 CROSS JOIN vectors v ON v.place > max(s.number << 32, ?4) AND v.place < (s.number + 1) << 32 \
                 WHERE t.resource = ?1 AND t.id = ?3 AND t.dead = 0 AND v.vector NOTNULL ORDER BY v.place LIMIT ?5"
            );
            collect(connection, &sql, (name, space, thread.as_str(), after, one_more), limit)
        }
    }
}

/// The rows up to `limit`, and the place of the last one when there are more.
fn collect(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    limit: usize,
) -> Outcome<(Vec<IndexedVector>, Option<u64>)> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let (mut found, mut last, mut current) = (Vec::<IndexedVector>::new(), 0_i64, None);
    while let Some(row) = rows.next()? {
        if found.len() >= limit {
            return Ok((found, Some(last.cast_unsigned())));
        }
        let place: i64 = row.get(0)?;
        // The thread's name is made once for each shelf.
        let thread = match current.take() {
            Some((shelf, thread)) if shelf == place >> SEQ_BITS => thread,
            _ => row::id(&row.get::<_, String>(4)?, ThreadId::new)?,
        };
        found.push(read(row, thread.clone())?);
        (last, current) = (place, Some((place >> SEQ_BITS, thread)));
    }
    Ok((found, None))
}

fn read(row: &Row<'_>, thread: ThreadId) -> Outcome<IndexedVector> {
    let role = row.get_ref(1)?.as_str().ok().and_then(Role::parse);
    let bytes = row.get_ref(3)?.as_blob().ok().filter(|bytes| bytes.len().is_multiple_of(4));
    let (Some(role), Some(bytes)) = (role, bytes) else {
        return fail(StoreErrorKind::Internal, "a stored vector cannot be read");
    };
    let numbers = bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    let seq = row.get::<_, i64>(0)? & i64::from(u32::MAX);
    let created_at = Timestamp::from_millis(row.get(2)?);
    Ok(IndexedVector { thread, seq: Seq(seq.cast_unsigned()), role, created_at, vector: numbers.collect() })
}

/// A message with its neighbours, in order.
pub(super) fn around(
    connection: &Connection,
    key: &ThreadKey,
    seq: Seq,
    before: usize,
    after: usize,
) -> Outcome<Vec<StoredMessage>> {
    let Some(thread) = thread::find(connection, key)? else { return Ok(Vec::new()) };
    let Some(seq) = i64::try_from(seq.0).ok().filter(|seq| (1..=thread.last_seq).contains(seq)) else {
        return Ok(Vec::new());
    };
    let some = |count: usize| i64::try_from(count).unwrap_or(i64::MAX).saturating_add(1);
    let here = place(thread.number, seq);
    let sql =
        format!("SELECT {} FROM messages WHERE place <= ?1 AND place > ?2 ORDER BY place DESC LIMIT ?3", row::COLUMNS);
    let mut rows = message::collect(connection, &sql, (here, place(thread.number, 0), some(before)))?;
    if rows.first().is_none_or(|row| row.seq.0 != seq.cast_unsigned()) {
        return Ok(Vec::new());
    }
    rows.reverse();
    let sql = format!("SELECT {} FROM messages WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3", row::COLUMNS);
    let end = place(thread.number, thread.last_seq);
    rows.extend(message::collect(connection, &sql, (here, end, some(after) - 1))?);
    Ok(rows)
}

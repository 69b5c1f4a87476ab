//! Threads: finding, making, changing, listing, and the counts kept with them.

use roster_model::id::{AgentId, ResourceId, ThreadId, ThreadKey};
use roster_model::storage::{
    Direction, NewThread, Page, PageStart, StoreErrorKind, Thread, ThreadChange, ThreadOrder, ThreadQuery,
};
use roster_model::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, ToSql};

use super::error::{Outcome, fail};
use super::row;
use super::writer::Group;
use crate::cursor;

/// The columns [`read`] wants, in its order.
const COLUMNS: &str =
    "t.resource, t.id, t.agent, t.parent, t.title, t.metadata, t.created_at, t.updated_at, t.messages";

/// What writing into a thread needs to know of it.
pub(super) struct Found {
    pub(super) number: i64,
    pub(super) last_seq: i64,
    /// How many messages it holds; fewer than seqs when some were deleted.
    pub(super) messages: i64,
    /// No row of a turn is dated before this: when the thread last changed; anything in a thread without rows.
    pub(super) earliest: i64,
    pub(super) agent: Option<String>,
    /// Whether it stands in lists and counts.
    pub(super) listed: bool,
    pub(super) lease: Option<Lease>,
}

/// Who has a thread now.
pub(super) struct Lease {
    pub(super) turn: String,
    pub(super) holder: String,
}

/// Finds a living thread.
pub(super) fn find(connection: &Connection, key: &ThreadKey) -> Outcome<Option<Found>> {
    let sql = "SELECT t.number, t.last_seq, t.messages, t.agent, t.parent IS NULL, l.turn, l.holder, t.updated_at \
               FROM threads t \
               LEFT JOIN leases l ON l.thread = t.number WHERE t.resource = ?1 AND t.id = ?2 AND t.dead = 0";
    let found = connection.prepare_cached(sql)?.query_row((key.resource.as_str(), key.thread.as_str()), |row| {
        let lease = match (row.get(5)?, row.get(6)?) {
            (Some(turn), Some(holder)) => Some(Lease { turn, holder }),
            _ => None,
        };
        Ok(Found {
            number: row.get(0)?,
            last_seq: row.get(1)?,
            messages: row.get(2)?,
            earliest: if row.get::<_, i64>(1)? == 0 { i64::MIN } else { row.get(7)? },
            agent: row.get(3)?,
            listed: row.get(4)?,
            lease,
        })
    });
    Ok(found.optional()?)
}

/// Finds a living thread or says that there is none.
pub(super) fn find_or_fail(connection: &Connection, key: &ThreadKey) -> Outcome<Found> {
    match find(connection, key)? {
        Some(found) => Ok(found),
        None => fail(StoreErrorKind::NotFound, "no such thread"),
    }
}

/// A thread by its key.
pub(super) fn get(connection: &Connection, key: &ThreadKey) -> Outcome<Option<Thread>> {
    let sql = format!("SELECT {COLUMNS} FROM threads t WHERE t.resource = ?1 AND t.id = ?2 AND t.dead = 0");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query((key.resource.as_str(), key.thread.as_str()))?;
    rows.next()?.map(read).transpose()
}

fn read(row: &Row<'_>) -> Outcome<Thread> {
    let agent: Option<String> = row.get(2)?;
    let parent: Option<String> = row.get(3)?;
    let metadata: Option<String> = row.get(5)?;
    Ok(Thread {
        key: ThreadKey {
            resource: row::id(&row.get::<_, String>(0)?, ResourceId::new)?,
            thread: row::id(&row.get::<_, String>(1)?, ThreadId::new)?,
        },
        agent: agent.map(|agent| row::id(&agent, AgentId::new)).transpose()?,
        parent: parent.map(|parent| row::id(&parent, ThreadId::new)).transpose()?,
        title: row.get(4)?,
        metadata: metadata.as_deref().map(row::object).transpose()?,
        created_at: Timestamp::from_millis(row.get(6)?),
        updated_at: Timestamp::from_millis(row.get(7)?),
        message_count: row.get::<_, i64>(8)?.cast_unsigned(),
    })
}

/// Makes a thread that is not there.
pub(super) fn insert(group: &mut Group<'_>, key: &ThreadKey, new: &NewThread, now: i64) -> Outcome<Found> {
    let number = group.next_number()?;
    let metadata = new.metadata.as_ref().map(row::object_text).transpose()?;
    let agent = new.agent.as_ref().map(AgentId::as_str);
    let sql = "INSERT INTO threads (resource, id, agent, parent, title, metadata, created_at, updated_at, active, \
               changed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, ?8)";
    group.connection.prepare_cached(sql)?.execute((
        key.resource.as_str(),
        key.thread.as_str(),
        agent,
        new.parent.as_ref().map(ThreadId::as_str),
        &new.title,
        metadata,
        now,
        number,
    ))?;
    let found = Found {
        number: group.connection.last_insert_rowid(),
        last_seq: 0,
        messages: 0,
        earliest: i64::MIN,
        agent: agent.map(str::to_owned),
        listed: new.parent.is_none(),
        lease: None,
    };
    if found.listed {
        count(group, key.resource.as_str(), "")?;
    }
    if let Some(agent) = agent {
        take_part(group, key, &found, agent, number)?;
    }
    Ok(found)
}

/// Notes that an agent took part in the thread. `at`: its place in the lists, as far as it is known yet.
pub(super) fn take_part(group: &Group<'_>, key: &ThreadKey, thread: &Found, agent: &str, at: i64) -> Outcome<()> {
    let sql = "INSERT OR IGNORE INTO participants (thread, agent, resource, active, changed) \
               VALUES (?1, ?2, ?3, ?4, ?4)";
    let resource = thread.listed.then_some(key.resource.as_str());
    let fresh = group.connection.prepare_cached(sql)?.execute((thread.number, agent, resource, at))? > 0;
    if fresh && thread.listed {
        count(group, key.resource.as_str(), agent)?;
    }
    Ok(())
}

/// Notes in the thread's row, and in the lists of its agents, that so many messages came; the last one's seq stands
/// in [`Found`].
pub(super) fn grown(group: &mut Group<'_>, thread: &Found, messages: usize, now: i64) -> Outcome<()> {
    let number = group.next_number()?;
    let sql = "UPDATE threads SET last_seq = ?2, messages = messages + ?3, active = ?4, changed = ?4, \
               updated_at = max(updated_at, ?5) WHERE number = ?1";
    let now = now.max(thread.earliest);
    let messages = i64::try_from(messages).unwrap_or(0);
    group.connection.prepare_cached(sql)?.execute((thread.number, thread.last_seq, messages, number, now))?;
    if thread.listed {
        let sql = "UPDATE participants SET active = ?2, changed = ?2 WHERE thread = ?1";
        group.connection.prepare_cached(sql)?.execute((thread.number, number))?;
    }
    Ok(())
}

/// The same for a change that brings no message.
pub(super) fn changed(group: &mut Group<'_>, thread: &Found, now: i64) -> Outcome<()> {
    let number = group.next_number()?;
    let sql = "UPDATE threads SET changed = ?2, updated_at = max(updated_at, ?3) WHERE number = ?1";
    group.connection.prepare_cached(sql)?.execute((thread.number, number, now))?;
    if thread.listed {
        let sql = "UPDATE participants SET changed = ?2 WHERE thread = ?1";
        group.connection.prepare_cached(sql)?.execute((thread.number, number))?;
    }
    Ok(())
}

/// Counts one listed thread more of an owner (agent ``), or of those an agent took part in.
pub(super) fn count(group: &Group<'_>, resource: &str, agent: &str) -> Outcome<()> {
    let sql = "INSERT INTO owner_counts (resource, agent, threads) VALUES (?1, ?2, 1) \
               ON CONFLICT (resource, agent) DO UPDATE SET threads = threads + 1";
    group.connection.prepare_cached(sql)?.execute((resource, agent))?;
    Ok(())
}

/// Takes a listed thread out of its owner's counts.
pub(super) fn uncount(group: &Group<'_>, resource: &str, number: i64) -> Outcome<()> {
    let less = "UPDATE owner_counts SET threads = threads - 1 WHERE resource = ?1 \
                AND (agent = '' OR agent IN (SELECT agent FROM participants WHERE thread = ?2))";
    group.connection.prepare_cached(less)?.execute((resource, number))?;
    let none = "DELETE FROM owner_counts WHERE resource = ?1 AND threads <= 0";
    group.connection.prepare_cached(none)?.execute([resource])?;
    Ok(())
}

/// Changes the fields that are named.
pub(super) fn update(group: &mut Group<'_>, key: &ThreadKey, change: &ThreadChange, now: i64) -> Outcome<Thread> {
    let found = find_or_fail(group.connection, key)?;
    if *change != ThreadChange::default() {
        let metadata = change.metadata.as_ref().map(row::object_text).transpose()?;
        let sql = "UPDATE threads SET title = coalesce(?2, title), metadata = coalesce(?3, metadata) WHERE number = ?1";
        group.connection.prepare_cached(sql)?.execute((found.number, change.title.as_deref(), metadata))?;
        changed(group, &found, now)?;
    }
    match get(group.connection, key)? {
        Some(thread) => Ok(thread),
        None => fail(StoreErrorKind::Internal, "a thread vanished inside a transaction"),
    }
}

/// An owner's list, and the column that orders it: the threads themselves, or the places of those an agent took part
/// in. An index gives either in order.
fn source(order: ThreadOrder, by_agent: bool) -> (String, &'static str) {
    if !by_agent {
        let column = match order {
            ThreadOrder::Created => "t.number",
            ThreadOrder::Activity => "t.active",
            ThreadOrder::Updated => "t.changed",
        };
        // Names the agent's parameter, so that every form has the same numbers.
        return ("threads t WHERE t.resource = ?1 AND t.parent IS NULL AND ?4 = ''".to_owned(), column);
    }
    let (index, column) = match order {
        ThreadOrder::Created => ("participants_by_making", "p.thread"),
        ThreadOrder::Activity => ("participants_by_activity", "p.active"),
        ThreadOrder::Updated => ("participants_by_change", "p.changed"),
    };
    let places = format!("participants p INDEXED BY {index} CROSS JOIN threads t ON t.number = p.thread");
    (places + " WHERE p.resource = ?1 AND p.agent = ?4", column)
}

/// A page of an owner's threads.
pub(super) fn list(connection: &Connection, resource: &ResourceId, query: &ThreadQuery) -> Outcome<Page<Thread>> {
    let (source, column) = source(query.order, query.agent.is_some());
    let (compare, direction) = match query.direction {
        Direction::Ascending => (">", "ASC"),
        Direction::Descending => ("<", "DESC"),
    };
    let (offset, after) = match &query.start {
        PageStart::First => (0, None),
        PageStart::Offset(offset) => (i64::try_from(*offset).unwrap_or(i64::MAX), None),
        PageStart::After(text) => (0, Some(cursor::decode(query.order, text)?.cast_signed())),
    };
    let agent = query.agent.as_ref().map_or("", AgentId::as_str);
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX - 1);
    let one_more = limit.saturating_add(1);
    let name = resource.as_str();
    let mut values: Vec<&dyn ToSql> = vec![&name, &one_more, &offset, &agent];
    let mut sql = format!("SELECT {COLUMNS}, {column} FROM {source} AND t.dead = 0");
    if let Some(after) = &after {
        values.push(after);
        sql += &format!(" AND {column} {compare} ?5");
    }
    sql += &format!(" ORDER BY {column} {direction} LIMIT ?2 OFFSET ?3");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut cursor_rows = statement.query(values.as_slice())?;
    let (mut rows, mut last, mut next) = (Vec::new(), 0_i64, None);
    while let Some(row) = cursor_rows.next()? {
        if rows.len() >= query.limit {
            next = (!rows.is_empty()).then(|| cursor::encode(query.order, last.cast_unsigned()));
            break;
        }
        last = row.get(9)?;
        rows.push(read(row)?);
    }
    Ok(Page { rows, total: total(connection, name, agent)?, next })
}

fn total(connection: &Connection, resource: &str, agent: &str) -> Outcome<u64> {
    let sql = "SELECT threads FROM owner_counts WHERE resource = ?1 AND agent = ?2";
    let count: Option<i64> =
        connection.prepare_cached(sql)?.query_row((resource, agent), |row| row.get(0)).optional()?;
    Ok(count.unwrap_or(0).cast_unsigned())
}

/// The owners that have a thread of this id.
pub(super) fn owners(connection: &Connection, thread: &ThreadId, limit: usize) -> Outcome<Vec<ResourceId>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let sql = "SELECT resource FROM threads WHERE id = ?1 AND dead = 0 ORDER BY resource LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((thread.as_str(), limit))?;
    let mut owners = Vec::new();
    while let Some(row) = rows.next()? {
        owners.push(row::id(&row.get::<_, String>(0)?, ResourceId::new)?);
    }
    Ok(owners)
}

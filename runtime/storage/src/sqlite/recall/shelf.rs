//! Owners, spaces, shelves, and which messages of a shelf have an entry.

use rusqlite::{Connection, OptionalExtension};

use super::super::error::Outcome;
use super::super::row::{SEQ_BITS, place};
use super::super::writer::Group;

/// An owner's number.
pub(super) fn owner(connection: &Connection, resource: &str) -> Outcome<Option<i64>> {
    let sql = "SELECT number FROM owners WHERE resource = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([resource], |row| row.get(0)).optional()?)
}

/// The same, given now if there is none.
pub(super) fn owner_or_new(group: &Group<'_>, resource: &str) -> Outcome<i64> {
    if let Some(number) = owner(group.connection, resource)? {
        return Ok(number);
    }
    group.connection.prepare_cached("INSERT INTO owners (resource) VALUES (?1)")?.execute([resource])?;
    Ok(group.connection.last_insert_rowid())
}

/// A space's number.
pub(super) fn space(connection: &Connection, name: &str) -> Outcome<Option<i64>> {
    let sql = "SELECT number FROM spaces WHERE name = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?)
}

fn space_or_new(group: &Group<'_>, name: &str) -> Outcome<i64> {
    if let Some(number) = space(group.connection, name)? {
        return Ok(number);
    }
    group.connection.prepare_cached("INSERT INTO spaces (name) VALUES (?1)")?.execute([name])?;
    Ok(group.connection.last_insert_rowid())
}

/// The shelf of a thread in a space, made if there is none.
pub(super) fn shelf_or_new(group: &Group<'_>, thread: i64, owner: i64, space: &str) -> Outcome<i64> {
    let space = space_or_new(group, space)?;
    shelf_in(group, thread, owner, space)
}

/// The same with the space's number.
pub(super) fn shelf_in(group: &Group<'_>, thread: i64, owner: i64, space: i64) -> Outcome<i64> {
    let sql = "SELECT number FROM shelves WHERE thread = ?1 AND space = ?2";
    let known = group.connection.prepare_cached(sql)?.query_row((thread, space), |row| row.get(0)).optional()?;
    if let Some(number) = known {
        return Ok(number);
    }
    let sql = "INSERT INTO shelves (thread, space, owner) VALUES (?1, ?2, ?3)";
    group.connection.prepare_cached(sql)?.execute((thread, space, owner))?;
    Ok(group.connection.last_insert_rowid())
}

/// The shelves of a thread with their spaces.
pub(super) fn shelves(connection: &Connection, thread: i64) -> Outcome<Vec<(i64, i64)>> {
    let mut statement = connection.prepare_cached("SELECT number, space FROM shelves WHERE thread = ?1")?;
    let rows = statement.query_map([thread], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Notes that all seqs from `first` to `last` have an entry.
pub(super) fn add_run(group: &Group<'_>, shelf: i64, first: i64, last: i64) -> Outcome<()> {
    // The run before, and all that the new one touches.
    let sql = "SELECT first, last FROM runs WHERE shelf = ?1 AND first <= ?3 + 1 AND first >= coalesce( \
               (SELECT max(first) FROM runs WHERE shelf = ?1 AND first <= ?2), ?2) AND last >= ?2 - 1";
    let mut statement = group.connection.prepare_cached(sql)?;
    let touched = statement.query_map((shelf, first, last), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let touched: Vec<(i64, i64)> = touched.collect::<Result<_, _>>()?;
    let (mut from, mut to) = (first, last);
    for (first, last) in &touched {
        (from, to) = (from.min(*first), to.max(*last));
    }
    match touched.as_slice() {
        [(first, last)] if (*first, *last) == (from, to) => {}
        [(first, _)] if *first == from => {
            let sql = "UPDATE runs SET last = ?3 WHERE shelf = ?1 AND first = ?2";
            group.connection.prepare_cached(sql)?.execute((shelf, from, to))?;
        }
        _ => {
            for (first, _) in &touched {
                let sql = "DELETE FROM runs WHERE shelf = ?1 AND first = ?2";
                group.connection.prepare_cached(sql)?.execute((shelf, first))?;
            }
            let sql = "INSERT INTO runs (shelf, first, last) VALUES (?1, ?2, ?3)";
            group.connection.prepare_cached(sql)?.execute((shelf, from, to))?;
        }
    }
    Ok(())
}

/// Takes the entries of a message out. Its seq stays in its runs: it is never given again.
pub(in super::super) fn remove_message(group: &Group<'_>, thread: i64, seq: i64) -> Outcome<()> {
    for (shelf, _) in shelves(group.connection, thread)? {
        let sql = "DELETE FROM vectors WHERE place = ?1";
        group.connection.prepare_cached(sql)?.execute([place(shelf, seq)])?;
    }
    super::words::remove(group, place(thread, seq))
}

/// Notes that an owner's index changed, if it has one; see [`super::IndexWatch`].
pub(in super::super) fn bump(group: &Group<'_>, resource: &str) -> Outcome<()> {
    let sql = "UPDATE owners SET changes = changes + 1 WHERE resource = ?1";
    group.connection.prepare_cached(sql)?.execute([resource])?;
    Ok(())
}

/// The thread's row names its new owner by now: its shelves follow, and its words are marked to be written anew.
/// True when there are any.
pub(in super::super) fn moved(group: &Group<'_>, thread: i64, to: &str) -> Outcome<bool> {
    let owner = owner_or_new(group, to)?;
    group.connection.prepare_cached("UPDATE shelves SET owner = ?2 WHERE thread = ?1")?.execute((thread, owner))?;
    // What was settled was so without this thread.
    group.connection.prepare_cached("UPDATE owners SET arrivals = arrivals + 1 WHERE number = ?1")?.execute([owner])?;
    group.connection.prepare_cached("DELETE FROM settled WHERE owner = ?1")?.execute([owner])?;
    let sql = "INSERT OR IGNORE INTO words_moving (thread) SELECT ?1 WHERE EXISTS \
               (SELECT 1 FROM terms WHERE place > ?1 << ?2 AND place < (?1 + 1) << ?2)";
    Ok(group.connection.prepare_cached(sql)?.execute((thread, SEQ_BITS))? > 0)
}

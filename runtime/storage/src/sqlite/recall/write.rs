//! Writing entries.

use std::collections::BTreeSet;

use roster_model::id::ThreadKey;
use roster_model::recall::IndexEntry;
use rusqlite::OptionalExtension;
use tokio::time::Instant;

use super::super::error::Outcome;
use super::super::row::place;
use super::super::thread;
use super::super::writer::{Group, Step};
use super::shelf::{self, add_run, bump};
use super::words;

/// Where a call's entries go.
struct Place {
    thread: i64,
    owner: i64,
    shelf: i64,
}

impl Place {
    /// `None` when the thread is gone.
    fn find(group: &Group<'_>, key: &ThreadKey, space: &str) -> Outcome<Option<Self>> {
        let Some(thread) = thread::find(group.connection, key)?.map(|found| found.number) else { return Ok(None) };
        let owner = shelf::owner_or_new(group, key.resource.as_str())?;
        Ok(Some(Self { thread, owner, shelf: shelf::shelf_or_new(group, thread, owner, space)? }))
    }
}

/// Writes entries in one go.
pub(super) fn all(group: &Group<'_>, key: &ThreadKey, space: &str, entries: &[IndexEntry]) -> Outcome<()> {
    some(group, key, space, entries, || false).map(drop)
}

/// Writes entries in slices; every slice does one at least.
pub(super) fn step(key: ThreadKey, space: String, entries: Vec<IndexEntry>) -> Step {
    let mut done = 0;
    Box::new(move |group, until| {
        let rest = entries.get(done..).unwrap_or_default();
        done += some(group, &key, &space, rest, || Instant::now() >= until)?;
        Ok(done >= entries.len())
    })
}

/// Writes entries until it is enough; gives how many are done with.
fn some(
    group: &Group<'_>,
    key: &ThreadKey,
    space: &str,
    entries: &[IndexEntry],
    enough: impl Fn() -> bool,
) -> Outcome<usize> {
    let Some(place) = Place::find(group, key, space)? else { return Ok(entries.len()) };
    let (mut done, mut seqs) = (0, BTreeSet::new());
    for entry in entries {
        seqs.extend(one(group, &place, entry)?);
        done += 1;
        if enough() {
            break;
        }
    }
    for (first, last) in runs(&seqs) {
        add_run(group, place.shelf, first, last)?;
    }
    bump(group, key.resource.as_str())?;
    Ok(done)
}

/// Writes an entry; gives the message's seq, `None` when it is gone.
fn one(group: &Group<'_>, at: &Place, entry: &IndexEntry) -> Outcome<Option<i64>> {
    let sql = "SELECT seq, role, created_at FROM messages WHERE thread = ?1 AND id = ?2";
    let message = group.connection.prepare_cached(sql)?.query_row((at.thread, entry.message.as_str()), |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
    });
    let Some((seq, role, created_at)) = message.optional()? else { return Ok(None) };
    let vector = entry.vector.as_deref().map(bytes);
    let sql = "INSERT OR REPLACE INTO vectors (place, role, created_at, vector) VALUES (?1, ?2, ?3, ?4)";
    group.connection.prepare_cached(sql)?.execute((place(at.shelf, seq), role, created_at, vector))?;
    words::put(group, at.owner, place(at.thread, seq), &entry.terms)?;
    Ok(Some(seq))
}

fn bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The runs without a gap among seqs.
fn runs(seqs: &BTreeSet<i64>) -> Vec<(i64, i64)> {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for seq in seqs {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *seq => *last = *seq,
            _ => runs.push((*seq, *seq)),
        }
    }
    runs
}

/// Gives the copy of a message, in another thread of the same owner, the entries of the message.
pub(in super::super) fn copy_entries(
    group: &Group<'_>,
    owner: Option<i64>,
    (from, to): (i64, i64),
    (old, new): (i64, i64),
) -> Outcome<()> {
    let Some(owner) = owner else { return Ok(()) };
    for (source, space) in shelf::shelves(group.connection, from)? {
        let sql = "SELECT EXISTS (SELECT 1 FROM vectors WHERE place = ?1)";
        if group.connection.prepare_cached(sql)?.query_row([place(source, old)], |row| row.get(0))? {
            let target = shelf::shelf_in(group, to, owner, space)?;
            let sql = "INSERT INTO vectors (place, role, created_at, vector) \
                       SELECT ?2, role, created_at, vector FROM vectors WHERE place = ?1";
            group.connection.prepare_cached(sql)?.execute((place(source, old), place(target, new)))?;
            add_run(group, target, new, new)?;
        }
    }
    let sql = "SELECT terms FROM terms WHERE place = ?1";
    let terms = group.connection.prepare_cached(sql)?.query_row([place(from, old)], |row| row.get(0));
    let terms: Option<String> = terms.optional()?;
    terms.map_or(Ok(()), |terms| words::put(group, owner, place(to, new), &terms))
}

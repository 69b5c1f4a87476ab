//! What goes away: deleted threads, orphans, and the traces of turns that died.

use std::path::Path;

use roster_model::id::ThreadKey;
use roster_model::storage::Thread;
use roster_model::working::MemoryScope;
use rusqlite::{Connection, TransactionBehavior};
use tokio::time::Instant;

use super::error::Outcome;
use super::row::SEQ_BITS;
use super::thread::uncount;
use super::writer::{Group, Step, Writer};
use super::{holder, memory, recall, thread};

/// Rows removed between two looks at the time; one row can hold megabytes.
const CHUNK: i64 = 32;

/// A turn is dead: what it left `running` is interrupted.
pub(super) fn interrupt(group: &Group<'_>, thread: i64, turn: &str) -> Outcome<()> {
    let sql = "UPDATE messages SET status = 'interrupted' WHERE thread = ?1 AND turn = ?2 AND status = 'running'";
    group.connection.prepare_cached(sql)?.execute((thread, turn))?;
    Ok(())
}

/// What a deletion has to remove.
pub(super) struct Doomed {
    /// False when there was no living thread of this key, nor one below it.
    pub(super) found: bool,
    /// Numbers of the dead: the thread, those below it, and what earlier deletions of this key left.
    pub(super) threads: Vec<i64>,
    /// The keys that are free now.
    pub(super) keys: Vec<ThreadKey>,
}

/// A living thread: its number, its id, and whether it stands in lists.
pub(super) type Living = (i64, String, bool);

/// The thread and all threads below it, also where the thread itself is kept elsewhere.
pub(super) fn family(group: &Group<'_>, key: &ThreadKey) -> Outcome<Vec<Living>> {
    let below = "WITH RECURSIVE doomed (number, id, listed) AS ( \
                   SELECT number, id, parent IS NULL FROM threads WHERE resource = ?1 AND id = ?2 AND dead = 0 \
                   UNION SELECT number, id, 0 FROM threads WHERE resource = ?1 AND parent = ?2 AND dead = 0 \
                   UNION SELECT t.number, t.id, 0 FROM doomed d JOIN threads t \
                   ON t.resource = ?1 AND t.parent = d.id AND t.dead = 0) \
                 SELECT number, id, listed FROM doomed";
    let mut statement = group.connection.prepare_cached(below)?;
    let living = statement
        .query_map((key.resource.as_str(), key.thread.as_str()), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(living.collect::<Result<_, _>>()?)
}

/// Makes a thread and all threads below it invisible.
pub(super) fn doom(group: &Group<'_>, key: &ThreadKey) -> Outcome<Doomed> {
    let living = family(group, key)?;
    let mut doomed = Doomed { found: !living.is_empty(), threads: earlier(group, key)?, keys: Vec::new() };
    for (number, id, listed) in living {
        doom_one(group, key.resource.as_str(), number, listed)?;
        doomed.threads.push(number);
        if let Ok(thread) = roster_model::id::ThreadId::new(&id) {
            doomed.keys.push(ThreadKey { resource: key.resource.clone(), thread });
        }
    }
    if doomed.found {
        recall::bump(group, key.resource.as_str())?;
    }
    Ok(doomed)
}

/// Makes a thread invisible that is still as it was seen and holds nothing; gives its number.
pub(super) fn doom_if_empty(group: &Group<'_>, seen: &Thread) -> Outcome<Option<i64>> {
    let is_unused = thread::get(group.connection, &seen.key)?.is_some_and(|thread| thread == *seen)
        && seen.message_count == 0
        && memory::read(group.connection, &MemoryScope::Thread(seen.key.clone()))?.is_none();
    let found = thread::find(group.connection, &seen.key)?.filter(|found| is_unused && found.lease.is_none());
    let Some(found) = found else { return Ok(None) };
    doom_one(group, seen.key.resource.as_str(), found.number, found.listed)?;
    Ok(Some(found.number))
}

/// Makes one thread invisible.
pub(super) fn doom_one(group: &Group<'_>, resource: &str, number: i64, listed: bool) -> Outcome<()> {
    if listed {
        uncount(group, resource, number)?;
    }
    for sql in [
        "UPDATE threads SET dead = 1 WHERE number = ?1",
        "DELETE FROM leases WHERE thread = ?1",
        "DELETE FROM participants WHERE thread = ?1",
    ] {
        group.connection.prepare_cached(sql)?.execute([number])?;
    }
    Ok(())
}

fn earlier(group: &Group<'_>, key: &ThreadKey) -> Outcome<Vec<i64>> {
    let sql = "SELECT number FROM threads WHERE resource = ?1 AND id = ?2 AND dead = 1";
    let mut statement = group.connection.prepare_cached(sql)?;
    let numbers = statement.query_map((key.resource.as_str(), key.thread.as_str()), |row| row.get(0))?;
    Ok(numbers.collect::<Result<_, _>>()?)
}

/// Removes all that hangs on these threads, in slices. A thread that lives is left alone.
pub(super) fn purge(mut threads: Vec<i64>) -> Step {
    Box::new(move |group, until| {
        while let Some(number) = threads.last() {
            if !purge_one(group, *number, until, &mut 0)? {
                return Ok(false);
            }
            threads.pop();
        }
        Ok(true)
    })
}

/// Rows of a thread, a few at a time; ?1 is the thread, ?2 how many at most. Words before terms: they are found by
/// them. The second column counts what the statement removes as entries of the index.
const FEW_OF_A_THREAD: [(&str, bool); 6] = [
    ("DELETE FROM messages WHERE place IN (SELECT place FROM messages WHERE thread = ?1 LIMIT ?2)", false),
    (
        "DELETE FROM vectors WHERE place IN (SELECT v.place FROM shelves s JOIN vectors v \
         ON v.place >= s.number << 32 AND v.place < (s.number + 1) << 32 WHERE s.thread = ?1 LIMIT ?2)",
        true,
    ),
    (
        "DELETE FROM words WHERE rowid IN (SELECT place FROM terms \
         WHERE place >= ?1 << 32 AND place < (?1 + 1) << 32 ORDER BY place LIMIT ?2)",
        false,
    ),
    (
        "DELETE FROM terms WHERE place IN (SELECT place FROM terms \
         WHERE place >= ?1 << 32 AND place < (?1 + 1) << 32 ORDER BY place LIMIT ?2)",
        false,
    ),
    (
        "DELETE FROM runs WHERE (shelf, first) IN (SELECT r.shelf, r.first FROM shelves s JOIN runs r \
         ON r.shelf = s.number WHERE s.thread = ?1 LIMIT ?2)",
        false,
    ),
    ("DELETE FROM feed WHERE number IN (SELECT number FROM feed WHERE thread = ?1 LIMIT ?2)", false),
];

/// The rest: few rows for a thread, the thread's own last.
const REST_OF_A_THREAD: [&str; 6] = [
    "DELETE FROM shelves WHERE thread = ?1",
    "DELETE FROM words_moving WHERE thread = ?1",
    "DELETE FROM working_threads WHERE thread = ?1",
    "DELETE FROM participants WHERE thread = ?1",
    "DELETE FROM leases WHERE thread = ?1",
    "DELETE FROM threads WHERE number = ?1",
];

/// Removes all that hangs on a thread until the time is up; true when it is done. Counts entries of the index.
pub(super) fn purge_one(group: &Group<'_>, number: i64, until: Instant, entries: &mut u64) -> Outcome<bool> {
    let lives = "SELECT EXISTS (SELECT 1 FROM threads WHERE number = ?1 AND dead = 0)";
    if group.connection.prepare_cached(lives)?.query_row([number], |row| row.get(0))? {
        return Ok(true);
    }
    loop {
        let mut gone = 0;
        for (sql, counts) in FEW_OF_A_THREAD {
            let some = group.connection.prepare_cached(sql)?.execute((number, CHUNK))?;
            *entries += if counts { some as u64 } else { 0 };
            gone += some;
        }
        if gone == 0 {
            break;
        }
        if Instant::now() >= until {
            return Ok(false);
        }
    }
    for rest in REST_OF_A_THREAD {
        group.connection.prepare_cached(rest)?.execute([number])?;
    }
    Ok(true)
}

/// Looks for what earlier runs left: deletions and copies half done, words half moved, and rows whose thread is
/// missing (written by a program that had foreign keys off). Jumps from thread to thread in the index instead of
/// reading every row.
pub(super) fn tidy(connection: &Connection, writer: &Writer, stop: impl Fn() -> bool) -> Outcome<()> {
    let numbers = |sql: &str| -> Outcome<Vec<i64>> {
        Ok(connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    };
    let mut left = numbers("SELECT number FROM threads INDEXED BY threads_dead WHERE dead = 1")?;
    // A copy that is still being made has the lease of whoever makes it.
    left.extend(numbers(
        "SELECT number FROM threads INDEXED BY threads_in_making WHERE dead = 2 \
         AND NOT EXISTS (SELECT 1 FROM leases WHERE thread = number)",
    )?);
    let mut known = connection.prepare("SELECT EXISTS (SELECT 1 FROM threads WHERE number = ?1)")?;
    for (table, thread) in OF_THREADS {
        let sql = format!("SELECT min({thread}) FROM {table} WHERE {thread} > ?1");
        // Of places the first one behind all of the thread's.
        let behind = |at: i64| if thread == "place" { ((at + 1) << SEQ_BITS) - 1 } else { at };
        let mut next = connection.prepare(&sql)?;
        let mut at = i64::MIN;
        while let Some(found) = next.query_row([at], |row| row.get::<_, Option<i64>>(0))? {
            if stop() {
                return Ok(());
            }
            let found = if thread == "place" { found >> SEQ_BITS } else { found };
            if !known.query_row([found], |row| row.get::<_, bool>(0))? {
                left.push(found);
            }
            at = behind(found);
        }
    }
    if !left.is_empty() {
        tracing::info!(threads = left.len(), "removing what is left of deleted threads");
        writer.slices_in_background(purge(left));
    }
    let moving = numbers("SELECT thread FROM words_moving")?;
    if !moving.is_empty() {
        writer.slices_in_background(recall::move_words(moving));
    }
    Ok(())
}

/// Tables with rows of threads, and the column that says whose: its number, or a place inside it.
const OF_THREADS: [(&str, &str); 7] = [
    ("messages", "thread"),
    ("participants", "thread"),
    ("leases", "thread"),
    ("working_threads", "thread"),
    ("feed", "thread"),
    ("shelves", "thread"),
    ("terms", "place"),
];

/// When a store opens: leases of dead holders go, and what their turns left `running` is interrupted. Writes only
/// where there is something to do.
pub(super) fn sweep(connection: &mut Connection, path: &Path) -> rusqlite::Result<()> {
    let holders: Vec<String> = connection
        .prepare("SELECT DISTINCT holder FROM leases")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let dead: Vec<String> = holders.into_iter().filter(|name| !holder::is_alive(path, name)).collect();
    let stray = "SELECT EXISTS (SELECT 1 FROM messages INDEXED BY messages_running WHERE status = 'running' AND \
                 NOT EXISTS (SELECT 1 FROM leases l WHERE l.thread = messages.thread AND l.turn IS messages.turn))";
    if !dead.is_empty() || connection.query_row(stray, [], |row| row.get(0))? {
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for name in &dead {
            change.execute("DELETE FROM leases WHERE holder = ?1", [name])?;
        }
        let interrupt = "UPDATE messages INDEXED BY messages_running SET status = 'interrupted' WHERE status = 'running' \
                         AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.thread = messages.thread AND l.turn IS messages.turn)";
        change.execute(interrupt, [])?;
        change.commit()?;
    }
    holder::sweep(path);
    Ok(())
}

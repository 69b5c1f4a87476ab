//! What goes away: deleted threads, orphans, and the traces of turns that died.

use std::path::Path;

use roster_model::id::ThreadKey;
use rusqlite::{Connection, TransactionBehavior};
use tokio::time::Instant;

use super::error::Outcome;
use super::holder;
use super::thread::uncount;
use super::writer::{Group, Step, Writer};

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
    /// False when there was no living thread of this key.
    pub(super) found: bool,
    /// Numbers of the dead: the thread, those below it, and what earlier deletions of this key left.
    pub(super) threads: Vec<i64>,
    /// The keys that are free now.
    pub(super) keys: Vec<ThreadKey>,
}

/// Makes a thread and all threads below it invisible.
pub(super) fn doom(group: &Group<'_>, key: &ThreadKey) -> Outcome<Doomed> {
    let below = "WITH RECURSIVE doomed (number, id, listed) AS ( \
                   SELECT number, id, parent IS NULL FROM threads WHERE resource = ?1 AND id = ?2 AND dead = 0 \
                   UNION SELECT t.number, t.id, 0 FROM doomed d JOIN threads t \
                   ON t.resource = ?1 AND t.parent = d.id AND t.dead = 0) \
                 SELECT number, id, listed FROM doomed";
    let resource = key.resource.as_str();
    let living: Vec<(i64, String, bool)> = group
        .connection
        .prepare_cached(below)?
        .query_map((resource, key.thread.as_str()), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let mut doomed = Doomed { found: !living.is_empty(), threads: earlier(group, key)?, keys: Vec::new() };
    for (number, id, listed) in living {
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
        doomed.threads.push(number);
        if let Ok(thread) = roster_model::id::ThreadId::new(&id) {
            doomed.keys.push(ThreadKey { resource: key.resource.clone(), thread });
        }
    }
    Ok(doomed)
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
            if !purge_one(group, *number, until)? {
                return Ok(false);
            }
            threads.pop();
        }
        Ok(true)
    })
}

fn purge_one(group: &Group<'_>, number: i64, until: Instant) -> Outcome<bool> {
    let lives = "SELECT EXISTS (SELECT 1 FROM threads WHERE number = ?1 AND dead = 0)";
    if group.connection.prepare_cached(lives)?.query_row([number], |row| row.get(0))? {
        return Ok(true);
    }
    let some = "DELETE FROM messages WHERE place IN (SELECT place FROM messages WHERE thread = ?1 LIMIT ?2)";
    while group.connection.prepare_cached(some)?.execute((number, CHUNK))? > 0 {
        if Instant::now() >= until {
            return Ok(false);
        }
    }
    for rest in [
        "DELETE FROM participants WHERE thread = ?1",
        "DELETE FROM leases WHERE thread = ?1",
        "DELETE FROM threads WHERE number = ?1",
    ] {
        group.connection.prepare_cached(rest)?.execute([number])?;
    }
    Ok(true)
}

/// Looks for what earlier runs left: deletions half done, and rows whose thread is missing (written by a program
/// that had foreign keys off). Jumps from thread to thread in the index instead of reading every row.
pub(super) fn tidy(connection: &Connection, writer: &Writer, stop: impl Fn() -> bool) -> Outcome<()> {
    let mut left: Vec<i64> = connection
        .prepare("SELECT number FROM threads INDEXED BY threads_dead WHERE dead = 1")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for table in ["messages", "participants", "leases"] {
        let mut next = connection.prepare(&format!("SELECT min(thread) FROM {table} WHERE thread > ?1"))?;
        let mut known = connection.prepare("SELECT EXISTS (SELECT 1 FROM threads WHERE number = ?1)")?;
        let mut at = i64::MIN;
        while let Some(thread) = next.query_row([at], |row| row.get::<_, Option<i64>>(0))? {
            if stop() {
                return Ok(());
            }
            if !known.query_row([thread], |row| row.get::<_, bool>(0))? {
                left.push(thread);
            }
            at = thread;
        }
    }
    if !left.is_empty() {
        tracing::info!(threads = left.len(), "removing what is left of deleted threads");
        writer.slices_in_background(purge(left));
    }
    Ok(())
}

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

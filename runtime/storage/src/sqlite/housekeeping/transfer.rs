//! Giving a thread to another owner: one transaction moves all but the words, which are written anew behind it.

use roster_model::id::{ResourceId, ThreadId, ThreadKey};
use roster_model::storage::{StoreErrorKind, Thread};

use super::super::error::{Outcome, fail};
use super::super::turn::Desk;
use super::super::writer::Group;
use super::super::{erase, recall, row, thread};

/// A transfer done.
pub(super) struct Moved {
    pub(super) thread: Thread,
    /// Threads whose words still carry the old owner.
    pub(super) words: Vec<i64>,
    /// What the old owner no longer has.
    pub(super) free: Vec<ThreadId>,
}

/// Moves the thread and those below it.
pub(super) fn transfer(group: &mut Group<'_>, desk: &Desk, key: &ThreadKey, to: &ResourceId) -> Outcome<Moved> {
    let target = ThreadKey { resource: to.clone(), thread: key.thread.clone() };
    let mut moved = Moved { thread: super::get(group, key)?, words: Vec::new(), free: Vec::new() };
    if key.resource == *to {
        return Ok(moved);
    }
    let now = desk.clock.now().millis();
    let family = erase::family(group, key)?;
    for (_, id, _) in &family {
        let thread = row::id(id, ThreadId::new)?;
        may_move(group, desk, &ThreadKey { resource: key.resource.clone(), thread: thread.clone() }, to)?;
        moved.free.push(thread);
    }
    for (number, id, listed) in family {
        if listed {
            recount(group, &key.resource, to, number)?;
        }
        group
            .connection
            .prepare_cached("UPDATE threads SET resource = ?2 WHERE number = ?1")?
            .execute((number, to.as_str()))?;
        let here = ThreadKey { resource: to.clone(), thread: row::id(&id, ThreadId::new)? };
        let found = thread::find_or_fail(group.connection, &here)?;
        thread::changed(group, &found, now)?;
        if recall::moved(group, number, to.as_str())? {
            moved.words.push(number);
        }
    }
    for owner in [&key.resource, to] {
        recall::bump(group, owner.as_str())?;
    }
    moved.thread = super::get(group, &target)?;
    Ok(moved)
}

/// Fails while a turn runs in the thread, or when its id is taken there. What a dead turn left is interrupted.
fn may_move(group: &Group<'_>, desk: &Desk, key: &ThreadKey, to: &ResourceId) -> Outcome<()> {
    let there = ThreadKey { resource: to.clone(), thread: key.thread.clone() };
    if thread::find(group.connection, &there)?.is_some() {
        return fail(StoreErrorKind::Conflict, format!("there is a thread `{}` already", key.thread));
    }
    let found = thread::find_or_fail(group.connection, key)?;
    if let Some(lease) = &found.lease {
        if desk.is_alive(lease) {
            return fail(StoreErrorKind::Busy, "a turn runs in the thread");
        }
        erase::interrupt(group, found.number, &lease.turn)?;
        group.connection.prepare_cached("DELETE FROM leases WHERE thread = ?1")?.execute([found.number])?;
    }
    Ok(())
}

/// Moves a listed thread from one owner's lists and counts to the other's.
fn recount(group: &Group<'_>, from: &ResourceId, to: &ResourceId, number: i64) -> Outcome<()> {
    thread::uncount(group, from.as_str(), number)?;
    thread::count(group, to.as_str(), "")?;
    let sql = "SELECT agent FROM participants WHERE thread = ?1";
    let mut statement = group.connection.prepare_cached(sql)?;
    let agents: Vec<String> = statement.query_map([number], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for agent in agents {
        thread::count(group, to.as_str(), &agent)?;
    }
    let sql = "UPDATE participants SET resource = ?2 WHERE thread = ?1";
    group.connection.prepare_cached(sql)?.execute((number, to.as_str()))?;
    Ok(())
}

//! Everything of an owner at once, in slices. The last one sees that nothing came in between, so when it is durable
//! nothing is left.

use std::sync::Arc;

use roster_model::housekeeping::Erased;
use roster_model::id::{ResourceId, ThreadId, ThreadKey};
use tokio::time::Instant;

use super::super::error::Outcome;
use super::super::turn::Desk;
use super::super::writer::{Group, Step};
use super::super::{erase, recall};
use super::Gathered;
use crate::line::lock;

/// Threads made invisible between two looks at the time.
const CHUNK: u32 = 32;

/// Removes everything of an owner.
pub(super) fn step(desk: Arc<Desk>, resource: ResourceId, erased: Gathered<Erased>) -> Step {
    Box::new(move |group, until| {
        let mut erased = lock(&erased);
        loop {
            let worked =
                doom_some(group, &desk, &resource, &mut erased)? || purge_some(group, &resource, until, &mut erased)?;
            if !worked {
                rest(group, &resource, &mut erased)?;
                return Ok(true);
            }
            if Instant::now() >= until {
                return Ok(false);
            }
        }
    })
}

/// Makes some threads invisible, and copies under way those of dead ones; false when there are none.
fn doom_some(group: &Group<'_>, desk: &Desk, resource: &ResourceId, erased: &mut Erased) -> Outcome<bool> {
    let name = resource.as_str();
    let sql = "SELECT number, id, parent IS NULL, messages FROM threads INDEXED BY threads_by_key \
               WHERE resource = ?1 AND dead = 0 LIMIT ?2";
    let mut statement = group.connection.prepare_cached(sql)?;
    let some = statement.query_map((name, CHUNK), |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?, row.get::<_, i64>(3)?))
    })?;
    let some: Vec<_> = some.collect::<Result<_, _>>()?;
    for (number, id, listed, messages) in &some {
        erase::doom_one(group, name, *number, *listed)?;
        let sql = "SELECT count(*) FROM working_threads WHERE thread = ?1 AND text NOTNULL";
        let memories: i64 = group.connection.prepare_cached(sql)?.query_row([number], |row| row.get(0))?;
        erased.threads += 1;
        erased.messages += messages.cast_unsigned();
        erased.working_memories += memories.cast_unsigned();
        if let Ok(thread) = ThreadId::new(id) {
            // Whoever waits for it asks again, behind this transaction.
            desk.lines.freed(&ThreadKey { resource: resource.clone(), thread });
        }
    }
    if !some.is_empty() {
        recall::bump(group, name)?;
        return Ok(true);
    }
    let copies = "UPDATE threads INDEXED BY threads_in_making SET dead = 1 WHERE resource = ?1 AND dead = 2";
    Ok(group.connection.prepare_cached(copies)?.execute([name])? > 0)
}

/// Removes what hangs on one invisible thread, as far as the time allows; false when there is none.
fn purge_some(group: &Group<'_>, resource: &ResourceId, until: Instant, erased: &mut Erased) -> Outcome<bool> {
    let sql = "SELECT min(number) FROM threads INDEXED BY threads_dead WHERE resource = ?1 AND dead = 1";
    let dead: Option<i64> = group.connection.prepare_cached(sql)?.query_row([resource.as_str()], |row| row.get(0))?;
    match dead {
        Some(number) => erase::purge_one(group, number, until, &mut erased.index_entries).map(|_| true),
        None => Ok(false),
    }
}

/// Removes what belongs to the owner itself.
fn rest(group: &Group<'_>, resource: &ResourceId, erased: &mut Erased) -> Outcome<()> {
    let name = resource.as_str();
    let sql = "SELECT count(*) FROM working_owners WHERE resource = ?1 AND text NOTNULL";
    let memories: i64 = group.connection.prepare_cached(sql)?.query_row([name], |row| row.get(0))?;
    erased.working_memories += memories.cast_unsigned();
    for sql in [
        "DELETE FROM working_owners WHERE resource = ?1",
        "DELETE FROM settled WHERE owner = (SELECT number FROM owners WHERE resource = ?1)",
        "DELETE FROM owners WHERE resource = ?1",
        "DELETE FROM owner_counts WHERE resource = ?1",
    ] {
        group.connection.prepare_cached(sql)?.execute([name])?;
    }
    Ok(())
}

//! Deleting single messages, and finding where messages stand.

use std::collections::BTreeSet;

use roster_model::id::{MessageId, ResourceId, ThreadId, ThreadKey};
use rusqlite::Connection;
use tokio::time::Instant;

use super::super::error::Outcome;
use super::super::row::{self, place};
use super::super::thread::{self, Found};
use super::super::writer::{Group, Step};
use super::super::{message, recall};
use super::Gathered;
use crate::line::lock;

/// Deletes messages with their entries, in slices; the thread's count is right after each.
pub(super) fn delete(key: ThreadKey, mut messages: Vec<MessageId>, now: i64, count: Gathered<u64>) -> Step {
    let mut number = None;
    Box::new(move |group, until| {
        let Some(thread) = thread::find(group.connection, &key)? else { return Ok(true) };
        if *number.get_or_insert(thread.number) != thread.number {
            // Deleted meanwhile, and made anew.
            return Ok(true);
        }
        let gone = some(group, &thread, &mut messages, until)?;
        if gone > 0 {
            let sql = "UPDATE threads SET messages = messages - ?2 WHERE number = ?1";
            group.connection.prepare_cached(sql)?.execute((thread.number, gone.cast_signed()))?;
            thread::changed(group, &thread, now)?;
            recall::bump(group, key.resource.as_str())?;
            *lock(&count) += gone;
        }
        Ok(messages.is_empty())
    })
}

/// Deletes until the time is up; gives how many were there.
fn some(group: &Group<'_>, thread: &Found, messages: &mut Vec<MessageId>, until: Instant) -> Outcome<u64> {
    let mut gone = 0;
    while let Some(id) = messages.pop() {
        if let Some(seq) = message::seq_of(group.connection, thread, id.as_str())? {
            let sql = "DELETE FROM messages WHERE place = ?1";
            group.connection.prepare_cached(sql)?.execute([place(thread.number, seq)])?;
            recall::remove_message(group, thread.number, seq)?;
            gone += 1;
        }
        if Instant::now() >= until {
            break;
        }
    }
    Ok(gone)
}

/// Asks every thread of the owner for each message: ids are unique in their thread only, and an index over all of
/// them would cost every turn.
pub(super) fn threads(
    connection: &Connection,
    resource: &ResourceId,
    messages: Vec<MessageId>,
) -> Outcome<Vec<(ThreadId, MessageId)>> {
    let sql = "SELECT t.id FROM threads t INDEXED BY threads_by_key \
               CROSS JOIN messages m INDEXED BY messages_by_id ON m.thread = t.number AND m.id = ?2 \
               WHERE t.resource = ?1 AND t.dead = 0";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = Vec::new();
    for message in messages.into_iter().collect::<BTreeSet<_>>() {
        let mut rows = statement.query((resource.as_str(), message.as_str()))?;
        while let Some(row) = rows.next()? {
            found.push((row::id(&row.get::<_, String>(0)?, ThreadId::new)?, message.clone()));
        }
    }
    Ok(found)
}

//! Turns: the question with the lease, the answer that gives it back.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use roster_model::id::{IdSource, ThreadKey, TurnId};
use roster_model::message::{MessageStatus, Seq};
use roster_model::storage::{BeginTurn, Begun, NewThread, SaveAnswer, StoreError, StoreErrorKind};
use roster_model::time::Clock;
use rusqlite::OptionalExtension;

use super::error::{Outcome, fail};
use super::message::add;
use super::row::{self, Encoded};
use super::thread::{self, Found, Lease};
use super::writer::{Group, Writer};
use super::{erase, holder, suspension};
use crate::line::{Hold, Lines, Place};

/// How often a thread held by another process is looked at: at first, and at most.
const POLL: (Duration, Duration) = (Duration::from_millis(25), Duration::from_millis(100));

/// What turns need to know of the store.
pub(super) struct Desk {
    pub(super) path: PathBuf,
    pub(super) holder: String,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) lines: Arc<Lines>,
    /// Of copied messages.
    pub(super) ids: Arc<dyn IdSource>,
}

impl Desk {
    /// Whether a lease still counts: its turn lives here, or its holder lives elsewhere.
    pub(super) fn is_alive(&self, lease: &Lease) -> bool {
        if lease.holder == self.holder {
            TurnId::new(&lease.turn).is_ok_and(|turn| self.lines.is_live(&turn))
        } else {
            holder::is_alive(&self.path, &lease.holder)
        }
    }
}

/// A question ready to be written.
struct Opening {
    key: ThreadKey,
    turn: TurnId,
    seed: Vec<Encoded>,
    question: Encoded,
    thread: NewThread,
}

/// What became of an attempt.
enum Taken {
    Begun(Begun, Hold),
    /// Another turn has the thread; true when it runs in this process, which will wake us.
    Held(bool),
}

/// Waits for the thread and writes the question.
pub(super) async fn begin(desk: &Arc<Desk>, writer: &Writer, begin: BeginTurn) -> Result<Begun, StoreError> {
    let opening = Arc::new(Opening {
        seed: Encoded::all(begin.seed)?,
        question: Encoded::new(begin.question)?,
        key: begin.key,
        turn: begin.turn,
        thread: begin.thread,
    });
    let place = desk.lines.enter(&opening.key).await;
    let mut pause = POLL.0;
    loop {
        let (desk, opening) = (Arc::clone(desk), Arc::clone(&opening));
        // Whoever goes away now drops the hold with the answer, and the thread is free again.
        let taken = writer.write(move |group| take(group, &desk, &opening)).await?;
        match taken {
            Taken::Begun(begun, hold) => {
                hold.keep();
                return Ok(begun);
            }
            Taken::Held(true) => place.freed().await,
            Taken::Held(false) => pause = poll(&place, pause).await,
        }
    }
}

/// Waits a moment, or less when a deletion here frees the thread; gives the next pause.
async fn poll(place: &Place, pause: Duration) -> Duration {
    let _either = tokio::time::timeout(pause, place.freed()).await;
    (pause * 2).min(POLL.1)
}

fn take(group: &mut Group<'_>, desk: &Desk, opening: &Opening) -> Outcome<Taken> {
    let now = desk.clock.now().millis();
    let mut thread = match thread::find(group.connection, &opening.key)? {
        None => thread::insert(group, &opening.key, &opening.thread, now)?,
        Some(found) => {
            if let Some(lease) = &found.lease {
                if desk.is_alive(lease) {
                    return Ok(Taken::Held(lease.holder == desk.holder));
                }
                erase::interrupt(group, found.number, &lease.turn)?;
            }
            suspension::overtake(group, found.number)?;
            found
        }
    };
    let empty = thread.messages == 0;
    let seed: &[Encoded] = if empty { &opening.seed } else { &[] };
    let first = thread.last_seq + 1;
    for encoded in seed.iter().chain([&opening.question]) {
        add(group, &opening.key, &mut thread, encoded, Some(&opening.turn))?;
    }
    thread::grown(group, &thread, seed.len() + 1, now)?;
    let sql = "INSERT OR REPLACE INTO leases (thread, turn, holder) VALUES (?1, ?2, ?3)";
    group.connection.prepare_cached(sql)?.execute((thread.number, opening.turn.as_str(), &desk.holder))?;
    let begun = Begun { first: Seq(first.cast_unsigned()), seeded: !seed.is_empty() };
    Ok(Taken::Begun(begun, desk.lines.hold(&opening.key, &opening.turn)))
}

/// Writes the turn's row; the last one gives the thread back. If the last one fails, the turn is over all the same:
/// whoever takes the thread next marks what it left as interrupted.
pub(super) async fn save(desk: &Arc<Desk>, writer: &Writer, save: SaveAnswer) -> Result<(), StoreError> {
    let _release = save.last.then(|| desk.lines.releasing(&save.key, &save.turn));
    let encoded = save.message.map(Encoded::new).transpose()?;
    let (now, key, turn, last) = (desk.clock.now().millis(), save.key, save.turn, save.last);
    writer.write(move |group| put(group, &key, &turn, encoded.as_ref(), last, now)).await
}

fn put(
    group: &mut Group<'_>,
    key: &ThreadKey,
    turn: &TurnId,
    encoded: Option<&Encoded>,
    last: bool,
    now: i64,
) -> Outcome<()> {
    let mut thread = thread::find_or_fail(group.connection, key)?;
    let held = thread.lease.as_ref().is_some_and(|lease| lease.turn == turn.as_str());
    if !held && !has_row_of(group, &thread, turn)? {
        // A thread of this id made anew after a deletion.
        return fail(StoreErrorKind::NotFound, "no such thread");
    }
    if let Some(encoded) = encoded {
        write(group, key, &mut thread, turn, encoded, held, now)?;
        if encoded.message.status.is_waiting() {
            suspension::note(group, thread.number, turn, encoded.message.id.as_str())?;
        }
    }
    if last && held {
        group.connection.prepare_cached("DELETE FROM leases WHERE thread = ?1")?.execute([thread.number])?;
    }
    Ok(())
}

fn write(
    group: &mut Group<'_>,
    key: &ThreadKey,
    thread: &mut Found,
    turn: &TurnId,
    encoded: &Encoded,
    held: bool,
    now: i64,
) -> Outcome<()> {
    if encoded.overwrite(group, thread.number, turn)? {
        return thread::changed(group, thread, now.max(encoded.message.created_at.millis()));
    }
    if !held && !is_newest(group, thread, turn)? {
        let status = MessageStatus::Interrupted.as_str();
        return fail(
            StoreErrorKind::Conflict,
            format!("turn `{turn}` no longer holds its thread and counts as {status}"),
        );
    }
    add(group, key, thread, encoded, Some(turn))?;
    thread::grown(group, thread, 1, now)
}

fn has_row_of(group: &Group<'_>, thread: &Found, turn: &TurnId) -> Outcome<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM messages WHERE thread = ?1 AND turn = ?2)";
    Ok(group.connection.prepare_cached(sql)?.query_row((thread.number, turn.as_str()), |row| row.get(0))?)
}

fn is_newest(group: &Group<'_>, thread: &Found, turn: &TurnId) -> Outcome<bool> {
    // The newest that is there: the last seqs may be of deleted messages.
    let sql = "SELECT turn IS ?3 FROM messages WHERE place > ?1 AND place <= ?2 ORDER BY place DESC LIMIT 1";
    let range = (row::place(thread.number, 0), row::place(thread.number, thread.last_seq), turn.as_str());
    let newest = group.connection.prepare_cached(sql)?.query_row(range, |row| row.get(0));
    Ok(newest.optional()?.unwrap_or(false))
}

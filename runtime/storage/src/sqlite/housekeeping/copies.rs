//! Copying a thread, in slices. Until the last one the copy is invisible and carries a lease of this store, so that
//! whoever opens the file can tell a copy being made from one that a dead process left.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use roster_model::housekeeping::{Copied, CopyRange};
use roster_model::id::{AgentId, MessageId, ThreadKey};
use roster_model::message::{Seq, StoredMessage};
use roster_model::storage::{NewThread, StoreError, StoreErrorKind};
use rusqlite::OptionalExtension;
use tokio::time::Instant;

use super::super::error::{Outcome, fail};
use super::super::row::{self, Encoded, place};
use super::super::thread::{self, Found};
use super::super::turn::Desk;
use super::super::writer::{Group, Step};
use super::super::{message, recall};
use super::Gathered;
use crate::budget::Budget;
use crate::line::lock;

/// Messages read at once, of 8 MiB at most.
const CHUNK: i64 = 16;
/// What the lease of a copy names in place of a turn.
const LEASE: &str = "copy";

/// A copy under way.
pub(super) struct Copying {
    desk: Arc<Desk>,
    source: ThreadKey,
    target: ThreadKey,
    new: NewThread,
    range: CopyRange,
    metadata: Option<String>,
    /// The number of the invisible copy, once there is one.
    begun: Arc<Mutex<Option<i64>>>,
    rows: Option<Rows>,
}

/// Its rows.
struct Rows {
    /// The numbers of both threads.
    source: i64,
    target: i64,
    /// The next seq to copy, and the last one.
    next: i64,
    last: i64,
    /// The owner's number in the index, if it has one.
    owner: Option<i64>,
    agents: BTreeSet<AgentId>,
    /// How many were copied.
    count: i64,
    /// What is told of the copy: its beginning, since the whole may be larger than memory.
    budget: Budget,
    messages: Vec<StoredMessage>,
    ids: Vec<(MessageId, MessageId)>,
    /// The old id of the last one copied.
    last_id: Option<MessageId>,
}

impl Copying {
    pub(super) fn new(
        desk: Arc<Desk>,
        source: ThreadKey,
        target: ThreadKey,
        new: NewThread,
        range: CopyRange,
    ) -> Result<Self, StoreError> {
        let metadata = new.metadata.as_ref().map(row::object_text).transpose()?;
        Ok(Self { desk, source, target, new, range, metadata, begun: Arc::default(), rows: None })
    }

    /// Holds the number of the half copy while there is one.
    pub(super) fn begun(&self) -> Arc<Mutex<Option<i64>>> {
        Arc::clone(&self.begun)
    }

    /// The slices.
    pub(super) fn step(mut self, result: Gathered<Option<Copied>>) -> Step {
        Box::new(move |group, until| {
            let mut rows = match self.rows.take() {
                Some(rows) => rows,
                None => self.begin(group)?,
            };
            self.still_there(group, &rows)?;
            while rows.next <= rows.last {
                self.copy_some(group, &mut rows)?;
                if Instant::now() >= until {
                    self.rows = Some(rows);
                    return Ok(false);
                }
            }
            *lock(&result) = Some(self.finish(group, rows)?);
            Ok(true)
        })
    }

    fn begin(&self, group: &mut Group<'_>) -> Outcome<Rows> {
        let source = thread::find_or_fail(group.connection, &self.source)?;
        let (next, last) = seqs(group, &source, &self.range)?;
        self.target_is_free(group)?;
        let now = self.desk.clock.now().millis();
        let sql = "INSERT INTO threads (resource, id, agent, parent, title, metadata, created_at, updated_at, active, \
                   changed, dead) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 0, 0, 2)";
        group.connection.prepare_cached(sql)?.execute((
            self.target.resource.as_str(),
            self.target.thread.as_str(),
            self.new.agent.as_ref().map(AgentId::as_str),
            self.new.parent.as_ref().map(roster_model::id::ThreadId::as_str),
            &self.new.title,
            &self.metadata,
            now,
        ))?;
        let target = group.connection.last_insert_rowid();
        let sql = "INSERT INTO leases (thread, turn, holder) VALUES (?1, ?2, ?3)";
        group.connection.prepare_cached(sql)?.execute((target, LEASE, &self.desk.holder))?;
        *lock(&self.begun) = Some(target);
        let owner = recall::owner_of(group.connection, &self.source.resource)?;
        let agents = self.new.agent.iter().cloned().collect();
        Ok(Rows {
            source: source.number,
            target,
            next,
            last,
            owner,
            agents,
            count: 0,
            budget: Budget::answer(),
            messages: Vec::new(),
            ids: Vec::new(),
            last_id: None,
        })
    }

    fn target_is_free(&self, group: &Group<'_>) -> Outcome<()> {
        match thread::find(group.connection, &self.target)? {
            None => Ok(()),
            Some(_) => fail(StoreErrorKind::Conflict, format!("there is a thread `{}` already", self.target.thread)),
        }
    }

    /// Fails when the source was deleted meanwhile, or the owner erased.
    fn still_there(&self, group: &Group<'_>, rows: &Rows) -> Outcome<()> {
        let sql = "SELECT count(*) = 2 FROM threads WHERE (number = ?1 AND dead = 0 AND resource = ?3) \
                   OR (number = ?2 AND dead = 2)";
        let values = (rows.source, rows.target, self.source.resource.as_str());
        if group.connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))? {
            return Ok(());
        }
        fail(StoreErrorKind::NotFound, "no such thread")
    }

    fn copy_some(&self, group: &Group<'_>, rows: &mut Rows) -> Outcome<()> {
        let sql =
            format!("SELECT {} FROM messages WHERE place >= ?1 AND place <= ?2 ORDER BY place LIMIT ?3", row::COLUMNS);
        let range = (place(rows.source, rows.next), place(rows.source, rows.last), CHUNK);
        let some = message::collect_within(group.connection, &sql, range, Budget::answer())?;
        rows.next = some.last().map_or(rows.last, |last| last.seq.0.cast_signed()) + 1;
        for old in some.into_iter().filter(|old| self.range.takes(&old.message)) {
            self.copy_one(group, rows, old)?;
        }
        Ok(())
    }

    fn copy_one(&self, group: &Group<'_>, rows: &mut Rows, old: StoredMessage) -> Outcome<()> {
        let mut message = old.message;
        let id = MessageId::fresh(&*self.desk.ids);
        let old_id = std::mem::replace(&mut message.id, id.clone());
        // Nobody will finish it here.
        message.abandon();
        let encoded = Encoded::new(message)?;
        rows.agents.extend(encoded.author().cloned());
        rows.count += 1;
        let seq = rows.count;
        let created_at = encoded.message.created_at.millis();
        encoded.insert(group, rows.target, seq, old.turn.as_ref(), created_at)?;
        let seqs = (old.seq.0.cast_signed(), seq);
        recall::copy_entries(group, rows.owner, (rows.source, rows.target), seqs)?;
        if rows.budget.takes(encoded.stored_bytes()) {
            rows.ids.push((old_id.clone(), id));
            let seq = Seq(seq.cast_unsigned());
            rows.messages.push(StoredMessage { seq, turn: old.turn, message: encoded.message });
        }
        rows.last_id = Some(old_id);
        Ok(())
    }

    /// Makes the copy visible, with all that is counted and listed.
    fn finish(&self, group: &mut Group<'_>, rows: Rows) -> Outcome<Copied> {
        self.target_is_free(group)?;
        let number = group.next_number()?;
        let sql = "UPDATE threads SET dead = 0, messages = ?2, last_seq = ?2, active = ?3, changed = ?3 \
                   WHERE number = ?1";
        group.connection.prepare_cached(sql)?.execute((rows.target, rows.count, number))?;
        group.connection.prepare_cached("DELETE FROM leases WHERE thread = ?1")?.execute([rows.target])?;
        let found = thread::find_or_fail(group.connection, &self.target)?;
        if found.listed {
            thread::count(group, self.target.resource.as_str(), "")?;
        }
        for agent in &rows.agents {
            thread::take_part(group, &self.target, &found, agent.as_str(), number)?;
        }
        let sql = "INSERT INTO working_threads (thread, text, version, updated_at) \
                   SELECT ?2, text, 1, updated_at FROM working_threads WHERE thread = ?1 AND text NOTNULL";
        group.connection.prepare_cached(sql)?.execute((rows.source, rows.target))?;
        recall::bump(group, self.target.resource.as_str())?;
        *lock(&self.begun) = None;
        let thread = super::get(group, &self.target)?;
        Ok(Copied { thread, messages: rows.messages, ids: rows.ids, last: rows.last_id })
    }
}

/// The first and the last seq of a range; the first is behind the last when it holds none.
fn seqs(group: &Group<'_>, source: &Found, range: &CopyRange) -> Outcome<(i64, i64)> {
    let last = match &range.until {
        None => source.last_seq,
        Some(id) => match message::seq_of(group.connection, source, id.as_str())? {
            Some(seq) => seq,
            None => return fail(StoreErrorKind::NotFound, "no such message"),
        },
    };
    let Some(newest) = range.newest else { return Ok((1, last)) };
    let newest = i64::try_from(newest).unwrap_or(i64::MAX);
    if newest == 0 {
        return Ok((last + 1, last));
    }
    // The one that is the last of the newest; messages may be missing in between.
    let sql = "SELECT seq FROM messages WHERE place > ?1 AND place <= ?2 ORDER BY place DESC LIMIT 1 OFFSET ?3";
    let values = (place(source.number, 0), place(source.number, last), newest - 1);
    let first = group.connection.prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()?;
    Ok((first.unwrap_or(1), last))
}

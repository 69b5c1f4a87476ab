//! What has no entry yet: threads by their last message, each from its newest on. Runs say what is done inside a
//! thread, and one range of activity for an owner and space says which threads need not be looked at again: whatever
//! is written into one of them lifts its activity above the range.

use roster_model::id::{ResourceId, ThreadId, ThreadKey};
use roster_model::message::StoredMessage;
use roster_model::recall::Unindexed;
use rusqlite::{Connection, OptionalExtension};

use super::super::error::Outcome;
use super::super::message;
use super::super::row::{self, place};
use super::super::writer::Group;
use super::shelf;

/// Finished threads walked over until it is worth writing down how far that went.
const WORTH: usize = 64;

/// What a walk found.
pub(super) struct Found {
    pub(super) rows: Vec<Unindexed>,
    pub(super) progress: Option<Progress>,
}

/// How far an owner's threads are settled now.
pub(super) struct Progress {
    owner: i64,
    space: i64,
    /// As the walk saw it; a thread that came since may lie in the range.
    arrivals: i64,
    lower: i64,
    upper: i64,
}

/// A walk under way.
struct Walk<'c> {
    connection: &'c Connection,
    resource: &'c ResourceId,
    /// `None`: nothing was ever indexed in it.
    space: Option<i64>,
    limit: usize,
    rows: Vec<Unindexed>,
    finished: usize,
}

/// A thread on the way.
struct Passed {
    number: i64,
    id: String,
    active: i64,
    last_seq: i64,
}

/// Messages without an entry, newest first.
pub(super) fn list(connection: &Connection, resource: &ResourceId, space: &str, limit: usize) -> Outcome<Found> {
    let space = shelf::space(connection, space)?;
    let mut walk = Walk { connection, resource, space, limit, rows: Vec::new(), finished: 0 };
    let sql = "SELECT number, arrivals FROM owners WHERE resource = ?1";
    let owner = connection.prepare_cached(sql)?.query_row([resource.as_str()], |row| Ok((row.get(0)?, row.get(1)?)));
    let owner: Option<(i64, i64)> = owner.optional()?;
    let (Some((owner, arrivals)), Some(space)) = (owner, space) else {
        walk.down(i64::MAX, i64::MIN)?;
        return Ok(Found { rows: walk.rows, progress: None });
    };
    let sql = "SELECT lower, upper FROM settled WHERE owner = ?1 AND space = ?2";
    let settled = connection.prepare_cached(sql)?.query_row((owner, space), |row| Ok((row.get(0)?, row.get(1)?)));
    let range = walk.around(settled.optional()?)?;
    let progress = range.filter(|_| walk.finished >= WORTH);
    let progress = progress.map(|(lower, upper)| Progress { owner, space, arrivals, lower, upper });
    Ok(Found { rows: walk.rows, progress })
}

/// Writes down how far an owner's threads are settled.
pub(super) fn settle(group: &Group<'_>, progress: &Progress) -> Outcome<()> {
    let sql = "INSERT OR REPLACE INTO settled (owner, space, lower, upper) SELECT number, ?2, ?4, ?5 FROM owners \
               WHERE number = ?1 AND arrivals = ?3";
    let values = (progress.owner, progress.space, progress.arrivals, progress.lower, progress.upper);
    group.connection.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

impl Walk<'_> {
    /// Walks what lies outside the settled range; gives the range as it is now.
    fn around(&mut self, settled: Option<(i64, i64)>) -> Outcome<Option<(i64, i64)>> {
        let Some((mut lower, mut upper)) = settled else { return self.down(i64::MAX, i64::MIN) };
        if let Some((from, to)) = self.down(i64::MAX, upper)? {
            // Only what reaches down to the range makes it larger.
            if from == upper {
                upper = to;
            }
        }
        if self.rows.len() < self.limit
            && let Some((from, to)) = self.down(lower, i64::MIN)?
            && to == lower
        {
            lower = from;
        }
        Ok(Some((lower, upper)))
    }

    /// Walks the threads with an activity below `above` and above `below`, newest first, until there are rows enough.
    /// Gives a range of activity without anything to do: the first one met, ends included; `above` and `below`
    /// count as such ends.
    fn down(&mut self, above: i64, below: i64) -> Outcome<Option<(i64, i64)>> {
        let sql = "SELECT number, id, active, last_seq FROM threads WHERE resource = ?1 AND dead = 0 \
                   AND parent IS NULL AND active < ?2 AND active > ?3 \
                   UNION ALL SELECT number, id, active, last_seq FROM threads WHERE resource = ?1 AND dead = 0 \
                   AND parent IS NOT NULL AND active < ?2 AND active > ?3 ORDER BY active DESC";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query((self.resource.as_str(), above, below))?;
        let mut range = (above != i64::MAX).then_some((above, above));
        let mut open = true;
        while let Some(row) = rows.next()? {
            if self.rows.len() >= self.limit {
                return Ok(range);
            }
            let thread = Passed { number: row.get(0)?, id: row.get(1)?, active: row.get(2)?, last_seq: row.get(3)? };
            if !self.thread(&thread)? {
                open &= range.is_none();
            } else if open {
                self.finished += 1;
                range = Some((thread.active, range.map_or(thread.active, |(_, upper)| upper)));
            }
        }
        if open && below != i64::MIN {
            range = Some((below, range.map_or(below, |(_, upper)| upper)));
        }
        Ok(range)
    }

    /// Takes what a thread has to do; true when that is nothing.
    fn thread(&mut self, thread: &Passed) -> Outcome<bool> {
        let (mut end, mut finished) = (thread.last_seq, true);
        if let Some(shelf) = self.shelf(thread.number)? {
            let sql = "SELECT first, last FROM runs WHERE shelf = ?1 ORDER BY first DESC";
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut runs = statement.query([shelf])?;
            while let Some(run) = runs.next()? {
                finished &= self.gap(thread, run.get(1)?, end)?;
                end = run.get::<_, i64>(0)? - 1;
                if self.rows.len() >= self.limit {
                    return Ok(false);
                }
            }
        }
        Ok(self.gap(thread, 0, end)? && finished)
    }

    fn shelf(&self, thread: i64) -> Outcome<Option<i64>> {
        let sql = "SELECT number FROM shelves WHERE thread = ?1 AND space = ?2";
        Ok(self.connection.prepare_cached(sql)?.query_row((thread, self.space), |row| row.get(0)).optional()?)
    }

    /// Takes the messages after `first` up to `last`; true when there are none.
    fn gap(&mut self, thread: &Passed, first: i64, last: i64) -> Outcome<bool> {
        if first >= last {
            return Ok(true);
        }
        let sql = format!(
            "SELECT {} FROM messages WHERE place > ?1 AND place <= ?2 ORDER BY place DESC LIMIT ?3",
            row::COLUMNS
        );
        // At least one, to know whether there is any. Of running ones there are few: an answer for each live turn.
        let limit = i64::try_from((self.limit - self.rows.len()).saturating_add(1)).unwrap_or(i64::MAX);
        let range = (place(thread.number, first), place(thread.number, last), limit);
        let found = message::collect(self.connection, &sql, range)?;
        let none = found.is_empty();
        let key = ThreadKey { resource: self.resource.clone(), thread: row::id(&thread.id, ThreadId::new)? };
        let whole = |message: &StoredMessage| message.message.status.is_ended();
        let rest = self.limit - self.rows.len();
        let whole = found.into_iter().filter(whole).take(rest);
        self.rows.extend(whole.map(|message| Unindexed { key: key.clone(), message }));
        Ok(none)
    }
}

//! Finding messages by words, in bounded time: rare words choose the candidates, all words score them. The score is
//! BM25 over the owner's messages (or the thread's), with counts that stop where a word is common anyway.

use std::collections::{HashMap, HashSet};

use roster_model::id::{ResourceId, ThreadId, ThreadKey};
use roster_model::message::{Role, Seq};
use roster_model::recall::TextHit;
use roster_model::storage::StoreErrorKind;
use roster_model::time::Timestamp;
use rusqlite::{Connection, OptionalExtension};

use super::super::error::{Outcome, fail};
use super::super::row::{self, place};
use super::super::thread;
use super::shelf;
use super::words::{LAST, token};

/// Different words that count; of more the first ones.
const WORDS: usize = 64;
/// Messages with a word are counted up to this; a word of more is common.
const COMMON: i64 = 500;
/// The owner's messages are counted up to this.
const MANY: i64 = 2000;
/// Candidates that rare words may give together, and most that are taken for a common one: the newest threads'.
const CANDIDATES: i64 = 1500;
/// The usual constants of BM25.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// A word of the question.
struct Wanted<'w> {
    word: &'w str,
    token: String,
    /// Messages that hold it, as far as they were counted.
    count: i64,
    weight: f64,
}

/// Where is looked.
struct Search<'c> {
    connection: &'c Connection,
    resource: &'c str,
    /// Places of the thread, or all.
    range: (i64, i64),
}

/// Messages that hold the words, best first.
pub(super) fn find(
    connection: &Connection,
    resource: &ResourceId,
    thread: Option<&ThreadId>,
    words: &[String],
    limit: usize,
) -> Outcome<Vec<TextHit>> {
    let Some(owner) = shelf::owner(connection, resource.as_str())? else { return Ok(Vec::new()) };
    let range = match thread {
        None => (i64::MIN, i64::MAX),
        Some(id) => {
            let key = ThreadKey { resource: resource.clone(), thread: id.clone() };
            let Some(found) = thread::find(connection, &key)? else { return Ok(Vec::new()) };
            (place(found.number, 0), place(found.number, LAST))
        }
    };
    let search = Search { connection, resource: resource.as_str(), range };
    let wanted = search.weigh(owner, words)?;
    let candidates = search.candidates(&wanted, limit)?;
    search.hits(best(&candidates, &wanted, limit))
}

impl Search<'_> {
    /// The words that occur, rarest first.
    fn weigh<'w>(&self, owner: i64, words: &'w [String]) -> Outcome<Vec<Wanted<'w>>> {
        let all = self.count(&token(owner, ""), MANY)? as f64;
        let mut seen = HashSet::new();
        let different = words.iter().map(String::as_str).filter(|word| !word.is_empty() && seen.insert(*word));
        let mut wanted = Vec::new();
        for word in different.take(WORDS) {
            let token = token(owner, word);
            let count = self.count(&token, COMMON)?;
            // What is common stands in about half of the messages, for all that is known.
            let with = if count > COMMON { all / 2.0 } else { count as f64 };
            let weight = ((all - with + 0.5) / (with + 0.5)).ln_1p();
            if count > 0 {
                wanted.push(Wanted { word, token, count, weight });
            }
        }
        wanted.sort_by_key(|wanted| wanted.count);
        Ok(wanted)
    }

    /// How many messages hold a token; one more than `most` when there are more.
    fn count(&self, token: &str, most: i64) -> Outcome<i64> {
        let sql =
            "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3 LIMIT ?4)";
        let values = (format!("\"{token}\""), self.range.0, self.range.1, most + 1);
        Ok(self.connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))?)
    }

    /// The messages that hold a rare word; where those are fewer than wanted, also some that hold a common one.
    fn candidates(&self, wanted: &[Wanted<'_>], limit: usize) -> Outcome<HashMap<i64, String>> {
        let mut room = CANDIDATES;
        let few = wanted.iter().take_while(|wanted| {
            room -= wanted.count;
            wanted.count <= COMMON && room >= 0
        });
        let few = few.count();
        let (rare, common) = wanted.split_at(few);
        let mut found = HashMap::new();
        self.take(rare, &mut found)?;
        for one in common.chunks(1) {
            if found.len() >= limit {
                break;
            }
            self.take(one, &mut found)?;
        }
        Ok(found)
    }

    /// Takes the messages that hold one of the words.
    fn take(&self, words: &[Wanted<'_>], found: &mut HashMap<i64, String>) -> Outcome<()> {
        if words.is_empty() {
            return Ok(());
        }
        let tokens: Vec<String> = words.iter().map(|wanted| format!("\"{}\"", wanted.token)).collect();
        // CROSS: from the index on. The owner is looked at again: words of a thread that has just moved still carry
        // the old one.
        let sql = "SELECT x.place, x.terms FROM words w \
                   CROSS JOIN threads t ON t.number = w.rowid >> 32 AND t.resource = ?2 AND t.dead = 0 \
                   CROSS JOIN terms x ON x.place = w.rowid \
                   WHERE w.words MATCH ?1 AND w.rowid BETWEEN ?3 AND ?4 ORDER BY w.rowid DESC LIMIT ?5";
        let values = (tokens.join(" OR "), self.resource, self.range.0, self.range.1, CANDIDATES);
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(values)?;
        while let Some(row) = rows.next()? {
            found.insert(row.get(0)?, row.get(1)?);
        }
        Ok(())
    }

    /// The messages of the best places.
    fn hits(&self, best: Vec<(i64, f64)>) -> Outcome<Vec<TextHit>> {
        let sql = "SELECT t.id, m.seq, m.role, m.created_at FROM messages m JOIN threads t ON t.number = m.thread \
                   WHERE m.place = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut hits = Vec::with_capacity(best.len());
        for (place, score) in best {
            let row = statement.query_row([place], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?, row.get::<_, i64>(3)?))
            });
            let Some((thread, seq, role, created_at)) = row.optional()? else { continue };
            let Some(role) = Role::parse(&role) else {
                return fail(StoreErrorKind::Internal, "a stored role cannot be read");
            };
            let (thread, seq) = (row::id(&thread, ThreadId::new)?, Seq(seq.cast_unsigned()));
            hits.push(TextHit { thread, seq, role, created_at: Timestamp::from_millis(created_at), score });
        }
        Ok(hits)
    }
}

/// Scores the candidates; the best first, of equals the newest.
fn best(candidates: &HashMap<i64, String>, wanted: &[Wanted<'_>], limit: usize) -> Vec<(i64, f64)> {
    let weights: HashMap<&str, (usize, f64)> =
        wanted.iter().enumerate().map(|(at, wanted)| (wanted.word, (at, wanted.weight))).collect();
    let lengths = candidates.values().map(|terms| terms.split_whitespace().count());
    let usual = (lengths.sum::<usize>() as f64 / candidates.len().max(1) as f64).max(1.0);
    let mut scored: Vec<(i64, f64)> =
        candidates.iter().map(|(place, terms)| (*place, score(terms, &weights, usual))).collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    scored.truncate(limit);
    scored
}

fn score(terms: &str, weights: &HashMap<&str, (usize, f64)>, usual: f64) -> f64 {
    let (mut often, mut length) = (vec![0.0; weights.len()], 0.0);
    for term in terms.split_whitespace() {
        length += 1.0;
        if let Some(count) = weights.get(term).and_then(|(at, _)| often.get_mut(*at)) {
            *count += 1.0;
        }
    }
    let long = K1 * (1.0 - B + B * length / usual);
    let parts = weights.values().filter_map(|(at, weight)| Some((*often.get(*at)?, weight)));
    parts.filter(|(count, _)| *count > 0.0).map(|(count, weight)| weight * count * (K1 + 1.0) / (count + long)).sum()
}

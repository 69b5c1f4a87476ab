//! The recall index of the RAM store: entries by thread, and BM25 over an owner's words.

use std::collections::{BTreeMap, BTreeSet};

use roster_model::id::{ResourceId, ThreadId, ThreadKey};
use roster_model::message::{Seq, StoredMessage};
use roster_model::recall::{IndexEntry, IndexedVector, RecallStore, TextHit, Unindexed};
use roster_model::storage::StoreResult;

use super::RamStore;
use super::state::{Row, State};
use crate::line::lock;

/// The usual constants of BM25.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// What a word counts that most messages hold.
const LEAST_IDF: f64 = 1e-6;

/// A thread's part of the index.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    /// By space and seq.
    pub(super) entries: BTreeMap<(String, Seq), Entry>,
    pub(super) terms: BTreeMap<Seq, Vec<String>>,
}

#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Its place in pages.
    pub(super) number: u64,
    pub(super) vector: Option<Vec<f32>>,
}

impl Index {
    /// Takes out what belongs to a message.
    pub(super) fn remove(&mut self, seq: Seq) {
        self.entries.retain(|(_, of), _| *of != seq);
        self.terms.remove(&seq);
    }
}

impl Row {
    pub(super) fn message(&self, seq: Seq) -> Option<&StoredMessage> {
        let at = self.messages.binary_search_by_key(&seq, |stored| stored.seq).ok()?;
        self.messages.get(at)
    }
}

impl State {
    /// The rows of an owner, or the one of a thread.
    fn rows(&self, resource: &ResourceId, thread: Option<&ThreadId>) -> Vec<&Row> {
        let of = |key: &&ThreadKey| key.resource == *resource && thread.is_none_or(|thread| key.thread == *thread);
        self.threads.iter().filter(|(key, _)| of(key)).map(|(_, row)| row).collect()
    }

    fn index(&mut self, key: &ThreadKey, space: &str, entries: Vec<IndexEntry>) {
        self.reindexed(&key.resource);
        for entry in entries {
            let number = self.next();
            let Some(row) = self.threads.get_mut(key) else { return };
            let known = row.messages.iter().find(|stored| stored.message.id == entry.message);
            let Some(seq) = known.map(|stored| stored.seq) else { continue };
            let vector = entry.vector;
            let place = row.index.entries.entry((space.to_owned(), seq));
            place.or_insert(Entry { number, vector: None }).vector = vector;
            row.index.terms.insert(seq, entry.terms.split_whitespace().map(str::to_owned).collect());
        }
    }

    fn vectors(
        &self,
        resource: &ResourceId,
        thread: Option<&ThreadId>,
        space: &str,
        after: u64,
        limit: usize,
    ) -> (Vec<IndexedVector>, Option<u64>) {
        let mut found = BTreeMap::new();
        for row in self.rows(resource, thread) {
            for ((of, seq), entry) in &row.index.entries {
                if let (true, Some(vector), Some(stored)) = (of == space, &entry.vector, row.message(*seq)) {
                    let (thread, role) = (row.thread.key.thread.clone(), stored.message.role);
                    let created_at = stored.message.created_at;
                    let vector = vector.clone();
                    found.insert(entry.number, IndexedVector { thread, seq: *seq, role, created_at, vector });
                }
            }
        }
        let mut rest = found.split_off(&(after.saturating_add(1)));
        let more = rest.len() > limit;
        let page: Vec<(u64, IndexedVector)> = std::mem::take(&mut rest).into_iter().take(limit).collect();
        let next = page.last().map(|(number, _)| *number).filter(|_| more);
        (page.into_iter().map(|(_, row)| row).collect(), next)
    }

    fn find_words(
        &self,
        resource: &ResourceId,
        thread: Option<&ThreadId>,
        words: &[String],
        limit: usize,
    ) -> Vec<TextHit> {
        let wanted: BTreeSet<&str> = words.iter().map(String::as_str).collect();
        let all = self.rows(resource, None);
        let texts = || all.iter().flat_map(|row| row.index.terms.values());
        let (count, length) = texts().fold((0.0, 0.0), |(count, sum), text| (count + 1.0, sum + text.len() as f64));
        let with = |word: &str| texts().filter(|text| text.iter().any(|term| term == word)).count() as f64;
        let weights = wanted.into_iter().map(|word| {
            let with = with(word);
            (word, ((count - with + 0.5) / (with + 0.5)).ln().max(LEAST_IDF))
        });
        let weights: Vec<(&str, f64)> = weights.collect();
        let mut hits = Vec::new();
        for row in self.rows(resource, thread) {
            for (seq, text) in &row.index.terms {
                let Some(stored) = row.message(*seq) else { continue };
                let long = K1 * (1.0 - B + B * text.len() as f64 * count / f64::max(length, 1.0));
                let often = |word: &str| text.iter().filter(|term| *term == word).count() as f64;
                let scores =
                    weights.iter().map(|(word, weight)| (often(word), weight)).filter(|(often, _)| *often > 0.0);
                let score: f64 = scores.map(|(often, weight)| weight * often * (K1 + 1.0) / (often + long)).sum();
                if score > 0.0 {
                    let (thread, role) = (row.thread.key.thread.clone(), stored.message.role);
                    let created_at = stored.message.created_at;
                    hits.push(TextHit { thread, seq: *seq, role, created_at, score });
                }
            }
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(limit);
        hits
    }

    fn around(&self, key: &ThreadKey, seq: Seq, before: usize, after: usize) -> Vec<StoredMessage> {
        let Some(row) = self.threads.get(key) else { return Vec::new() };
        let Ok(at) = row.messages.binary_search_by_key(&seq, |stored| stored.seq) else { return Vec::new() };
        let end = at.saturating_add(after).saturating_add(1).min(row.messages.len());
        row.messages[at.saturating_sub(before)..end].to_vec()
    }

    fn unindexed(&self, resource: &ResourceId, space: &str, limit: usize) -> Vec<Unindexed> {
        let mut rows = self.rows(resource, None);
        rows.sort_by_key(|row| std::cmp::Reverse(row.active));
        let pending = rows.into_iter().flat_map(|row| {
            let entries = &row.index.entries;
            let fresh = move |stored: &&StoredMessage| {
                stored.message.status.is_ended() && !entries.contains_key(&(space.to_owned(), stored.seq))
            };
            let messages = row.messages.iter().rev().filter(fresh);
            messages.map(|stored| Unindexed { key: row.thread.key.clone(), message: stored.clone() })
        });
        pending.take(limit).collect()
    }
}

impl RecallStore for RamStore {
    fn index<'a>(&'a self, key: &'a ThreadKey, space: &'a str, entries: Vec<IndexEntry>) -> StoreResult<'a, ()> {
        self.with(move |state| {
            state.index(key, space, entries);
            Ok(())
        })
    }

    fn vectors<'a>(
        &'a self,
        resource: &'a ResourceId,
        thread: Option<&'a ThreadId>,
        space: &'a str,
        after: u64,
        limit: usize,
    ) -> StoreResult<'a, (Vec<IndexedVector>, Option<u64>)> {
        self.with(move |state| Ok(state.vectors(resource, thread, space, after, limit)))
    }

    fn find_words<'a>(
        &'a self,
        resource: &'a ResourceId,
        thread: Option<&'a ThreadId>,
        words: &'a [String],
        limit: usize,
    ) -> StoreResult<'a, Vec<TextHit>> {
        self.with(move |state| Ok(state.find_words(resource, thread, words, limit)))
    }

    fn around<'a>(
        &'a self,
        key: &'a ThreadKey,
        seq: Seq,
        before: usize,
        after: usize,
    ) -> StoreResult<'a, Vec<StoredMessage>> {
        self.with(move |state| Ok(state.around(key, seq, before, after)))
    }

    fn unindexed<'a>(
        &'a self,
        resource: &'a ResourceId,
        space: &'a str,
        limit: usize,
    ) -> StoreResult<'a, Vec<Unindexed>> {
        self.with(move |state| Ok(state.unindexed(resource, space, limit)))
    }

    fn index_version(&self, resource: &ResourceId) -> u64 {
        lock(&self.state).index_versions.get(resource).copied().unwrap_or(0)
    }
}

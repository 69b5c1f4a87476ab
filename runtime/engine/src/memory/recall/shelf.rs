//! The vectors of an owner (or of one thread) in one space, coded, as they are held in RAM and scanned.
//! What a scan does not touch is what does not matter: rows are looked at only where the cosine is good enough.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use roster_model::id::ThreadId;
use roster_model::message::{Role, Seq};
use roster_model::recall::IndexedVector;

use super::codes::{Asked, encode};

/// Vectors that are copied when one is added while the shelf is being scanned.
const CHUNK: usize = 2_048;
/// Bytes of a vector beside its codes.
const OF_A_ROW: usize = size_of::<Row>() + size_of::<f32>();
/// How many candidates of the coarse scan are looked at exactly, for each one wanted, and at least.
const OVERSAMPLED: usize = 8;
const LEAST_CANDIDATES: usize = 256;

/// How much memory vectors take when they are held, nearly: so many, of so many bytes in the store (four for a number).
#[must_use]
pub fn held_bytes(vectors: u64, stored: u64) -> u64 {
    stored / 2 + vectors * OF_A_ROW as u64
}

/// Coded vectors with what a filter needs to know.
#[derive(Clone, Default)]
pub(super) struct Shelf {
    dimensions: usize,
    chunks: Vec<Arc<Chunk>>,
    threads: Vec<ThreadId>,
    numbers: HashMap<ThreadId, u32>,
    bytes: usize,
}

#[derive(Clone, Default)]
struct Chunk {
    coarse: Vec<i8>,
    fine: Vec<i8>,
    scales: Vec<f32>,
    rows: Vec<Row>,
}

#[derive(Clone, Copy)]
struct Row {
    thread: u32,
    role: Role,
    seq: Seq,
    created_at: i64,
}

/// What is asked of a shelf.
pub(super) struct Wanted {
    pub(super) asked: Asked,
    pub(super) filter: Filter,
    /// The least cosine.
    pub(super) least: f32,
    /// At most so many.
    pub(super) most: usize,
}

/// Which vectors count.
#[derive(Default)]
pub(super) struct Filter {
    /// In this thread, only what stands before this place: the rest is in the prompt anyway.
    pub(super) before: Option<(ThreadId, Seq)>,
    /// Whose; empty: everybody's.
    pub(super) roles: Vec<Role>,
    /// Not older than this, in milliseconds since the epoch.
    pub(super) since: Option<i64>,
}

impl Filter {
    /// Whether a message counts.
    pub(super) fn passes(&self, thread: &ThreadId, seq: Seq, role: Role, created_at: i64) -> bool {
        let unseen = self.before.as_ref().is_none_or(|(known, before)| known != thread || seq < *before);
        unseen && self.suits(role, created_at)
    }

    fn suits(&self, role: Role, created_at: i64) -> bool {
        (self.roles.is_empty() || self.roles.contains(&role)) && self.since.is_none_or(|since| created_at >= since)
    }
}

/// A message near the question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Near {
    pub(super) thread: ThreadId,
    pub(super) seq: Seq,
    pub(super) cosine: f32,
}

impl Shelf {
    /// Puts rows at the end. Rows of another length than the first are passed over: they are of no use.
    pub(super) fn push(&mut self, rows: Vec<IndexedVector>) {
        for row in rows {
            if self.dimensions == 0 {
                self.dimensions = row.vector.len();
            }
            if row.vector.len() != self.dimensions || row.vector.is_empty() {
                continue;
            }
            let thread = self.number(row.thread);
            if self.chunks.last().is_none_or(|chunk| chunk.rows.len() >= CHUNK) {
                self.chunks.push(Arc::default());
            }
            let Some(last) = self.chunks.last_mut() else { continue };
            let chunk = Arc::make_mut(last);
            let scale = encode(&row.vector, &mut chunk.coarse, &mut chunk.fine);
            chunk.scales.push(scale);
            let created_at = row.created_at.millis();
            chunk.rows.push(Row { thread, role: row.role, seq: row.seq, created_at });
            self.bytes += 2 * self.dimensions + OF_A_ROW;
        }
    }

    fn number(&mut self, thread: ThreadId) -> u32 {
        if let Some(number) = self.numbers.get(&thread) {
            return *number;
        }
        let number = u32::try_from(self.threads.len()).unwrap_or(u32::MAX);
        self.bytes += 3 * size_of::<ThreadId>() + thread.as_str().len();
        self.threads.push(thread.clone());
        self.numbers.insert(thread, number);
        number
    }

    /// How much memory it takes, nearly.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many vectors it holds.
    pub(super) fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.rows.len()).sum()
    }

    /// The nearest, best first.
    pub(super) fn nearest(&self, wanted: &Wanted) -> Vec<Near> {
        let Wanted { asked, filter, least, most } = wanted;
        if asked.dimensions() != self.dimensions {
            return Vec::new();
        }
        let before = filter.before.as_ref().and_then(|(thread, seq)| Some((*self.numbers.get(thread)?, *seq)));
        let mut best = Best::new((most * OVERSAMPLED).max(LEAST_CANDIDATES));
        let mut cosines = Vec::with_capacity(CHUNK);
        for (at, chunk) in self.chunks.iter().enumerate() {
            asked.roughly(&chunk.coarse, &chunk.scales, &mut cosines);
            for (number, (row, cosine)) in chunk.rows.iter().zip(&cosines).enumerate() {
                if best.wants(*cosine) && chunk.counts(number, row, filter, before) {
                    best.offer(*cosine, (at, number));
                }
            }
        }
        let mut seen = HashSet::new();
        let mut near: Vec<Near> = best.taken().into_iter().filter_map(|place| self.near(asked, place)).collect();
        near.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then_with(|| a.seq.cmp(&b.seq)));
        near.retain(|near| near.cosine >= *least && seen.insert((near.thread.clone(), near.seq)));
        near.truncate(*most);
        near
    }

    fn near(&self, asked: &Asked, (at, row): (usize, usize)) -> Option<Near> {
        let chunk = self.chunks.get(at)?;
        let known = chunk.rows.get(row)?;
        let codes = row * self.dimensions..(row + 1) * self.dimensions;
        let cosine = asked.exactly(chunk.coarse.get(codes.clone())?, chunk.fine.get(codes)?, *chunk.scales.get(row)?);
        Some(Near { thread: self.threads.get(known.thread as usize)?.clone(), seq: known.seq, cosine })
    }

    /// Which of these messages are at least as near as `least`; a message without a vector here is not.
    pub(super) fn near_enough(&self, asked: &Asked, places: &[(ThreadId, Seq)], least: f32) -> Vec<bool> {
        let known = |(thread, seq): &(ThreadId, Seq)| Some((*self.numbers.get(thread)?, *seq));
        let places: Vec<Option<(u32, Seq)>> = places.iter().map(known).collect();
        let open: HashSet<(u32, Seq)> = places.iter().copied().flatten().collect();
        let threads: HashSet<u32> = open.iter().map(|(thread, _)| *thread).collect();
        let mut enough = HashSet::new();
        for (at, chunk) in self.chunks.iter().enumerate() {
            for (number, row) in chunk.rows.iter().enumerate() {
                let place = (row.thread, row.seq);
                if threads.contains(&row.thread)
                    && open.contains(&place)
                    && self.near(asked, (at, number)).is_some_and(|near| near.cosine >= least)
                {
                    enough.insert(place);
                }
            }
        }
        places.iter().map(|place| place.is_some_and(|place| enough.contains(&place))).collect()
    }
}

impl Chunk {
    fn counts(&self, number: usize, row: &Row, filter: &Filter, before: Option<(u32, Seq)>) -> bool {
        let unseen = before.is_none_or(|(thread, seq)| row.thread != thread || row.seq < seq);
        let directed = self.scales.get(number).is_some_and(|scale| *scale > 0.0);
        directed && unseen && filter.suits(row.role, row.created_at)
    }
}

/// The best so many of what is offered.
struct Best {
    most: usize,
    /// What is not better than this cannot be among the best.
    bar: f32,
    offered: Vec<(f32, (usize, usize))>,
}

impl Best {
    fn new(most: usize) -> Self {
        Self { most, bar: f32::NEG_INFINITY, offered: Vec::with_capacity(most * 2) }
    }

    /// Whether it can be among them.
    fn wants(&self, score: f32) -> bool {
        score > self.bar
    }

    fn offer(&mut self, score: f32, place: (usize, usize)) {
        self.offered.push((score, place));
        if self.offered.len() >= self.most * 2 {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.offered.sort_by(|a, b| b.0.total_cmp(&a.0));
        self.offered.truncate(self.most);
        self.bar = self.offered.last().map_or(f32::NEG_INFINITY, |last| last.0);
    }

    fn taken(mut self) -> Vec<(usize, usize)> {
        if self.offered.len() > self.most {
            self.cut();
        }
        self.offered.into_iter().map(|(_, place)| place).collect()
    }
}

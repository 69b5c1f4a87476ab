//! Writing after the answer: feed records, vectors and words, in the background, one thing after another.
//!
//! The queue holds [`QUEUE`] turns; what comes when it is full is left out and counted (it is derived data: the next
//! turn of the same owner finds messages without an entry and makes up for it). What fails for a moment is tried again.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use roster_model::embedder::{EmbedError, EmbedErrorKind};
use roster_model::feed::{FeedRecord, TurnFeed};
use roster_model::id::{MessageId, ResourceId, ThreadKey};
use roster_model::message::{Role, Seq, StoredMessage};
use roster_model::recall::{IndexEntry, IndexedVector};
use roster_model::storage::{StoreError, StoreErrorKind};
use roster_model::time::Timestamp;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::cache::address_of;
use super::search::Recall;
use super::shorten::one_by_one;
use super::{WORDS_ONLY, embedded};
use crate::memory::Memory;
use roster_model::words::terms;

/// Turns that may wait.
const QUEUE: usize = 1_024;
/// Turns whose feed records are written at once.
const TOGETHER: usize = 64;
/// Messages that are caught up with at once: few, so that turns that end meanwhile wait a moment only.
const SLICE: usize = 16;
/// Pauses before further tries.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// What a turn leaves to be written.
pub struct AfterTurn {
    /// The agent's memory.
    pub memory: Memory,
    /// The thread.
    pub key: ThreadKey,
    /// The first row of the turn; what stands from there on is indexed. `None`: nothing is.
    pub first: Option<Seq>,
    /// How many rows from there.
    pub rows: usize,
    /// The vector of the question's text, when it was made for the search.
    pub question: Option<(String, Vec<f32>)>,
    /// Feed records.
    pub feed: Vec<FeedRecord>,
    /// Records older than this may go.
    pub keep_after: Timestamp,
}

enum Job {
    Turn(Box<AfterTurn>),
    /// With the message that stood last the last time: when it stands there again, there is no getting on.
    CatchUp(Box<Memory>, ResourceId, Option<MessageId>),
}

/// An owner's messages in one space of one store.
type Corner = (usize, ResourceId, String);

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    running: bool,
    /// Corners that wait to be caught up with.
    waiting: HashSet<Corner>,
}

/// The background writer of one process.
pub struct Indexer {
    recall: Arc<Recall>,
    tracker: TaskTracker,
    draining: CancellationToken,
    stop: CancellationToken,
    queue: Mutex<Queue>,
    dropped: AtomicU64,
}

impl Indexer {
    /// A writer whose task belongs to `tracker`. While `draining` it catches up with nothing and tries nothing again;
    /// at `stop` it ends.
    #[must_use]
    pub fn new(
        recall: Arc<Recall>,
        tracker: TaskTracker,
        draining: CancellationToken,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let (queue, dropped) = (Mutex::default(), AtomicU64::new(0));
        Arc::new(Self { recall, tracker, draining, stop, queue, dropped })
    }

    /// How many turns were left out because the queue was full.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Takes what a turn leaves. Never waits.
    pub fn after(self: &Arc<Self>, turn: AfterTurn) {
        let mut queue = self.lock();
        if queue.jobs.len() >= QUEUE {
            drop(queue);
            if self.dropped.fetch_add(1, Ordering::Relaxed) == 0 {
                tracing::warn!("more turns end than can be indexed; some are left out and caught up with later");
            }
            return;
        }
        queue.jobs.push_back(Job::Turn(Box::new(turn)));
        if !std::mem::replace(&mut queue.running, true) {
            drop(queue);
            let this = Arc::clone(self);
            self.tracker.spawn(async move { this.run().await });
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works until nothing waits: the task ends then, so that whoever waits for the tracker is not held up.
    async fn run(self: Arc<Self>) {
        while let Some(job) = self.next() {
            let work = async {
                match job {
                    Job::Turn(turn) => self.turns(*turn).await,
                    Job::CatchUp(memory, resource, last) => self.catch_up(*memory, resource, last).await,
                }
            };
            tokio::select! {
                biased;
                () = self.stop.cancelled() => {
                    let mut queue = self.lock();
                    queue.jobs.clear();
                    queue.running = false;
                    return;
                }
                () = work => {}
            }
        }
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.lock();
        let job = queue.jobs.pop_front();
        if job.is_none() {
            queue.running = false;
        }
        job
    }

    /// A turn, and those that wait directly behind it: their feed records go to the store at once, as one write; their
    /// index entries follow in order.
    async fn turns(&self, first: AfterTurn) {
        let mut turns = vec![first];
        {
            let mut queue = self.lock();
            while turns.len() < TOGETHER
                && let Some(Job::Turn(next)) = queue.jobs.pop_front_if(|job| matches!(job, Job::Turn(_)))
            {
                turns.push(*next);
            }
        }
        put_feed(&mut turns).await;
        for turn in turns {
            self.turn(turn).await;
        }
    }

    async fn turn(&self, turn: AfterTurn) {
        let AfterTurn { memory, key, first, rows, question, .. } = turn;
        let Some(first) = first else { return };
        let read = match memory.store.around(&key, first, 0, rows.saturating_sub(1)).await {
            Ok(read) => read,
            Err(error) => return gave_up(&error),
        };
        if let Err(error) = self.index(&memory, &key, &read, question).await {
            return gave_up(&error);
        }
        self.look_behind(memory, key.resource, None);
    }

    /// Puts an owner at the end of the queue: its messages may lack entries, after every turn anew, since agents without
    /// recall, imports, clients of the REST and other processes write too.
    fn look_behind(&self, memory: Memory, resource: ResourceId, last: Option<MessageId>) {
        let corner = corner(&memory, &resource);
        let mut queue = self.lock();
        if !self.draining.is_cancelled() && queue.waiting.insert(corner) {
            queue.jobs.push_back(Job::CatchUp(Box::new(memory), resource, last));
        }
    }

    /// A slice of an owner's messages that have no entry in the embedder's space: written by an older runtime, by another
    /// agent, or before the embedder changed.
    async fn catch_up(&self, memory: Memory, resource: ResourceId, last: Option<MessageId>) {
        let corner = corner(&memory, &resource);
        self.lock().waiting.remove(&corner);
        if self.draining.is_cancelled() {
            return;
        }
        let missing = match memory.store.unindexed(&resource, &corner.2, SLICE).await {
            Ok(missing) => missing,
            Err(error) => return gave_up(&error),
        };
        let oldest = missing.last().map(|missing| missing.message.message.id.clone());
        if oldest.is_none() || oldest == last {
            return;
        }
        let mut rest = missing.into_iter().peekable();
        while let Some(first) = rest.next() {
            let key = first.key;
            let mut rows = vec![first.message];
            while let Some(next) = rest.next_if(|next| next.key == key) {
                rows.push(next.message);
            }
            match self.index(&memory, &key, &rows, None).await {
                Ok(true) => {}
                // No vectors to be had: the next turn tries again.
                Ok(false) => return,
                Err(error) => return gave_up(&error),
            }
        }
        self.look_behind(memory, resource, oldest);
    }

    /// Writes the entries of rows; true when they have vectors as far as they can have any.
    async fn index(
        &self,
        memory: &Memory,
        key: &ThreadKey,
        rows: &[StoredMessage],
        question: Option<(String, Vec<f32>)>,
    ) -> Result<bool, StoreError> {
        let ended = |row: &&StoredMessage| row.message.status.is_ended();
        let rows: Vec<&StoredMessage> = rows.iter().filter(ended).collect();
        if rows.is_empty() {
            return Ok(true);
        }
        let texts: Vec<String> = rows.iter().map(|row| said(row)).collect();
        let vectors = self.vectors(memory, &texts, question).await;
        let space = match &vectors {
            Some(_) => space_of(memory),
            None => WORDS_ONLY,
        };
        let whole = vectors.is_some() || memory.embedder.is_none();
        let vectors = vectors.unwrap_or_else(|| vec![None; rows.len()]);
        let entries = rows.iter().zip(&texts).zip(&vectors).map(|((row, text), vector)| IndexEntry {
            message: row.message.id.clone(),
            vector: vector.clone(),
            terms: terms(text),
        });
        let versions = self.write(memory, key, space, entries.collect()).await?;
        let shelved = rows.iter().zip(vectors).filter_map(|(row, vector)| Some(shelved(key, row, vector?)));
        let shelved: Vec<IndexedVector> = shelved.collect();
        self.recall.cache.wrote(&memory.store, versions, (&key.resource, space), &shelved);
        Ok(whole)
    }

    /// Writes, and gives the owner's version before and after.
    async fn write(
        &self,
        memory: &Memory,
        key: &ThreadKey,
        space: &str,
        entries: Vec<IndexEntry>,
    ) -> Result<(u64, u64), StoreError> {
        let mut pauses = PAUSES.iter();
        loop {
            let before = memory.store.index_version(&key.resource);
            match memory.store.index(key, space, entries.clone()).await {
                Ok(()) => return Ok((before, memory.store.index_version(&key.resource))),
                Err(error) if error.kind == StoreErrorKind::Busy => match pauses.next() {
                    Some(pause) if self.pause(*pause).await => {}
                    _ => return Err(error),
                },
                Err(error) => return Err(error),
            }
        }
    }

    /// The vectors of texts, `None` inside for a text without any; `None` outside when the embedder cannot be used.
    async fn vectors(
        &self,
        memory: &Memory,
        texts: &[String],
        question: Option<(String, Vec<f32>)>,
    ) -> Option<Vec<Option<Vec<f32>>>> {
        let embedder = memory.embedder.as_ref()?;
        let known = |text: &str| question.as_ref().filter(|(known, _)| known == text).map(|(_, vector)| vector.clone());
        let mut vectors: Vec<Option<Vec<f32>>> = texts.iter().map(|text| known(text)).collect();
        let open: Vec<usize> =
            (0..texts.len()).filter(|at| vectors[*at].is_none() && !texts[*at].trim().is_empty()).collect();
        if open.is_empty() {
            return Some(vectors);
        }
        let batch: Vec<String> = open.iter().map(|at| embedded(&texts[*at])).collect();
        let mut pauses = PAUSES.iter();
        loop {
            match embedder.embed(&batch).await {
                Ok(made) if made.len() == batch.len() => {
                    self.recall.works(embedder.space());
                    for (at, vector) in open.into_iter().zip(made) {
                        vectors[at] = Some(vector);
                    }
                    return Some(vectors);
                }
                Ok(_) => return None,
                Err(error) if error.kind == EmbedErrorKind::TooLong => {
                    let made = one_by_one(embedder.as_ref(), &batch).await?;
                    for (at, vector) in open.into_iter().zip(made) {
                        vectors[at] = vector;
                    }
                    return Some(vectors);
                }
                Err(error) => match pauses.next().filter(|_| is_transient(&error)) {
                    Some(pause) if self.pause(*pause).await => {}
                    _ => {
                        self.recall.failed(embedder.space(), &error);
                        return None;
                    }
                },
            }
        }
    }

    /// Waits; false when the runtime is going down, so that waiting makes no sense.
    async fn pause(&self, pause: Duration) -> bool {
        tokio::select! {
            () = self.draining.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
        }
    }
}

/// Writes the feed records of turns, those of one store together.
async fn put_feed(turns: &mut [AfterTurn]) {
    let same_store = |a: &AfterTurn, b: &AfterTurn| Arc::ptr_eq(&a.memory.store, &b.memory.store);
    for turns in turns.chunk_by_mut(same_store) {
        let feeds = turns.iter_mut().map(|turn| (turn.key.clone(), std::mem::take(&mut turn.feed)));
        let feeds: Vec<TurnFeed> = feeds.filter(|(_, records)| !records.is_empty()).collect();
        let Some(last) = turns.last().filter(|_| !feeds.is_empty()) else { continue };
        if let Err(error) = last.memory.store.put_feed(feeds, last.keep_after).await {
            tracing::warn!(kind = ?error.kind, %error, "feed records were not written");
        }
    }
}

/// What of a row can be recalled: nothing of the operator's own rows, which are never fed as history.
fn said(row: &StoredMessage) -> String {
    if row.message.role == Role::System { String::new() } else { row.message.text() }
}

fn shelved(key: &ThreadKey, row: &StoredMessage, vector: Vec<f32>) -> IndexedVector {
    let (role, created_at) = (row.message.role, row.message.created_at);
    IndexedVector { thread: key.thread.clone(), seq: row.seq, role, created_at, vector }
}

fn is_transient(error: &EmbedError) -> bool {
    error.kind.is_transient()
}

fn space_of(memory: &Memory) -> &str {
    memory.embedder.as_ref().map_or(WORDS_ONLY, |embedder| embedder.space())
}

fn gave_up(error: &StoreError) {
    tracing::warn!(kind = ?error.kind, %error, "messages were not indexed; they are caught up with later");
}

fn corner(memory: &Memory, resource: &ResourceId) -> Corner {
    (address_of(&memory.store), resource.clone(), space_of(memory).to_owned())
}

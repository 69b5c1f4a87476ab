//! Measures the recall index of one owner: writing it in batches, paging through its vectors, looking for words, and
//! asking for what is left to index: `cargo run --release -p roster-storage --example recall_store [MESSAGES]`.

#![expect(clippy::print_stdout, reason = "a measurement prints its figures")]

use std::sync::Arc;
use std::time::Duration;

use roster_model::id::ResourceId;
use roster_model::message::{Message, Role};
use roster_model::recall::{IndexEntry, RecallStore};
use roster_model::storage::ConversationStore;
use roster_storage::sqlite::{Options, SqliteStore, open};
use roster_testkit::clock::TestClock;
use roster_testkit::suite::conversation::{key, message, whole_turn};
use roster_testkit::suite::session::entry;
use tokio::time::Instant;

type Failure = Box<dyn std::error::Error>;

const SPACE: &str = "bench-512";
const DIMENSIONS: usize = 512;
const BATCH: usize = 64;
/// Messages of a thread.
const THREAD: usize = 128;
/// Words of a message, and how many there are to choose from.
const WORDS: usize = 12;
const VOCABULARY: u64 = 30_000;

/// A small generator, so that every run sees the same.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// A word; the n-th of the vocabulary is about n times rarer than the first, as in languages.
    fn word(&mut self) -> String {
        let uniform = self.next() as f64 / f64::from(u32::MAX >> 1);
        let rank = (VOCABULARY as f64).powf(uniform) as u64;
        format!("word{rank}")
    }

    fn terms(&mut self) -> String {
        (0..WORDS).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }

    fn vector(&mut self) -> Vec<f32> {
        (0..DIMENSIONS).map(|_| self.next() as f32 / 1e9 - 1.0).collect()
    }
}

fn percentile(times: &mut [Duration], percent: usize) -> f64 {
    times.sort_unstable();
    let at = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
}

async fn fill(store: &SqliteStore, owner: &str, messages: usize, numbers: &mut Numbers) -> Result<Duration, Failure> {
    let mut indexing = Duration::ZERO;
    for thread in 0..messages.div_ceil(THREAD) {
        let key = key(owner, &format!("t{thread}"));
        store.create_thread(&key, Default::default()).await?;
        let count = THREAD.min(messages - thread * THREAD);
        let texts: Vec<String> = (0..count).map(|_| numbers.terms()).collect();
        let rows: Vec<Message> =
            texts.iter().enumerate().map(|(n, text)| message(&format!("m{thread}.{n}"), Role::User, text)).collect();
        let rows = store.append(&key, rows).await?;
        for (rows, texts) in rows.chunks(BATCH).zip(texts.chunks(BATCH)) {
            let entries = rows.iter().zip(texts).map(|(row, text)| {
                let (message, terms) = (row.message.id.clone(), text.clone());
                IndexEntry { message, vector: Some(numbers.vector()), terms }
            });
            let entries: Vec<IndexEntry> = entries.collect();
            let began = Instant::now();
            store.index(&key, SPACE, entries).await?;
            indexing += began.elapsed();
        }
    }
    Ok(indexing)
}

async fn page_all(store: &SqliteStore, owner: &ResourceId, page: usize) -> Result<(), Failure> {
    let (mut after, mut rows, began) = (0, 0, Instant::now());
    loop {
        let (some, next) = store.vectors(owner, None, SPACE, after, page).await?;
        rows += some.len();
        let Some(next) = next else { break };
        after = next;
    }
    let took = began.elapsed().as_secs_f64();
    let size = (rows * DIMENSIONS * 4) as f64 / 1e6;
    println!("paging by {page:5}: {rows} vectors, {size:.0} MB in {:.0} ms, {:.0} MB/s", took * 1000.0, size / took);
    Ok(())
}

async fn find(store: &SqliteStore, owner: &ResourceId, count: usize, numbers: &mut Numbers) -> Result<(), Failure> {
    let (mut times, mut hits) = (Vec::new(), 0);
    for _ in 0..200 {
        let words: Vec<String> = (0..count).map(|_| numbers.word()).collect();
        let began = Instant::now();
        hits += store.find_words(owner, None, &words, 20).await?.len();
        times.push(began.elapsed());
    }
    let (half, most) = (percentile(&mut times, 50), percentile(&mut times, 95));
    println!("find {count:2} words: p50 {half:.2} ms  p95 {most:.2} ms  ({hits} hits)");
    Ok(())
}

async fn pending(store: &SqliteStore, owner: &ResourceId, space: &str) -> Result<(), Failure> {
    for round in 1..=3 {
        let began = Instant::now();
        let found = store.unindexed(owner, space, BATCH).await?.len();
        println!("unindexed in {space}, round {round}: {found} in {:.2} ms", began.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(())
}

async fn versions(store: &SqliteStore, owner: &ResourceId) {
    let rounds = 100_000_u32;
    let began = Instant::now();
    for _ in 0..rounds {
        std::hint::black_box(store.index_version(owner));
    }
    println!("index_version: {:.2} us", began.elapsed().as_secs_f64() * 1e6 / f64::from(rounds));
}

/// Turns of 64 callers, each with its two entries written after the answer, or without.
async fn live(store: &Arc<SqliteStore>, turns: usize, run: usize, indexed: bool) -> Result<(), Failure> {
    let (began, mut tasks) = (Instant::now(), tokio::task::JoinSet::new());
    for caller in 0..64_u64 {
        let store = Arc::clone(store);
        tasks.spawn(async move {
            let mut numbers = Numbers(caller);
            for round in 0..turns / 64 {
                let key = key(&format!("user:{}", caller % 8), &format!("{run}.{caller}.{}", round / 20));
                let name = format!("turn{round}");
                whole_turn(&*store, &key, &name).await;
                if indexed {
                    let entry = |end: &str| IndexEntry {
                        vector: Some(numbers.vector()),
                        terms: numbers.terms(),
                        ..entry(&format!("{name}-{end}"), &[], "")
                    };
                    let entries = ["q", "a"].map(entry).to_vec();
                    store.index(&key, SPACE, entries).await.map_err(|error| error.to_string())?;
                }
            }
            Ok::<_, String>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    let rate = turns as f64 / began.elapsed().as_secs_f64();
    println!("64 callers, {}: {rate:.0} turns/s", if indexed { "two entries a turn" } else { "turns alone" });
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let messages = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("roster.db");
    let store = Arc::new(open(&path, &Options::new(Arc::new(TestClock::default())))?);
    for (round, indexed) in [false, true, false, true].into_iter().enumerate() {
        live(&store, 6400, round, indexed).await?;
    }
    let mut numbers = Numbers(7);
    let took = fill(&store, "bench", messages, &mut numbers).await?.as_secs_f64();
    println!("indexed {messages} messages in batches of {BATCH}: {:.0} entries/s", messages as f64 / took);
    // Others say the same words.
    for other in 0..4 {
        fill(&store, &format!("other{other}"), messages / 10, &mut numbers).await?;
    }
    let owner = ResourceId::new("bench")?;
    for page in [64, 1024, 8192] {
        page_all(&store, &owner, page).await?;
    }
    for count in [1, 3, 8, 20] {
        find(&store, &owner, count, &mut numbers).await?;
    }
    for space in [SPACE, "next"] {
        pending(&store, &owner, space).await?;
    }
    versions(&store, &owner).await;
    let (began, size) = (Instant::now(), std::fs::metadata(&path)?.len() as f64 / 1e6);
    let erased = roster_model::housekeeping::Housekeeping::erase(&*store, &owner).await?;
    println!("file of {size:.0} MB; erased {erased:?} in {:.1} s", began.elapsed().as_secs_f64());
    store.close().await;
    Ok(())
}

//! Shelves, the cache and the fusion of rankings.

use std::sync::Arc;

use roster_model::housekeeping::{Housekeeping, SessionStore};
use roster_model::id::{MessageId, ResourceId, ThreadId, ThreadKey};
use roster_model::message::{Message, MessageStatus, Part, Role, Seq};
use roster_model::recall::{IndexEntry, IndexedVector, RecallStore};
use roster_model::storage::{ConversationStore, NewThread, StoreErrorKind};
use roster_model::time::Timestamp;
use roster_storage::ram::RamStore;
use roster_testkit::clock::TestClock;
use roster_testkit::faulty::{Fault, FaultySession, When};
use serde_json::Map;

use super::cache::ShelfKey;
use super::codes::Asked;
use super::shelf::{Filter, Near, Shelf, Wanted};
use super::*;

const SPACE: &str = "test/8";

fn unit(seed: u64, length: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        f32::from(u16::try_from(state >> 48).unwrap()) / 32_768.0 - 1.0
    };
    let values: Vec<f32> = (0..length).map(|_| next()).collect();
    let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.into_iter().map(|value| value / norm).collect()
}

fn thread(name: &str) -> ThreadId {
    ThreadId::new(name).unwrap()
}

fn row(thread: &ThreadId, seq: u64, vector: Vec<f32>) -> IndexedVector {
    let created_at = Timestamp::from_millis(i64::try_from(seq).unwrap());
    let role = if seq % 2 == 1 { Role::User } else { Role::Assistant };
    IndexedVector { thread: thread.clone(), seq: Seq(seq), role, created_at, vector }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn wanted(question: &[f32], filter: Filter, least: f32, most: usize) -> Wanted {
    Wanted { asked: Asked::new(question), filter, least, most }
}

fn places(near: &[Near]) -> Vec<u64> {
    near.iter().map(|near| near.seq.0).collect()
}

/// The scan finds what a plain comparison with every vector finds.
#[test]
fn the_scan_is_exact() {
    let t = thread("t");
    for (count, length) in [(1, 8), (500, 64), (5_000, 32)] {
        let vectors: Vec<Vec<f32>> = (0..count).map(|seed| unit(seed + 1, length)).collect();
        let mut shelf = Shelf::default();
        shelf.push(vectors.iter().enumerate().map(|(at, v)| row(&t, at as u64 + 1, v.clone())).collect());
        assert_eq!(shelf.len(), vectors.len());
        for question in 0..20 {
            let question = unit(question + 900_000, length);
            let mut truth: Vec<(f32, u64)> =
                vectors.iter().enumerate().map(|(at, v)| (dot(&question, v), at as u64 + 1)).collect();
            truth.sort_by(|a, b| b.0.total_cmp(&a.0));
            let near = shelf.nearest(&wanted(&question, Filter::default(), -1.0, 10));
            // Vectors whose cosines differ by less than the codes can tell may change places.
            for (near, (cosine, _)) in near.iter().zip(&truth) {
                assert!((near.cosine - cosine).abs() < 2e-4, "{near:?} {cosine}");
            }
            assert_eq!(near.len(), vectors.len().min(10));
        }
    }
}

/// As random as can be, and in tight heaps: of the ten nearest, 99 in 100 are found.
#[test]
fn the_nearest_are_found_among_random_and_among_clustered_vectors() {
    let t = thread("t");
    for (length, heaps, spread) in [(384, None, 1.0), (384, Some(20), 0.3), (512, Some(20), 0.1), (512, Some(2), 0.5)] {
        let vector = |seed: u64| {
            let own = unit(seed + 1, length);
            let Some(heaps) = heaps else { return own };
            let middle = unit(seed % heaps + 7_000_000, length);
            let sum: Vec<f32> = middle.iter().zip(&own).map(|(middle, own)| middle + own * spread).collect();
            let norm = dot(&sum, &sum).sqrt();
            sum.into_iter().map(|value| value / norm).collect()
        };
        let vectors: Vec<Vec<f32>> = (0..3_000).map(vector).collect();
        let mut shelf = Shelf::default();
        shelf.push(vectors.iter().zip(1..).map(|(vector, seq)| row(&t, seq, vector.clone())).collect());
        let (mut found, mut all) = (0, 0);
        for question in (0..20).map(|question| vector(question + 500_000)) {
            let mut truth: Vec<(f32, u64)> = vectors.iter().zip(1..).map(|(v, seq)| (dot(&question, v), seq)).collect();
            truth.sort_by(|a, b| b.0.total_cmp(&a.0));
            // Whose cosines differ by less than the codes can tell are as near as one another.
            let bar = truth[9].0 - 1e-4;
            let near = places(&shelf.nearest(&wanted(&question, Filter::default(), -1.0, 10)));
            found += truth.iter().filter(|(cosine, seq)| *cosine >= bar && near.contains(seq)).count();
            all += 10;
        }
        assert!(found * 100 >= all * 99, "{length} {heaps:?} {spread}: {found} of {all}");
    }
}

#[test]
fn filters_hold_and_what_is_below_the_threshold_is_out() {
    let (t, other) = (thread("t"), thread("other"));
    let mut shelf = Shelf::default();
    let mut same = |thread: &ThreadId, seq| shelf.push(vec![row(thread, seq, vec![1.0, 0.0])]);
    (1..=4).for_each(|seq| same(&t, seq));
    same(&other, 9);
    shelf.push(vec![row(&t, 5, vec![0.0, 1.0]), row(&t, 6, vec![0.0, 0.0]), row(&t, 7, vec![1.0])]);
    assert_eq!(shelf.len(), 7, "a vector of another length is no use");
    let found = |filter: Filter, least| places(&shelf.nearest(&wanted(&[1.0, 0.0], filter, least, 10)));
    assert_eq!(found(Filter::default(), 0.5), [1, 2, 3, 4, 9]);
    assert_eq!(found(Filter { before: Some((t, Seq(3))), ..Filter::default() }, 0.5), [1, 2, 9]);
    assert_eq!(found(Filter { roles: vec![Role::Assistant], ..Filter::default() }, 0.5), [2, 4]);
    assert_eq!(found(Filter { since: Some(4), ..Filter::default() }, 0.5), [4, 9]);
    assert_eq!(found(Filter::default(), -1.0).len(), 6, "what has no direction is never near");
}

#[test]
fn messages_are_near_enough_or_not() {
    let (t, other) = (thread("t"), thread("other"));
    let mut shelf = Shelf::default();
    shelf.push(vec![row(&t, 1, vec![1.0, 0.0]), row(&t, 2, vec![0.0, 1.0]), row(&other, 2, vec![0.8, 0.6])]);
    let places = [(t.clone(), Seq(1)), (t.clone(), Seq(2)), (other, Seq(2)), (t, Seq(3)), (thread("no"), Seq(1))];
    let enough = |least| shelf.near_enough(&Asked::new(&[1.0, 0.0]), &places, least);
    assert_eq!(enough(0.5), [true, false, true, false, false]);
    assert_eq!(enough(0.9), [true, false, false, false, false]);
}

struct Desk {
    store: Arc<RamStore>,
    /// What the cache asks: counts the calls.
    asked: Arc<FaultySession>,
    shared: Arc<dyn SessionStore>,
    cache: VectorCache,
}

impl Desk {
    fn new(budget: usize) -> Self {
        let store = Arc::new(RamStore::new(Arc::new(TestClock::default())));
        let never = Fault { nth: usize::MAX, when: When::Before, kind: StoreErrorKind::Internal };
        let asked = Arc::new(FaultySession::new(store.clone(), never));
        Self { shared: asked.clone(), asked, store, cache: VectorCache::new(budget) }
    }

    /// A message of an owner with this vector.
    async fn put(&self, owner: &str, seq: u64, vector: Vec<f32>) {
        let key = ThreadKey { resource: ResourceId::new(owner).unwrap(), thread: thread("t") };
        self.store.create_thread(&key, NewThread::default()).await.unwrap();
        let message = Message {
            id: MessageId::new(format!("{owner}-{seq}")).unwrap(),
            role: Role::User,
            parts: vec![Part::text("x")],
            created_at: Timestamp::from_millis(0),
            status: MessageStatus::Complete,
            origin: None,
            metadata: Map::new(),
        };
        self.store.append(&key, vec![message.clone()]).await.unwrap();
        let entry = IndexEntry { message: message.id, vector: Some(vector), terms: "x".into() };
        self.store.index(&key, SPACE, vec![entry]).await.unwrap();
    }

    async fn nearest(&self, owner: &str, question: &[f32]) -> Vec<u64> {
        let key = ShelfKey::new(&self.shared, &ResourceId::new(owner).unwrap(), None, SPACE);
        let wanted = Arc::new(wanted(question, Filter::default(), 0.0, 3));
        places(&self.cache.nearest(&self.shared, &key, &wanted).await.unwrap().0)
    }
}

#[tokio::test]
async fn the_cache_keeps_to_its_budget_and_the_least_used_owner_goes_first() {
    let desk = Desk::new(usize::MAX);
    for owner in ["a", "b", "c"] {
        for seq in 1..=10 {
            desk.put(owner, seq, unit(seq, 64)).await;
        }
    }
    desk.nearest("a", &unit(1, 64)).await;
    let one = desk.cache.bytes();
    assert!((10 * 128..20 * 128).contains(&one), "{one}");
    desk.cache.set_budget(one * 2);
    desk.nearest("b", &unit(1, 64)).await;
    desk.nearest("a", &unit(1, 64)).await;
    desk.nearest("c", &unit(1, 64)).await;
    assert_eq!(desk.cache.bytes(), one * 2);
    desk.cache.set_budget(0);
    assert_eq!(desk.cache.bytes(), 0);
}

/// An owner with more than the whole budget is read page by page, and found all the same.
#[tokio::test]
async fn an_owner_larger_than_the_budget_is_searched_page_by_page() {
    let (small, large) = (Desk::new(1_000), Desk::new(usize::MAX));
    for seq in 1..=1_500 {
        small.put("a", seq, unit(seq, 16)).await;
        large.put("a", seq, unit(seq, 16)).await;
    }
    for question in [3, 700, 1_499] {
        let question = unit(question, 16);
        let found = small.nearest("a", &question).await;
        assert_eq!(found, large.nearest("a", &question).await);
        assert_eq!(found.len(), 3);
    }
    assert_eq!(small.cache.bytes(), 0);
    assert_eq!((small.cache.uncached(), large.cache.uncached()), (3, 0), "what is slow is counted");
    let stored = 1_500 * 16 * 4;
    let held = held_bytes(1_500, stored);
    assert!(large.cache.bytes().abs_diff(usize::try_from(held).unwrap()) < 100, "{held} for {}", large.cache.bytes());
    small.cache.set_budget(usize::MAX);
    assert_eq!(small.nearest("a", &unit(3, 16)).await, large.nearest("a", &unit(3, 16)).await);
    assert_eq!((small.cache.uncached(), small.cache.bytes()), (3, large.cache.bytes()), "held from now on");
}

/// One that became small enough is held again.
#[tokio::test]
async fn an_owner_that_shrank_below_the_budget_is_held_again() {
    let desk = Desk::new(usize::MAX);
    for seq in 1..=10 {
        desk.put("a", seq, unit(seq, 64)).await;
    }
    desk.nearest("a", &unit(1, 64)).await;
    desk.cache.set_budget(desk.cache.bytes() - 1);
    desk.nearest("a", &unit(1, 64)).await;
    assert_eq!((desk.cache.bytes(), desk.cache.uncached()), (0, 1));
    let key = ThreadKey { resource: ResourceId::new("a").unwrap(), thread: thread("t") };
    let rows = desk.store.tail(&key, 2, None).await.unwrap();
    desk.store.delete_messages(&key, rows.into_iter().map(|row| row.message.id).collect()).await.unwrap();
    // The first search finds out, the next one holds it.
    desk.nearest("a", &unit(1, 64)).await;
    assert_eq!(desk.nearest("a", &unit(1, 64)).await[0], 1);
    assert!(desk.cache.bytes() > 0);
    assert_eq!(desk.cache.uncached(), 2);
}

/// What happens to one owner's index leaves the vectors of the others where they are.
#[tokio::test]
async fn only_the_owner_who_was_touched_is_read_anew() {
    let desk = Desk::new(usize::MAX);
    for owner in ["a", "b"] {
        for seq in 1..=3 {
            desk.put(owner, seq, unit(seq, 8)).await;
        }
        desk.nearest(owner, &unit(1, 8)).await;
    }
    let loads = desk.asked.calls();
    let of = |owner: &str| ThreadKey { resource: ResourceId::new(owner).unwrap(), thread: thread("t") };
    desk.store.delete_thread(&of("a")).await.unwrap();
    assert_eq!(desk.nearest("b", &unit(1, 8)).await[0], 1);
    assert_eq!(desk.asked.calls(), loads, "nothing was read for the other");
    assert!(desk.nearest("a", &unit(1, 8)).await.is_empty(), "what was deleted is not found");
    desk.put("b", 4, unit(4, 8)).await;
    assert_eq!(desk.nearest("b", &unit(4, 8)).await[0], 4);
}

#[tokio::test]
async fn what_others_wrote_is_read_anew_and_own_writes_are_put_on_the_shelf() {
    let desk = Desk::new(usize::MAX);
    let resource = ResourceId::new("a").unwrap();
    desk.put("a", 1, unit(1, 8)).await;
    assert_eq!(desk.nearest("a", &unit(1, 8)).await, [1]);
    desk.put("a", 2, unit(1, 8)).await;
    assert_eq!(desk.nearest("a", &unit(1, 8)).await, [1, 2], "the store's version moved");
    let before = desk.store.index_version(&resource);
    desk.put("a", 3, unit(1, 8)).await;
    let own = [row(&thread("t"), 3, unit(1, 8))];
    desk.cache.wrote(&desk.shared, (before, before + 1), (&resource, SPACE), &own);
    let full = desk.cache.bytes();
    assert_eq!(desk.nearest("a", &unit(1, 8)).await, [1, 2, 3]);
    assert_eq!(desk.cache.bytes(), full, "nothing was read");
    desk.cache.wrote(&desk.shared, (before, before + 2), (&resource, SPACE), &own);
    assert_eq!(desk.cache.bytes(), full, "somebody else wrote between: not to be believed");
}

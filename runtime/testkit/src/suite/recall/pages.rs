//! Rules of vectors: pages, spaces, what replaces and removes them.

use std::collections::BTreeSet;

use roster_model::id::ThreadKey;
use roster_model::message::{Role, Seq};
use roster_model::recall::{IndexEntry, IndexedVector};

use crate::suite::conversation::{ids_of, key};
use crate::suite::session::{
    Session, Subject, all_vectors, entry, hits, id, long_thread, owner, places, thread_of, words_only,
};

fn numbered(key: &ThreadKey, count: usize) -> Vec<IndexEntry> {
    let name = |n: usize| format!("{}.{n}", key.thread);
    (0..count).map(|n| entry(&name(n), &[n as f32, 1.0], &format!("w{n}"))).collect()
}

async fn vectors(store: &dyn Session, resource: &str, space: &str) -> Vec<IndexedVector> {
    all_vectors(store, &owner(resource), space, 1000).await
}

/// With the role, the time and the exact numbers; a message without a vector has no row.
pub async fn vectors_come_back_as_they_went_in(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    let rows = thread_of(store, &key, &["q", "a", "w"]).await;
    let odd = [0.1, -2.5e-38, f32::MAX, 0.0, -0.0];
    let entries = vec![entry("q", &odd, "x"), entry("a", &[1.0; 5], "y"), words_only("w", "z")];
    store.index(&key, "s", entries).await.expect("indexed");
    let found = vectors(store, "shop", "s").await;
    assert_eq!(places(&found), [("t".to_owned(), 1), ("t".to_owned(), 2)]);
    assert_eq!(found[0].vector.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), odd.map(f32::to_bits));
    assert_eq!((found[0].role, found[1].role), (Role::User, Role::Assistant));
    assert_eq!(found[0].created_at, rows[0].message.created_at);
}

/// Over several threads, indexed in turns; what comes in between stands on a later page or on none, and moves nothing.
pub async fn pages_of_vectors_neither_repeat_nor_skip(subject: &Subject) {
    let store = &*subject.store;
    let keys = ["a", "b", "c"].map(|thread| key("shop", thread));
    for key in &keys {
        long_thread(store, key, 70).await;
    }
    for half in 0..2 {
        for key in &keys {
            let entries = numbered(key, 70).into_iter().skip(half * 35).take(35).collect();
            store.index(key, "s", entries).await.expect("indexed");
        }
    }
    let all = places(&vectors(store, "shop", "s").await);
    assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (210, 210));
    for page in [1, 7, 100, 209, 210, 211] {
        assert_eq!(places(&all_vectors(store, &owner("shop"), "s", page).await), all, "pages of {page}");
    }
    let (first, next) = store.vectors(&owner("shop"), None, "s", 0, 100).await.expect("page");
    long_thread(store, &key("shop", "d"), 5).await;
    store.index(&key("shop", "d"), "s", numbered(&key("shop", "d"), 5)).await.expect("indexed");
    store.index(&keys[0], "s", numbered(&keys[0], 3)).await.expect("indexed");
    let (rest, _) = store.vectors(&owner("shop"), None, "s", next.expect("more"), 1000).await.expect("page");
    let mut seen: Vec<_> = places(&first);
    seen.extend(places(&rest).into_iter().filter(|(thread, _)| thread != "d"));
    assert_eq!(seen, all);
}

/// Only its own, page by page.
pub async fn vectors_of_one_thread_can_be_paged(subject: &Subject) {
    let store = &*subject.store;
    for thread in ["a", "b", "c"] {
        let key = key("shop", thread);
        long_thread(store, &key, 25).await;
        store.index(&key, "s", numbered(&key, 25)).await.expect("indexed");
    }
    let (mut seen, mut after) = (Vec::new(), 0);
    loop {
        let (page, next) =
            store.vectors(&owner("shop"), Some(&key("shop", "b").thread), "s", after, 10).await.expect("page");
        seen.extend(places(&page));
        let Some(next) = next else { break };
        after = next;
    }
    let wanted: Vec<_> = (1..=25).map(|seq| ("b".to_owned(), seq)).collect();
    assert_eq!(seen, wanted);
    let (none, next) = store.vectors(&owner("shop"), Some(&key("x", "z").thread), "s", 0, 10).await.expect("page");
    assert_eq!((none.len(), next), (0, None));
}

/// One message, two vectors of different length: each is given in its space only.
pub async fn spaces_never_mix(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    long_thread(store, &key, 3).await;
    store.index(&key, "small", numbered(&key, 3)).await.expect("indexed");
    store.index(&key, "big", vec![entry("t.1", &[1.0; 512], "w1")]).await.expect("indexed");
    let (small, big) = (vectors(store, "shop", "small").await, vectors(store, "shop", "big").await);
    assert_eq!((small.len(), big.len()), (3, 1));
    assert!(small.iter().all(|row| row.vector.len() == 2));
    assert_eq!((big[0].seq, big[0].vector.len()), (Seq(2), 512));
    assert_eq!(vectors(store, "shop", "other").await, []);
}

/// One thread id, one message id, two owners.
pub async fn owners_never_share_vectors(subject: &Subject) {
    let store = &*subject.store;
    for (resource, number) in [("a", 1.0), ("b", 2.0)] {
        let key = key(resource, "t");
        long_thread(store, &key, 2).await;
        store.index(&key, "s", vec![entry("t.0", &[number], "word")]).await.expect("indexed");
    }
    for (resource, number) in [("a", 1.0), ("b", 2.0)] {
        let found = vectors(store, resource, "s").await;
        assert_eq!((found.len(), found[0].vector.as_slice()), (1, [number].as_slice()));
    }
    assert_eq!(vectors(store, "c", "s").await, []);
}

/// Its place in the pages stays.
pub async fn an_entry_written_again_is_replaced(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    long_thread(store, &key, 3).await;
    store.index(&key, "s", numbered(&key, 3)).await.expect("indexed");
    store.index(&key, "s", vec![entry("t.0", &[9.0, 9.0], "w0")]).await.expect("indexed");
    let found = vectors(store, "shop", "s").await;
    assert_eq!(places(&found), [1, 2, 3].map(|seq| ("t".to_owned(), seq)));
    assert_eq!(found[0].vector, [9.0, 9.0]);
    store.index(&key, "s", vec![words_only("t.0", "w0")]).await.expect("indexed");
    assert_eq!(vectors(store, "shop", "s").await.len(), 2, "an entry without a vector takes the old one away");
}

/// Without a failure, and without an entry.
pub async fn messages_that_are_gone_are_passed_over(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    store.index(&key, "s", vec![entry("q", &[1.0], "word")]).await.expect("no thread, nothing to do");
    assert_eq!(store.thread(&key).await.expect("thread"), None);
    thread_of(store, &key, &["q"]).await;
    let entries = vec![entry("gone", &[1.0], "word"), entry("q", &[2.0], "word")];
    store.index(&key, "s", entries).await.expect("indexed");
    assert_eq!(places(&vectors(store, "shop", "s").await), [("t".to_owned(), 1)]);
    assert_eq!(hits(store, &owner("shop"), &["word"]).await.len(), 1);
}

/// In every space, and their words.
pub async fn deleted_messages_leave_the_index(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    long_thread(store, &key, 3).await;
    for space in ["s", "r"] {
        store.index(&key, space, numbered(&key, 3)).await.expect("indexed");
    }
    assert_eq!(store.delete_messages(&key, vec![id("t.1")]).await.expect("deleted"), 1);
    for space in ["s", "r"] {
        assert_eq!(places(&vectors(store, "shop", space).await), [1, 3].map(|seq| ("t".to_owned(), seq)));
    }
    assert_eq!(hits(store, &owner("shop"), &["w1"]).await, []);
    assert_eq!(hits(store, &owner("shop"), &["w2"]).await.len(), 1);
}

/// A thread made anew under the id has none.
pub async fn a_deleted_thread_leaves_the_index(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    long_thread(store, &key, 3).await;
    store.index(&key, "s", numbered(&key, 3)).await.expect("indexed");
    assert!(store.delete_thread(&key).await.expect("deleted"));
    assert_eq!(vectors(store, "shop", "s").await, []);
    long_thread(store, &key, 3).await;
    assert_eq!(vectors(store, "shop", "s").await, []);
    assert_eq!(hits(store, &owner("shop"), &["w1"]).await, []);
    assert_eq!(store.unindexed(&owner("shop"), "s", 10).await.expect("listed").len(), 3);
}

/// Fewer at the ends of a thread; none for what is not there.
pub async fn neighbours_come_in_order(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    let rows = long_thread(store, &key, 6).await;
    for (seq, before, after, wanted) in
        [(3, 1, 1, 1..4), (3, 0, 0, 2..3), (1, 2, 1, 0..2), (6, 1, 9, 4..6), (4, 99, 99, 0..6)]
    {
        let found = store.around(&key, Seq(seq), before, after).await.expect("around");
        assert_eq!(found, rows[wanted], "{seq} with {before} before and {after} after");
    }
    store.delete_messages(&key, vec![id("t.2"), id("t.3")]).await.expect("deleted");
    let found = store.around(&key, Seq(5), 1, 0).await.expect("around");
    assert_eq!(ids_of(&found), ["t.1", "t.4"], "the nearest that are there");
    for seq in [0, 3, 7] {
        assert_eq!(store.around(&key, Seq(seq), 1, 1).await.expect("around"), []);
    }
    let other = ThreadKey { resource: owner("bank"), thread: key.thread };
    assert_eq!(store.around(&other, Seq(1), 1, 1).await.expect("around"), []);
}

/// With every kind of change; turns alone leave it as it is.
pub async fn the_index_version_moves_with_the_index(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    let (shop, bank, other) = (owner("shop"), owner("bank"), crate::suite::conversation::key("other", "t"));
    long_thread(store, &other, 3).await;
    store.index(&other, "s", numbered(&other, 3)).await.expect("indexed");
    let others = store.index_version(&other.resource);
    long_thread(store, &key, 3).await;
    let versions = || [store.index_version(&shop), store.index_version(&bank)];
    let mut last = versions();
    crate::suite::conversation::whole_turn(store, &key, "one").await;
    assert_eq!(versions(), last, "a turn changes no index");
    let mut moved = |what: &str, expected: [bool; 2]| {
        let now = versions();
        assert_eq!([now[0] != last[0], now[1] != last[1]], expected, "{what}");
        assert_eq!(store.index_version(&other.resource), others, "{what}: of another owner");
        last = now;
    };
    store.index(&key, "s", numbered(&key, 3)).await.expect("indexed");
    moved("index", [true, false]);
    store.delete_messages(&key, vec![id("t.1")]).await.expect("deleted");
    moved("messages deleted", [true, false]);
    let target = crate::suite::conversation::key("shop", "u").thread;
    store.copy_thread(&key, &target, Default::default(), Default::default()).await.expect("copied");
    moved("copied", [true, false]);
    store.transfer_thread(&key, &bank).await.expect("transferred");
    moved("transferred", [true, true]);
    store.delete_thread(&ThreadKey { resource: bank.clone(), thread: key.thread.clone() }).await.expect("deleted");
    moved("thread deleted", [false, true]);
    let (before, again) = (store.index_version(&shop), crate::suite::conversation::key("shop", "u"));
    store.erase(&shop).await.expect("erased");
    moved("erased", [true, false]);
    long_thread(store, &again, 3).await;
    for _ in 0..3 {
        store.index(&again, "s", numbered(&again, 3)).await.expect("indexed");
        assert_ne!(store.index_version(&shop), before, "an owner that comes again does not count on where it was");
    }
}

/// By one with each call, so that whoever wrote can tell whether somebody else did too.
pub async fn the_index_version_counts_ones_own_writes(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    long_thread(store, &key, 3).await;
    store.index(&key, "s", numbered(&key, 3)).await.expect("indexed");
    for _ in 0..3 {
        let before = store.index_version(&key.resource);
        store.index(&key, "s", numbered(&key, 3)).await.expect("indexed");
        assert_eq!(store.index_version(&key.resource), before + 1);
    }
}

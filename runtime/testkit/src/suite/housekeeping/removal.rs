//! Rules of what goes away: messages, and all of an owner.

use std::collections::BTreeSet;

use roster_model::housekeeping::Erased;
use roster_model::id::ResourceId;
use roster_model::message::{Role, Seq};
use roster_model::storage::{Direction, MessageQuery, NewThread, OperatorStore, StoreErrorKind};
use roster_model::working::MemoryScope;

use super::{found, listed, rich};
use crate::suite::conversation::{
    answer, begin, begin_with, finish, ids, ids_of, key, message, pages_from, question, refused, save, whole_turn,
};
use crate::suite::session::{Subject, entry, id, long_thread, owner, thread_of, words_only};

/// Those that are there; a seq is never given again.
pub async fn deleted_messages_are_gone_and_counted(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    thread_of(store, &key, &["1", "2", "3", "4"]).await;
    let doomed = ["2", "4", "nope", "2"].map(id).to_vec();
    assert_eq!(store.delete_messages(&key, doomed.clone()).await.expect("deleted"), 2);
    assert_eq!(listed(store, &key).await, (vec!["1".to_owned(), "3".to_owned()], 2));
    assert_eq!(ids(store, &key).await, ["1", "3"]);
    assert_eq!(store.thread(&key).await.expect("thread").expect("there").message_count, 2);
    assert_eq!(store.delete_messages(&key, doomed).await.expect("deleted"), 0);
    let rows = store.append(&key, vec![question("4")]).await.expect("the id is free again");
    assert_eq!(rows[0].seq, Seq(5));
    let other = crate::suite::conversation::key("bank", "t");
    assert_eq!(store.delete_messages(&other, vec![id("1")]).await.expect("nothing there"), 0);
    assert_eq!(ids(store, &key).await, ["1", "3", "4"]);
}

/// In both directions, by offset and by message, whatever is missing.
pub async fn pages_over_deleted_messages_neither_repeat_nor_skip(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    long_thread(store, &key, 60).await;
    let doomed = (0..60).filter(|n| n % 7 == 0 || (20..30).contains(n) || *n == 59).map(|n| id(&format!("t.{n}")));
    store.delete_messages(&key, doomed.collect()).await.expect("deleted");
    let all = ids(store, &key).await;
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut seen = Vec::new();
        for page in 0.. {
            let query = MessageQuery { direction, offset: page * 9, limit: 9, ..MessageQuery::default() };
            let page = store.messages(&key, query).await.expect("page");
            assert_eq!(page.total, all.len() as u64);
            seen.extend(ids_of(&page.rows));
            if page.next.is_none() {
                break;
            }
            assert_eq!(page.rows.len(), 9);
        }
        if direction == Direction::Descending {
            seen.reverse();
        }
        assert_eq!(seen, all, "{direction:?}");
    }
    let (mut before, mut seen) = (None, Vec::new());
    loop {
        let query = MessageQuery { limit: 7, before: before.take(), ..MessageQuery::default() };
        let page = store.messages(&key, query).await.expect("page");
        assert_eq!(page.total as usize, all.len() - seen.len());
        seen.extend(ids_of(&page.rows));
        let Some(next) = page.next else { break };
        before = Some(id(&next));
    }
    seen.reverse();
    assert_eq!(seen, all);
    pages_from(store, &key, &all).await;
}

/// As where nothing is missing.
pub async fn pages_over_deleted_messages_stop_at_eight_mebibytes(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    store.create_thread(&key, NewThread::default()).await.expect("made");
    let large = |n: usize| message(&format!("n{n}"), Role::User, &"x".repeat(3 << 20));
    store.append(&key, (0..6).map(large).collect()).await.expect("appended");
    store.delete_messages(&key, vec![id("n1")]).await.expect("deleted");
    let query = MessageQuery { limit: 1000, ..MessageQuery::default() };
    let newest = store.messages(&key, query.clone()).await.expect("page");
    assert_eq!((ids_of(&newest.rows), newest.total), (vec!["n5".to_owned(), "n4".to_owned()], 5));
    let before = newest.next.as_deref().map(id);
    let next = store.messages(&key, MessageQuery { before: before.clone(), ..query.clone() }).await.expect("page");
    assert_eq!((ids_of(&next.rows), next.total), (vec!["n3".to_owned(), "n2".to_owned()], 3));
    let last = store.messages(&key, MessageQuery { before, offset: 2, ..query }).await.expect("page");
    assert_eq!((ids_of(&last.rows), last.total, last.next), (vec!["n0".to_owned()], 3, None));
}

/// It is seeded like a new one, and a turn in it ends well although its question was deleted under it.
pub async fn a_thread_emptied_by_deletions_goes_on(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    whole_turn(store, &key, "one").await;
    store.delete_messages(&key, vec![id("one-q"), id("one-a")]).await.expect("deleted");
    assert_eq!(listed(store, &key).await, (Vec::new(), 0));
    let begun = begin_with(store, &key, "two", vec![question("seed")]).await.expect("begins");
    assert!(begun.seeded, "the thread held no message");
    assert_eq!(begun.first, Seq(3));
    store.delete_messages(&key, vec![id("two-q")]).await.expect("deleted");
    finish(store, &key, "two").await.expect("ends");
    assert_eq!(ids(store, &key).await, ["seed", "two-a"]);
    store.delete_messages(&key, vec![id("two-a")]).await.expect("deleted");
    let late = save(store, &key, "two", Some(answer("late")), true).await;
    assert!(late.is_err() || ids(store, &key).await == ["seed", "late"], "behind no other turn: {late:?}");
    begin(store, &key, "three").await.expect("begins");
    finish(store, &key, "three").await.expect("ends");
    refused(save(store, &key, "gone", Some(answer("x")), true).await, StoreErrorKind::NotFound);
}

/// Only this owner's; one id may stand in several threads.
pub async fn threads_of_messages_are_found(subject: &Subject) {
    let store = &*subject.store;
    for (resource, thread, rows) in [("a", "t", &["1", "2"][..]), ("a", "u", &["2", "3"]), ("b", "t", &["1", "9"])] {
        thread_of(store, &key(resource, thread), rows).await;
    }
    let child = NewThread { parent: Some(key("a", "t").thread), ..NewThread::default() };
    store.create_thread(&key("a", "child"), child).await.expect("made");
    store.append(&key("a", "child"), vec![question("4")]).await.expect("appended");
    let wanted = ["1", "2", "4", "9", "nope", "1"].map(id).to_vec();
    let found = store.threads_of_messages(&owner("a"), wanted.clone()).await.expect("found");
    assert_eq!(found.len(), 4, "each once: {found:?}");
    let found: BTreeSet<(String, String)> =
        found.into_iter().map(|(thread, id)| (thread.to_string(), id.to_string())).collect();
    let pairs = [("t", "1"), ("t", "2"), ("u", "2"), ("child", "4")];
    assert_eq!(found, pairs.map(|(thread, id)| (thread.to_owned(), id.to_owned())).into());
    for (message, expected) in [("1", &["a", "b"][..]), ("9", &["b"]), ("4", &["a"]), ("nope", &[])] {
        let owners = store.owners_of_message(&id(message), 9).await.expect("found");
        let owners: BTreeSet<&str> = owners.iter().map(ResourceId::as_str).collect();
        assert_eq!(owners, expected.iter().copied().collect(), "{message}");
    }
    assert_eq!(store.owners_of_message(&id("1"), 1).await.expect("found").len(), 1);
    assert_eq!(store.threads_of_messages(&owner("c"), wanted).await.expect("found"), []);
    assert_eq!(store.threads_of_messages(&owner("a"), Vec::new()).await.expect("found"), []);
}

/// Threads (also those below others, and one with a turn under way), messages, entries, working memories; all others
/// keep theirs.
pub async fn erasing_leaves_nothing_of_an_owner(subject: &Subject) {
    let (store, doomed, other) = (&*subject.store, key("a", "t"), key("b", "t"));
    for key in [&doomed, &other] {
        rich(store, key).await;
        let memory = MemoryScope::Resource(key.resource.clone());
        store.set_working_memory(&memory, Some("tea".to_owned()), 0).await.expect("written");
    }
    let child = NewThread { parent: Some(doomed.thread.clone()), ..NewThread::default() };
    store.create_thread(&key("a", "child"), child).await.expect("made");
    store.append(&key("a", "child"), vec![question("x"), question("y")]).await.expect("appended");
    store.index(&key("a", "child"), "r", vec![words_only("x", "shared")]).await.expect("indexed");
    begin(store, &key("a", "busy"), "one").await.expect("begins");
    let erased = store.erase(&owner("a")).await.expect("erased");
    assert_eq!(erased, Erased { threads: 3, messages: 7, index_entries: 5, working_memories: 2 });
    assert_eq!(found(store, &doomed).await, [0; 7]);
    for thread in ["t", "child", "busy"] {
        assert_eq!(store.thread(&key("a", thread)).await.expect("thread"), None);
    }
    assert_eq!(store.working_memory(&MemoryScope::Resource(owner("a"))).await.expect("read"), None);
    assert_eq!(store.unindexed(&owner("a"), "s", 10).await.expect("listed"), []);
    assert_eq!(OperatorStore::owners(store, &doomed.thread, 10).await.expect("owners"), [owner("b")]);
    refused(finish(store, &key("a", "busy"), "one").await, StoreErrorKind::NotFound);
    assert_eq!(found(store, &other).await, [4, 1, 1, 4, 4, 1, 1]);
    let memory = store.working_memory(&MemoryScope::Resource(owner("b"))).await.expect("read");
    assert_eq!(memory.map(|memory| memory.text).as_deref(), Some("tea"));
}

/// Neither of an owner never heard of nor of one erased before.
pub async fn erasing_nobody_removes_nothing(subject: &Subject) {
    let store = &*subject.store;
    rich(store, &key("b", "t")).await;
    for _ in 0..2 {
        assert_eq!(store.erase(&owner("a")).await.expect("erased"), Erased::default());
    }
    store.erase(&owner("b")).await.expect("erased");
    assert_eq!(store.erase(&owner("b")).await.expect("erased"), Erased::default());
}

/// As one never heard of.
pub async fn an_erased_owner_begins_anew(subject: &Subject) {
    let (store, key) = (&*subject.store, key("a", "t"));
    for _ in 0..2 {
        rich(store, &key).await;
        let memory = MemoryScope::Resource(owner("a"));
        assert_eq!(store.set_working_memory(&memory, Some("tea".to_owned()), 0).await.expect("written"), 1);
        assert_eq!(found(store, &key).await, [4, 1, 1, 4, 4, 1, 1]);
        assert_eq!(store.unindexed(&owner("a"), "s", 10).await.expect("listed"), []);
        store.append(&key, vec![question("more")]).await.expect("appended");
        assert_eq!(store.unindexed(&owner("a"), "s", 10).await.expect("listed").len(), 1);
        store.index(&key, "s", vec![entry("more", &[1.0], "x")]).await.expect("indexed");
        assert_eq!(store.erase(&owner("a")).await.expect("erased").index_entries, 5);
    }
}

/// Whatever was acknowledged since it was seen keeps it.
pub async fn a_thread_is_deleted_as_empty_only_while_it_is(subject: &Subject) {
    let store = &*subject.store;
    for (name, what) in ["nothing", "title", "message", "memory", "turn"].into_iter().enumerate() {
        let key = key("shop", &format!("t{name}"));
        let (seen, _) = store.create_thread(&key, NewThread::default()).await.expect("made");
        let scope = MemoryScope::Thread(key.clone());
        match what {
            "title" => drop(store.set_title_if_empty(&key, "Tea".to_owned()).await.expect("set")),
            "message" => drop(store.append(&key, vec![question("q")]).await.expect("appended")),
            "memory" => drop(store.set_working_memory(&scope, Some("tea".to_owned()), 0).await.expect("written")),
            "turn" => drop(begin(store, &key, "one").await.expect("begins")),
            _ => {}
        }
        let deleted = store.delete_if_empty(&seen).await.expect("asked");
        assert_eq!(deleted, what == "nothing", "{what}");
        assert_eq!(store.thread(&key).await.expect("asked").is_none(), deleted, "{what}");
        assert!(!deleted || !store.delete_if_empty(&seen).await.expect("asked"), "once");
    }
}

/// A parent may be in another store than the threads of its sub-agents.
pub async fn threads_below_one_kept_elsewhere_go_with_it(subject: &Subject) {
    let (store, parent) = (&*subject.store, key("shop", "parent"));
    let (child, grandchild, other) = (key("shop", "child"), key("shop", "grandchild"), key("bank", "child"));
    for (key, above) in [(&child, &parent), (&grandchild, &child), (&other, &parent)] {
        let new = NewThread { parent: Some(above.thread.clone()), ..NewThread::default() };
        store.create_thread(key, new).await.expect("made");
    }
    refused(store.transfer_thread(&parent, &owner("bank")).await, StoreErrorKind::NotFound);
    assert!(store.delete_thread(&parent).await.expect("deleted"));
    assert_eq!(store.thread(&child).await.expect("asked"), None);
    assert_eq!(store.thread(&grandchild).await.expect("asked"), None);
    assert!(store.thread(&other).await.expect("asked").is_some(), "another owner's");
    assert!(!store.delete_thread(&parent).await.expect("asked"));
}

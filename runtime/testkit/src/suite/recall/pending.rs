//! Rules of what has no entry yet.

use std::collections::BTreeSet;

use roster_model::message::{Message, MessageStatus};

use crate::suite::conversation::{answer, begin, key, question, save, whole_turn};
use crate::suite::session::{Session, Subject, entry, id, long_thread, owner, thread_of, words_only};

async fn pending(store: &dyn Session, resource: &str, space: &str, limit: usize) -> Vec<String> {
    let found = store.unindexed(&owner(resource), space, limit).await.expect("listed");
    assert!(found.iter().all(|row| row.key.resource == owner(resource)));
    found.iter().map(|row| row.message.message.id.as_str().to_owned()).collect()
}

/// Threads by their last message, each from its newest on; per space; whole messages.
pub async fn what_has_no_entry_is_listed_newest_first(subject: &Subject) {
    let (store, old, new) = (&*subject.store, key("shop", "old"), key("shop", "new"));
    thread_of(store, &old, &["1", "2"]).await;
    thread_of(store, &new, &["3", "4"]).await;
    thread_of(store, &key("bank", "t"), &["x"]).await;
    let rows = store.append(&old, vec![question("5")]).await.expect("appended");
    assert_eq!(pending(store, "shop", "s", 10).await, ["5", "2", "1", "4", "3"]);
    assert_eq!(pending(store, "shop", "s", 2).await, ["5", "2"]);
    assert_eq!(pending(store, "shop", "s", 0).await, [""; 0]);
    let first = store.unindexed(&owner("shop"), "s", 1).await.expect("listed");
    assert_eq!((&first[0].key, &first[0].message), (&old, &rows[0]));
    store.index(&old, "s", vec![entry("5", &[1.0], "five"), entry("1", &[1.0], "one")]).await.expect("indexed");
    assert_eq!(pending(store, "shop", "s", 10).await, ["2", "4", "3"]);
    assert_eq!(pending(store, "shop", "other", 10).await, ["5", "2", "1", "4", "3"]);
    assert_eq!(pending(store, "nobody", "s", 10).await, [""; 0]);
}

/// They are not given again and again.
pub async fn entries_without_a_vector_count_as_indexed(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    thread_of(store, &key, &["1", "2"]).await;
    store.index(&key, "s", vec![words_only("2", "two"), words_only("1", "")]).await.expect("indexed");
    assert_eq!(pending(store, "shop", "s", 10).await, [""; 0]);
    assert_eq!(pending(store, "shop", "r", 10).await, ["2", "1"]);
}

/// Its text is not whole yet; once it is, it is listed, whatever was looked at meanwhile.
pub async fn a_running_answer_waits_until_it_is_over(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    begin(store, &key, "one").await.expect("begins");
    let running = Message { status: MessageStatus::Running, ..answer("one-a") };
    save(store, &key, "one", Some(running), false).await.expect("saved");
    assert_eq!(pending(store, "shop", "s", 10).await, ["one-q"]);
    store.index(&key, "s", vec![entry("one-q", &[1.0], "q")]).await.expect("indexed");
    assert_eq!(pending(store, "shop", "s", 10).await, [""; 0]);
    assert_eq!(pending(store, "shop", "s", 10).await, [""; 0]);
    save(store, &key, "one", Some(answer("one-a")), true).await.expect("saved");
    assert_eq!(pending(store, "shop", "s", 10).await, ["one-a"]);
}

/// From the newest on in batches, as the background work does, with turns and their entries in between.
pub async fn all_is_listed_whatever_order_entries_come_in(subject: &Subject) {
    let store = &*subject.store;
    for thread in ["a", "b", "c", "d"] {
        long_thread(store, &key("shop", thread), 23).await;
    }
    let mut seen = BTreeSet::new();
    for round in 0.. {
        let found = store.unindexed(&owner("shop"), "s", 7).await.expect("listed");
        if found.is_empty() {
            break;
        }
        for row in found {
            let name = row.message.message.id;
            assert!(seen.insert(name.clone()), "{name} was given twice");
            store.index(&row.key, "s", vec![entry(name.as_str(), &[1.0], "w")]).await.expect("indexed");
        }
        if round % 3 == 0 {
            let (key, name) = (key("shop", ["b", "d"][round % 2]), format!("turn{round}"));
            whole_turn(store, &key, &name).await;
            let answer = format!("{name}-a");
            store.index(&key, "s", vec![entry(&answer, &[1.0], "w")]).await.expect("indexed");
            seen.insert(id(&answer));
        }
    }
    let mut all = 0;
    for thread in ["a", "b", "c", "d"] {
        all += store.thread(&key("shop", thread)).await.expect("thread").expect("there").message_count;
    }
    assert_eq!(seen.len() as u64, all);
    assert_eq!(pending(store, "shop", "s", 10).await, [""; 0]);
    store.append(&key("shop", "a"), vec![question("late")]).await.expect("appended");
    assert_eq!(pending(store, "shop", "s", 10).await, ["late"]);
}

/// Neither those that had an entry nor those that had none.
pub async fn deleted_messages_are_not_pending(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    thread_of(store, &key, &["1", "2", "3", "4", "5"]).await;
    store.index(&key, "s", vec![entry("3", &[1.0], "w")]).await.expect("indexed");
    store.delete_messages(&key, vec![id("2"), id("3"), id("5")]).await.expect("deleted");
    assert_eq!(pending(store, "shop", "s", 10).await, ["4", "1"]);
    store.append(&key, vec![question("6")]).await.expect("appended");
    assert_eq!(pending(store, "shop", "s", 10).await, ["6", "4", "1"]);
}

/// Also when its new owner had nothing left to do.
pub async fn what_moves_to_another_owner_is_listed_there(subject: &Subject) {
    let (store, here, there) = (&*subject.store, key("a", "t"), key("b", "u"));
    thread_of(store, &here, &["1", "2"]).await;
    thread_of(store, &there, &["3"]).await;
    store.index(&there, "s", vec![entry("3", &[1.0], "w")]).await.expect("indexed");
    store.index(&here, "s", vec![entry("2", &[1.0], "w")]).await.expect("indexed");
    assert_eq!(pending(store, "b", "s", 10).await, [""; 0]);
    store.transfer_thread(&here, &owner("b")).await.expect("transferred");
    assert_eq!(pending(store, "b", "s", 10).await, ["1"]);
    assert_eq!(pending(store, "a", "s", 10).await, [""; 0]);
}

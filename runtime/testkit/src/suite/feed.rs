//! What every store of feed records must do; the macro [`feed_suite!`](crate::feed_suite) makes a test of each rule.

use roster_model::feed::FeedRecord;
use roster_model::id::ThreadKey;
use roster_model::time::Timestamp;
use serde_json::json;

use super::conversation::{key, turn};
use super::session::{Session, Subject, rules, thread_of};

rules! { feed_suite, feed;
    records_of_a_turn_come_by_step
    the_newest_turn_is_given_when_none_is_named
    a_record_written_again_is_replaced
    old_records_are_dropped
    records_of_many_turns_are_written_at_once
    an_unknown_thread_has_no_records_and_is_passed_over
    owners_do_not_share_records
    records_go_with_their_thread
}

fn record(name: &str, step: u32, at: i64) -> FeedRecord {
    let record = json!({"fed": [{"id": "漢", "score": 0.25}], "step": step}).to_string();
    FeedRecord { turn: turn(name), step, at: Timestamp::from_millis(at), record }
}

async fn put(store: &dyn Session, key: &ThreadKey, records: &[FeedRecord]) {
    store.put_feed(vec![(key.clone(), records.to_vec())], Timestamp::from_millis(0)).await.expect("written");
}

/// As they went in.
pub async fn records_of_a_turn_come_by_step(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    thread_of(store, &key, &[]).await;
    let [one, two, three] = [record("one", 1, 5), record("one", 2, 6), record("one", 3, 7)];
    put(store, &key, &[two.clone(), one.clone()]).await;
    put(store, &key, std::slice::from_ref(&three)).await;
    put(store, &key, &[record("other", 1, 8)]).await;
    assert_eq!(store.feed(&key, Some(&turn("one"))).await.expect("feed"), [one, two, three]);
    assert_eq!(store.feed(&key, Some(&turn("none"))).await.expect("feed"), []);
}

/// The one written last, whatever its time says.
pub async fn the_newest_turn_is_given_when_none_is_named(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    thread_of(store, &key, &[]).await;
    assert_eq!(store.feed(&key, None).await.expect("feed"), []);
    put(store, &key, &[record("one", 1, 9), record("one", 2, 9)]).await;
    put(store, &key, &[record("two", 1, 5)]).await;
    assert_eq!(store.feed(&key, None).await.expect("feed"), [record("two", 1, 5)]);
}

/// Same turn and step.
pub async fn a_record_written_again_is_replaced(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    thread_of(store, &key, &[]).await;
    put(store, &key, &[record("one", 1, 5)]).await;
    let changed = FeedRecord { record: "{}".to_owned(), ..record("one", 1, 6) };
    put(store, &key, std::slice::from_ref(&changed)).await;
    assert_eq!(store.feed(&key, None).await.expect("feed"), [changed]);
}

/// In whichever thread they are; what is as old as the limit stays.
pub async fn old_records_are_dropped(subject: &Subject) {
    let (store, old, new) = (&*subject.store, key("shop", "old"), key("bank", "new"));
    for key in [&old, &new] {
        thread_of(store, key, &[]).await;
    }
    put(store, &old, &[record("one", 1, 10), record("two", 1, 20), record("three", 1, 30)]).await;
    let late = vec![(new.clone(), vec![record("one", 1, 10)])];
    store.put_feed(late, Timestamp::from_millis(20)).await.expect("written");
    assert_eq!(store.feed(&old, Some(&turn("one"))).await.expect("feed"), []);
    assert_eq!(store.feed(&old, Some(&turn("two"))).await.expect("feed"), [record("two", 1, 20)]);
    assert_eq!(store.feed(&old, None).await.expect("feed"), [record("three", 1, 30)]);
    assert_eq!(store.feed(&new, None).await.expect("feed"), [], "also what was just written");
}

/// Of several threads and owners.
pub async fn records_of_many_turns_are_written_at_once(subject: &Subject) {
    let (store, keys) = (&*subject.store, [key("shop", "t"), key("shop", "u"), key("bank", "t")]);
    for key in &keys {
        thread_of(store, key, &[]).await;
    }
    let turns = keys.iter().zip(5..).map(|(key, at)| (key.clone(), vec![record("one", 1, at), record("one", 2, at)]));
    store.put_feed(turns.collect(), Timestamp::from_millis(0)).await.expect("written");
    for (key, at) in keys.iter().zip(5..) {
        assert_eq!(store.feed(key, None).await.expect("feed"), [record("one", 1, at), record("one", 2, at)]);
    }
}

/// Neither reading from it nor writing into it is a failure: it was deleted meanwhile. The others are written.
pub async fn an_unknown_thread_has_no_records_and_is_passed_over(subject: &Subject) {
    let (store, nope, there) = (&*subject.store, key("shop", "nope"), key("shop", "t"));
    thread_of(store, &there, &[]).await;
    assert_eq!(store.feed(&nope, None).await.expect("feed"), []);
    let turns = [&nope, &there].map(|key| (key.clone(), vec![record("one", 1, 5)]));
    store.put_feed(turns.to_vec(), Timestamp::from_millis(0)).await.expect("written");
    assert_eq!(store.thread(&nope).await.expect("thread"), None);
    assert_eq!(store.feed(&there, None).await.expect("feed"), [record("one", 1, 5)]);
}

/// One id under two owners.
pub async fn owners_do_not_share_records(subject: &Subject) {
    let (store, a, b) = (&*subject.store, key("a", "t"), key("b", "t"));
    for key in [&a, &b] {
        thread_of(store, key, &[]).await;
    }
    put(store, &a, &[record("one", 1, 5)]).await;
    assert_eq!(store.feed(&b, None).await.expect("feed"), []);
    assert_eq!(store.feed(&b, Some(&turn("one"))).await.expect("feed"), []);
    put(store, &b, &[record("one", 1, 6)]).await;
    assert_eq!(store.feed(&a, None).await.expect("feed"), [record("one", 1, 5)]);
}

/// A thread made anew under the id has none.
pub async fn records_go_with_their_thread(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    thread_of(store, &key, &["q"]).await;
    put(store, &key, &[record("one", 1, 5)]).await;
    assert!(store.delete_thread(&key).await.expect("deleted"));
    thread_of(store, &key, &["q"]).await;
    assert_eq!(store.feed(&key, None).await.expect("feed"), []);
}

//! Rules of copies.

use std::collections::BTreeSet;

use roster_model::housekeeping::{Copied, CopyRange};
use roster_model::id::{MessageId, ThreadId};
use roster_model::message::{Message, MessageStatus, Role, Seq};
use roster_model::storage::{NewThread, StoreErrorKind, ThreadQuery};
use roster_model::time::Timestamp;
use roster_model::working::MemoryScope;
use serde_json::{Map, json};

use super::{found, listed, rich};
use crate::suite::conversation::{
    agent, answer, begin, finish, ids, ids_of, key, message, question, refused, save, whole_turn,
};
use crate::suite::session::{
    Session, Subject, entry, hit_places, hits, id, long_thread, owner, places, thread_of, words_only,
};

fn to(thread: &str) -> ThreadId {
    key("shop", thread).thread
}

async fn copy(store: &dyn Session, thread: &str, target: &str, range: CopyRange) -> Copied {
    let new = NewThread { title: "copy".to_owned(), ..NewThread::default() };
    store.copy_thread(&key("shop", thread), &to(target), new, range).await.expect("copied")
}

/// New ids, the same words and times, seqs from 1; the source is as it was, and both go on by themselves.
pub async fn a_copy_is_a_thread_of_its_own(subject: &Subject) {
    let (store, source, target) = (&*subject.store, key("shop", "t"), key("shop", "copy"));
    rich(store, &source).await;
    let before = store.tail(&source, 100, None).await.expect("tail");
    let metadata = Some(Map::from_iter([("from".to_owned(), json!("t"))]));
    let new = NewThread { agent: Some(agent("clerk")), title: "copy".to_owned(), metadata, parent: None };
    let copied = store.copy_thread(&source, &target.thread, new.clone(), CopyRange::default()).await.expect("copied");
    assert_eq!(copied.messages, store.tail(&target, 100, None).await.expect("tail"));
    assert_eq!(Some(&copied.thread), store.thread(&target).await.expect("thread").as_ref());
    assert_eq!(
        (copied.thread.message_count, &copied.thread.title, &copied.thread.metadata),
        (4, &new.title, &new.metadata)
    );
    let pairs: Vec<(MessageId, MessageId)> = before
        .iter()
        .zip(&copied.messages)
        .map(|(old, new)| (old.message.id.clone(), new.message.id.clone()))
        .collect();
    assert_eq!(copied.ids, pairs);
    for (old, new) in before.iter().zip(&copied.messages) {
        assert!(new.message.id.as_str().starts_with("msg_") && new.message.id != old.message.id);
        let same = Message { id: old.message.id.clone(), ..new.message.clone() };
        assert_eq!((old.seq, &old.turn, &old.message), (new.seq, &new.turn, &same));
    }
    assert_eq!(found(store, &target).await[..3], [4, 2, 2]);
    whole_turn(store, &target, "one").await;
    whole_turn(store, &source, "three").await;
    assert_eq!((ids(store, &target).await.len(), ids(store, &source).await.len()), (6, 6));
    let newest = store.threads(&owner("shop"), ThreadQuery { limit: 1, ..Default::default() }).await.expect("listed");
    assert_eq!(newest.rows[0].key, target, "made last");
}

/// The newest of those up to a message; a message that is not there is not found.
pub async fn a_copy_can_take_a_range(subject: &Subject) {
    let store = &*subject.store;
    thread_of(store, &key("shop", "t"), &["1", "2", "3", "4", "5"]).await;
    let cases = [(None, None, 0..5), (Some(2), None, 3..5), (Some(9), None, 0..5), (None, Some("3"), 0..3)];
    let cases = cases.into_iter().chain([(Some(2), Some("3"), 1..3), (Some(0), None, 0..0), (None, Some("1"), 0..1)]);
    for (number, (newest, until, wanted)) in cases.enumerate() {
        let copied = copy(
            store,
            "t",
            &format!("copy{number}"),
            CopyRange { newest, until: until.map(id), ..CopyRange::default() },
        )
        .await;
        let old: Vec<&str> = copied.ids.iter().map(|(old, _)| old.as_str()).collect();
        assert_eq!(old, ["1", "2", "3", "4", "5"][wanted], "{newest:?} until {until:?}");
        let seqs: Vec<Seq> = copied.messages.iter().map(|row| row.seq).collect();
        assert_eq!(seqs, (1..=old.len() as u64).map(Seq).collect::<Vec<_>>());
    }
    let range = CopyRange { until: Some(id("6")), ..CopyRange::default() };
    let none = store.copy_thread(&key("shop", "t"), &to("none"), NewThread::default(), range).await;
    refused(none, StoreErrorKind::NotFound);
    assert_eq!(store.thread(&key("shop", "none")).await.expect("thread"), None);
}

/// Of the messages that come along, in every space, and their words.
pub async fn a_copy_takes_its_index_entries_along(subject: &Subject) {
    let (store, source) = (&*subject.store, key("shop", "t"));
    thread_of(store, &source, &["1", "2", "3", "4"]).await;
    let entries = vec![entry("1", &[1.0], "word one"), entry("3", &[3.0], "word three"), words_only("4", "four")];
    store.index(&source, "s", entries).await.expect("indexed");
    store.index(&source, "r", vec![entry("3", &[3.0, 3.0], "word three")]).await.expect("indexed");
    copy(store, "t", "copy", CopyRange { newest: Some(3), ..CopyRange::default() }).await;
    let of = async |space: &str| {
        let (rows, _) = store.vectors(&owner("shop"), Some(&to("copy")), space, 0, 10).await.expect("vectors");
        (places(&rows), rows.into_iter().map(|row| row.vector).collect::<Vec<_>>())
    };
    assert_eq!(of("s").await, (vec![("copy".to_owned(), 2)], vec![vec![3.0]]));
    assert_eq!(of("r").await, (vec![("copy".to_owned(), 2)], vec![vec![3.0, 3.0]]));
    let in_copy = async |word: &str| {
        let words = [word.to_owned()];
        hit_places(&store.find_words(&owner("shop"), Some(&to("copy")), &words, 10).await.expect("found"))
    };
    assert_eq!(in_copy("word").await, [("copy".to_owned(), 2)]);
    assert_eq!(in_copy("four").await, [("copy".to_owned(), 3)]);
    assert_eq!(hits(store, &owner("shop"), &["word"]).await.len(), 3);
    let pending = store.unindexed(&owner("shop"), "s", 10).await.expect("listed");
    let pending: Vec<_> = pending.iter().map(|row| (row.key.thread.to_string(), row.message.seq.0)).collect();
    assert_eq!(pending, [("copy".to_owned(), 1), ("t".to_owned(), 2)]);
}

/// As a memory of its own.
pub async fn a_copy_takes_the_working_memory_along(subject: &Subject) {
    let (store, source, target) = (&*subject.store, key("shop", "t"), key("shop", "copy"));
    rich(store, &source).await;
    copy(store, "t", "copy", CopyRange::default()).await;
    let scope = MemoryScope::Thread(target);
    let memory = store.working_memory(&scope).await.expect("read").expect("there");
    assert_eq!(memory.text, "likes tea");
    store.set_working_memory(&scope, Some("likes milk".to_owned()), memory.version).await.expect("written");
    let own = store.working_memory(&MemoryScope::Thread(source)).await.expect("read").expect("there");
    assert_eq!(own.text, "likes tea");
}

/// Nobody will finish it there; in its own thread the turn goes on.
pub async fn a_copied_answer_that_was_running_is_interrupted(subject: &Subject) {
    let (store, source) = (&*subject.store, key("shop", "t"));
    begin(store, &source, "one").await.expect("begins");
    let running = Message { status: MessageStatus::Running, ..answer("one-a") };
    save(store, &source, "one", Some(running), false).await.expect("saved");
    let copied = copy(store, "t", "copy", CopyRange::default()).await;
    assert_eq!(copied.messages[1].message.status, MessageStatus::Interrupted);
    assert_eq!(store.tail(&key("shop", "copy"), 10, None).await.expect("tail"), copied.messages);
    finish(store, &source, "one").await.expect("ends");
    let rows = store.tail(&source, 10, None).await.expect("tail");
    assert_eq!(rows[1].message.status, MessageStatus::Complete);
    whole_turn(store, &key("shop", "copy"), "next").await;
}

/// Neither of the two is touched; what is not there cannot be copied.
pub async fn a_copy_over_a_thread_is_a_conflict(subject: &Subject) {
    let store = &*subject.store;
    thread_of(store, &key("shop", "t"), &["1", "2"]).await;
    thread_of(store, &key("shop", "there"), &["3"]).await;
    for target in ["there", "t"] {
        let new = NewThread { title: "copy".to_owned(), ..NewThread::default() };
        let refusal = store.copy_thread(&key("shop", "t"), &to(target), new, CopyRange::default()).await;
        refused(refusal, StoreErrorKind::Conflict);
    }
    assert_eq!(ids(store, &key("shop", "there")).await, ["3"]);
    assert_eq!(store.thread(&key("shop", "there")).await.expect("thread").expect("there").title, "");
    let nothing = store.copy_thread(&key("bank", "t"), &to("x"), NewThread::default(), CopyRange::default()).await;
    refused(nothing, StoreErrorKind::NotFound);
    assert_eq!(store.thread(&key("bank", "x")).await.expect("thread"), None);
    let all = store.threads(&owner("shop"), ThreadQuery { limit: 10, ..Default::default() }).await.expect("listed");
    assert_eq!(all.total, 2);
}

/// A thousand rows, in order, with gaps where messages were deleted.
pub async fn a_long_thread_is_copied_whole(subject: &Subject) {
    let (store, source) = (&*subject.store, key("shop", "t"));
    let rows = long_thread(store, &source, 1000).await;
    let entries = rows.iter().map(|row| entry(row.message.id.as_str(), &[row.seq.0 as f32], "w")).collect();
    store.index(&source, "s", entries).await.expect("indexed");
    store.delete_messages(&source, vec![id("t.0"), id("t.500"), id("t.999")]).await.expect("deleted");
    let copied = copy(store, "t", "copy", CopyRange { newest: Some(600), ..CopyRange::default() }).await;
    let (old, total) = listed(store, &source).await;
    assert_eq!(total, 997);
    assert_eq!(copied.ids.iter().map(|(old, _)| old.as_str()).collect::<Vec<_>>(), old[397..]);
    assert_eq!(ids_of(&copied.messages), listed(store, &key("shop", "copy")).await.0);
    assert_eq!(copied.ids.iter().map(|(_, new)| new).collect::<BTreeSet<_>>().len(), 600);
    let (vectors, _) = store.vectors(&owner("shop"), Some(&to("copy")), "s", 0, 1000).await.expect("vectors");
    assert_eq!(vectors.len(), 600);
    for (row, (old, _)) in vectors.iter().zip(&copied.ids) {
        assert_eq!(format!("t.{}", row.vector[0] - 1.0), old.as_str());
    }
    store.append(&key("shop", "copy"), vec![question("next")]).await.expect("appended");
    assert_eq!(store.tail(&key("shop", "copy"), 1, None).await.expect("tail")[0].seq, Seq(601));
}

/// Of the range, only what its filters take, with seqs from 1 and the entries that belong to it.
pub async fn a_copy_keeps_what_its_filters_take(subject: &Subject) {
    let (store, source) = (&*subject.store, key("shop", "t"));
    store.create_thread(&source, NewThread::default()).await.expect("made");
    let dated = |n: i64| Message { created_at: Timestamp::from_millis(n * 1000), ..question(&n.to_string()) };
    store.append(&source, (1..=5).map(dated).collect()).await.expect("saved");
    store.index(&source, "s", vec![entry("2", &[2.0], "two"), entry("4", &[4.0], "four")]).await.expect("indexed");
    let at = |n: i64| Some(Timestamp::from_millis(n * 1000));
    let only = |ids: &[&str]| Some(ids.iter().map(|text| id(text)).collect());
    let all = CopyRange::default;
    for (name, range, expected) in [
        ("ids", CopyRange { only: only(&["2", "4", "9"]), ..all() }, vec!["2", "4"]),
        ("none", CopyRange { only: only(&[]), ..all() }, vec![]),
        ("since", CopyRange { since: at(4), ..all() }, vec!["4", "5"]),
        ("up-to", CopyRange { up_to: at(2), ..all() }, vec!["1", "2"]),
        ("both", CopyRange { since: at(2), up_to: at(4), only: only(&["1", "4"]), ..all() }, vec!["4"]),
        ("newest", CopyRange { newest: Some(2), up_to: at(4), ..all() }, vec!["4"]),
    ] {
        let copied = copy(store, "t", name, range).await;
        assert_eq!(copied.ids.iter().map(|(old, _)| old.as_str()).collect::<Vec<_>>(), expected, "{name}");
        assert_eq!(copied.last.as_ref().map(MessageId::as_str), expected.last().copied(), "{name}");
        assert_eq!(copied.thread.message_count, expected.len() as u64, "{name}");
        assert_eq!(copied.messages, store.tail(&key("shop", name), 10, None).await.expect("tail"), "{name}");
    }
    let (vectors, _) = store.vectors(&owner("shop"), Some(&to("ids")), "s", 0, 10).await.expect("vectors");
    assert_eq!(places(&vectors), [("ids".to_owned(), 1), ("ids".to_owned(), 2)]);
    let (vectors, _) = store.vectors(&owner("shop"), Some(&to("both")), "s", 0, 10).await.expect("vectors");
    assert_eq!(places(&vectors), [("both".to_owned(), 1)]);
}

/// The copy is whole; what is told of it is as much as a page holds.
pub async fn a_large_copy_tells_its_beginning(subject: &Subject) {
    let (store, source) = (&*subject.store, key("shop", "t"));
    store.create_thread(&source, NewThread::default()).await.expect("made");
    let large = |n: i32| message(&n.to_string(), Role::User, &"x".repeat(3 << 20));
    for n in 1..=5 {
        store.append(&source, vec![large(n)]).await.expect("saved");
    }
    let copied = copy(store, "t", "copy", CopyRange::default()).await;
    assert_eq!(copied.ids.iter().map(|(old, _)| old.as_str()).collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!((copied.messages.len(), copied.thread.message_count), (2, 5));
    assert_eq!(copied.last, Some(id("5")));
    assert_eq!(listed(store, &key("shop", "copy")).await.1, 5);
}

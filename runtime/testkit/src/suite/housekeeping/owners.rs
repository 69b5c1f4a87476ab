//! Rules of threads that change their owner.

use roster_model::id::ThreadKey;
use roster_model::storage::{NewThread, StoreErrorKind};

use super::{found, moved, rich};
use crate::suite::conversation::{begin, finish, ids, key, refused, whole_turn};
use crate::suite::session::{Subject, hits, owner, thread_of};

/// Messages, the lists and counts of both owners, entries, working memory, feed records, the threads below it.
pub async fn a_transferred_thread_takes_everything_along(subject: &Subject) {
    let (store, here, there) = (&*subject.store, key("a", "t"), key("b", "t"));
    rich(store, &here).await;
    rich(store, &key("a", "stays")).await;
    rich(store, &key("b", "other")).await;
    let child = NewThread { parent: Some(here.thread.clone()), ..NewThread::default() };
    store.create_thread(&key("a", "child"), child).await.expect("made");
    let before = store.tail(&here, 100, None).await.expect("tail");
    let thread = store.transfer_thread(&here, &owner("b")).await.expect("transferred");
    assert_eq!(Some(&thread), store.thread(&there).await.expect("thread").as_ref());
    assert_eq!((&thread.key, thread.message_count), (&there, 4));
    assert_eq!(store.tail(&there, 100, None).await.expect("tail"), before);
    assert_eq!(found(store, &there).await, [4, 2, 2, 8, 8, 1, 1]);
    assert_eq!(found(store, &here).await, [0, 1, 1, 4, 4, 0, 0]);
    assert!(hits(store, &owner("a"), &["shared"]).await.iter().all(|hit| hit.thread != here.thread));
    assert_eq!(store.thread(&here).await.expect("thread"), None);
    assert_eq!(store.thread(&key("a", "child")).await.expect("thread"), None);
    assert!(store.thread(&key("b", "child")).await.expect("thread").is_some());
    whole_turn(store, &there, "three").await;
    whole_turn(store, &here, "anew").await;
    assert_eq!((ids(store, &there).await.len(), ids(store, &here).await.len()), (6, 2));
    assert!(store.delete_thread(&there).await.expect("deleted"));
    assert_eq!(store.thread(&key("b", "child")).await.expect("thread"), None, "still below it");
}

/// Of the same id there, neither of the thread nor of one below it.
pub async fn a_transfer_never_meets_another_thread(subject: &Subject) {
    let (store, here) = (&*subject.store, key("a", "t"));
    thread_of(store, &here, &["1"]).await;
    thread_of(store, &key("b", "t"), &["2"]).await;
    refused(store.transfer_thread(&here, &owner("b")).await, StoreErrorKind::Conflict);
    assert_eq!(
        (ids(store, &here).await, ids(store, &key("b", "t")).await),
        (vec!["1".to_owned()], vec!["2".to_owned()])
    );
    let child = NewThread { parent: Some(here.thread.clone()), ..NewThread::default() };
    store.create_thread(&key("a", "child"), child).await.expect("made");
    thread_of(store, &key("c", "child"), &[]).await;
    refused(store.transfer_thread(&here, &owner("c")).await, StoreErrorKind::Conflict);
    assert!(store.thread(&key("a", "child")).await.expect("thread").is_some());
    refused(store.transfer_thread(&key("a", "nope"), &owner("c")).await, StoreErrorKind::NotFound);
}

/// Whoever asks hears that it is busy; a turn in a thread below it counts as well.
pub async fn a_transfer_waits_for_no_turn(subject: &Subject) {
    let (store, here) = (&*subject.store, key("a", "t"));
    begin(store, &here, "one").await.expect("begins");
    refused(store.transfer_thread(&here, &owner("b")).await, StoreErrorKind::Busy);
    finish(store, &here, "one").await.expect("ends");
    let child = ThreadKey { thread: key("a", "child").thread, ..here.clone() };
    let below = NewThread { parent: Some(here.thread.clone()), ..NewThread::default() };
    store.create_thread(&child, below).await.expect("made");
    begin(store, &child, "two").await.expect("begins");
    refused(store.transfer_thread(&here, &owner("b")).await, StoreErrorKind::Busy);
    finish(store, &child, "two").await.expect("ends");
    store.transfer_thread(&here, &owner("b")).await.expect("transferred");
    assert_eq!(ids(store, &moved(&child, &owner("b"))).await.len(), 2);
}

/// Also while a turn runs.
pub async fn a_transfer_to_its_own_owner_changes_nothing(subject: &Subject) {
    let (store, here) = (&*subject.store, key("a", "t"));
    rich(store, &here).await;
    let before = store.thread(&here).await.expect("thread").expect("there");
    assert_eq!(store.transfer_thread(&here, &owner("a")).await.expect("nothing to do"), before);
    assert_eq!(found(store, &here).await, [4, 1, 1, 4, 4, 1, 1]);
}

//! Several stores on one file: in one process, and in another one that dies.

use std::pin::pin;
use std::time::Duration;

use roster_model::message::{Message, MessageStatus};
use roster_model::storage::{ConversationStore, StoreErrorKind};
use roster_testkit::suite::conversation::{answer, begin, finish, ids, key, refused, save, whole_turn};

use crate::child::Process;
use crate::sqlite::{at, fresh};

#[tokio::test]
async fn two_stores_on_one_file_see_each_others_turns() {
    let (folder, one) = fresh();
    let two = at(&folder);
    let key = key("shop", "t");
    whole_turn(&one, &key, "one").await;
    whole_turn(&two, &key, "two").await;
    whole_turn(&one, &key, "three").await;
    assert_eq!(ids(&two, &key).await, ["one-q", "one-a", "two-q", "two-a", "three-q", "three-a"]);
    one.close().await;
    whole_turn(&two, &key, "four").await;
    assert_eq!(ids(&two, &key).await.len(), 8);
}

#[tokio::test]
async fn a_turn_waits_for_a_turn_of_another_store() {
    let (folder, one) = fresh();
    let two = at(&folder);
    let key = key("shop", "t");
    begin(&one, &key, "one").await.expect("begins");
    let mut waiting = pin!(begin(&two, &key, "two"));
    // Several looks at the other store's lease pass.
    let early = tokio::time::timeout(Duration::from_millis(300), &mut waiting).await;
    assert!(early.is_err(), "did not wait: {early:?}");
    finish(&one, &key, "one").await.expect("ends");
    waiting.await.expect("begins");
    finish(&two, &key, "two").await.expect("ends");
    assert_eq!(ids(&one, &key).await, ["one-q", "one-a", "two-q", "two-a"]);
}

#[tokio::test]
async fn many_turns_through_two_stores_never_interleave() {
    let (folder, one) = fresh();
    let two = at(&folder);
    let key = key("shop", "t");
    let run = async |store, name: &str| {
        for round in 0..15 {
            whole_turn(store, &key, &format!("{name}{round}")).await;
        }
    };
    tokio::join!(run(&one, "a"), run(&two, "b"), run(&one, "c"), run(&two, "d"));
    let rows = ids(&one, &key).await;
    assert_eq!(rows.len(), 120);
    for pair in rows.chunks(2) {
        assert_eq!(pair[0].strip_suffix("-q"), pair[1].strip_suffix("-a"), "question and answer stand together");
    }
}

#[tokio::test]
async fn a_store_that_closes_gives_up_its_turns() {
    let (folder, one) = fresh();
    let two = at(&folder);
    let key = key("shop", "t");
    begin(&one, &key, "one").await.expect("begins");
    let running = Message { status: MessageStatus::Running, ..answer("one-a") };
    save(&one, &key, "one", Some(running), false).await.expect("saved");
    drop(one);
    begin(&two, &key, "two").await.expect("begins");
    let rows = two.tail(&key, 10, None).await.expect("tail");
    assert_eq!(rows[1].message.status, MessageStatus::Interrupted);
}

#[tokio::test]
async fn a_killed_process_no_longer_holds_its_thread() {
    let (folder, store) = fresh();
    let key = key("shop", "t");
    let mut child = Process::start("hold", &folder.path().join("roster.db"));
    assert_eq!(child.line().as_deref(), Some("held"));
    let mut waiting = pin!(begin(&store, &key, "next"));
    let early = tokio::time::timeout(Duration::from_millis(200), &mut waiting).await;
    assert!(early.is_err(), "the child lives: {early:?}");
    child.kill();
    waiting.await.expect("begins");
    finish(&store, &key, "next").await.expect("ends");
    let rows = store.tail(&key, 10, None).await.expect("tail");
    assert_eq!(rows[1].message.status, MessageStatus::Interrupted);
    assert_eq!(ids(&store, &key).await, ["held-q", "held-a", "next-q", "next-a"]);
}

#[tokio::test]
async fn opening_marks_what_a_killed_process_left_running() {
    let folder = tempfile::tempdir().expect("temp folder");
    let mut child = Process::start("hold", &folder.path().join("roster.db"));
    assert_eq!(child.line().as_deref(), Some("held"));
    child.kill();
    let store = at(&folder);
    let rows = store.tail(&key("shop", "t"), 10, None).await.expect("tail");
    assert_eq!(rows[1].message.status, MessageStatus::Interrupted);
    let holders = std::fs::read_dir(folder.path().join("roster.db.holders")).expect("folder").count();
    assert_eq!(holders, 2, "the gate and the living store's own file");
}

#[tokio::test]
async fn opening_beside_a_living_process_leaves_its_turn_alone() {
    let folder = tempfile::tempdir().expect("temp folder");
    let mut child = Process::start("hold", &folder.path().join("roster.db"));
    assert_eq!(child.line().as_deref(), Some("held"));
    let store = at(&folder);
    let key = key("shop", "t");
    assert_eq!(store.tail(&key, 1, None).await.expect("tail")[0].message.status, MessageStatus::Running);
    child.go();
    assert_eq!(child.line().as_deref(), Some("given back"));
    whole_turn(&store, &key, "next").await;
    assert_eq!(ids(&store, &key).await, ["held-q", "held-a", "next-q", "next-a"]);
}

#[tokio::test]
async fn a_deletion_elsewhere_ends_the_turn_here() {
    let (folder, one) = fresh();
    let two = at(&folder);
    let key = key("shop", "t");
    begin(&one, &key, "one").await.expect("begins");
    assert!(two.delete_thread(&key).await.expect("deleted"));
    whole_turn(&two, &key, "two").await;
    refused(finish(&one, &key, "one").await, StoreErrorKind::NotFound);
    assert_eq!(ids(&one, &key).await, ["two-q", "two-a"]);
}

//! What only the store's own threads can show: a panic in one job, a heavy read beside a turn.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use futures_util::future::{join, join_all};
use roster_model::id::{ResourceId, ThreadId, ThreadKey};
use roster_model::storage::{ConversationStore, NewThread, StoreError, StoreErrorKind};
use roster_testkit::clock::TestClock;
use tempfile::TempDir;

use super::{Options, SqliteStore, open};

fn fresh() -> (TempDir, SqliteStore) {
    let folder = tempfile::tempdir().expect("temp folder");
    let options = Options::new(Arc::new(TestClock::default()));
    let store = open(folder.path().join("roster.db"), &options).expect("opens");
    (folder, store)
}

fn key(thread: &str) -> ThreadKey {
    let (resource, thread) = (ResourceId::new("shop").expect("legal"), ThreadId::new(thread).expect("legal"));
    ThreadKey { resource, thread }
}

fn failed_with_its_text(result: Result<(), StoreError>) {
    let error = result.expect_err("fails");
    assert_eq!(error.kind, StoreErrorKind::Internal, "{error}");
    assert!(error.to_string().contains("on purpose"), "{error}");
}

#[tokio::test]
async fn a_write_that_panics_fails_alone_and_leaves_nothing() {
    let (_folder, store) = fresh();
    store.create_thread(&key("there"), NewThread::default()).await.expect("made");
    let bad = store.writer.write(|group| -> super::error::Outcome<()> {
        group.connection.execute("UPDATE threads SET title = 'half done'", [])?;
        panic!("on purpose {}", 1)
    });
    let new = key("new");
    // Both wait for the same transaction.
    let (bad, good) = join(bad, store.create_thread(&new, NewThread::default())).await;
    failed_with_its_text(bad);
    good.expect("the job beside it is done");
    let there = store.thread(&key("there")).await.expect("read").expect("there");
    assert_eq!(there.title, "", "rolled back");
    assert!(store.create_thread(&key("later"), NewThread::default()).await.expect("the writer goes on").1);
}

#[tokio::test]
async fn long_work_that_panics_fails_alone_and_leaves_nothing() {
    let (_folder, store) = fresh();
    store.create_thread(&key("there"), NewThread::default()).await.expect("made");
    let step = store.writer.slices(Box::new(|group, _| {
        group.connection.execute("UPDATE threads SET title = 'half done'", [])?;
        panic!("on purpose")
    }));
    failed_with_its_text(step.await);
    let there = store.thread(&key("there")).await.expect("read").expect("there");
    assert_eq!(there.title, "", "rolled back");
    assert!(store.delete_thread(&key("there")).await.expect("the writer goes on"));
}

#[tokio::test]
async fn a_read_that_panics_fails_alone() {
    let (_folder, store) = fresh();
    store.create_thread(&key("there"), NewThread::default()).await.expect("made");
    // More often than there are threads.
    for _ in 0..5 {
        failed_with_its_text(store.readers.read(|_| panic!("on purpose")).await);
        failed_with_its_text(store.readers.read_for_turn(|_| panic!("on purpose")).await);
    }
    assert!(store.thread(&key("there")).await.expect("the readers go on").is_some());
    assert!(store.tail(&key("there"), 10, None).await.expect("the readers go on").is_empty());
}

#[tokio::test]
async fn heavy_reads_hold_up_no_turn() {
    let (_folder, store) = fresh();
    let heavy: Vec<_> = (0..4).map(|_| mpsc::channel::<()>()).collect();
    let (doors, ends): (Vec<_>, Vec<_>) = heavy.into_iter().unzip();
    let reads = ends.into_iter().map(|end| store.readers.read(move |_| Ok(end.recv().is_err())));
    let turn = async {
        let there = key("there");
        let tail = tokio::time::timeout(Duration::from_secs(10), store.tail(&there, 10, None)).await;
        // Only now the heavy reads may end.
        drop(doors);
        tail
    };
    let (ended, tail) = join(join_all(reads), turn).await;
    assert!(tail.expect("did not wait for them").expect("read").is_empty());
    assert!(ended.into_iter().all(|ended| ended.expect("read")), "they ran until then");
}

//! The ledger of both stores against the suite, and what only a file can show.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use roster_model::ledger::{LedgerStore, LedgerWrite};
use roster_model::storage::StoreErrorKind;
use roster_storage::sqlite::{Options, Trial, open};
use roster_storage::unavailable::UnavailableStore;
use roster_testkit::faulty::{Fault, FaultyLedger, When};
use roster_testkit::suite::conversation::{key, refused, whole_turn};
use roster_testkit::suite::ledger::{Subject, agent, entry, generations, print, publish, serve, version};
use rusqlite::Connection;

use crate::sqlite::{at, fresh, options};

mod ram {
    use roster_storage::ram::RamStore;
    use roster_testkit::clock::TestClock;

    use super::{Arc, Subject};

    fn make() -> Subject {
        Subject { store: Arc::new(RamStore::new(Arc::new(TestClock::default()))), keep: Box::new(()) }
    }

    roster_testkit::ledger_suite!(make);
}

mod sqlite {
    use super::{Arc, Subject, fresh};

    fn make() -> Subject {
        let (folder, store) = fresh();
        Subject { store: Arc::new(store), keep: Box::new(folder) }
    }

    roster_testkit::ledger_suite!(make);
}

/// Every row in a transaction of its own.
mod sliced {
    use super::{Arc, Subject, sliced};

    fn make() -> Subject {
        let (folder, store) = sliced();
        Subject { store: Arc::new(store), keep: Box::new(folder) }
    }

    roster_testkit::ledger_suite!(make);
}

fn sliced() -> (tempfile::TempDir, roster_storage::sqlite::SqliteStore) {
    let folder = tempfile::tempdir().expect("temp folder");
    let trial = Trial { slice: Some(Duration::ZERO), ..Trial::default() };
    let store = open(folder.path().join("roster.db"), &Options { trial, ..options() }).expect("opens");
    (folder, store)
}

/// What an outside tool counts.
fn rows(database: &Path, table: &str) -> i64 {
    let connection = Connection::open(database).expect("opens");
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).expect("counted")
}

/// A first publish of so many agents that all name the same instructions file.
fn first_publish(agents: usize) -> LedgerWrite {
    let mut write = LedgerWrite::default();
    for number in 0..agents {
        let name = format!("agent-{number}");
        let mut version = version(&name, "a");
        version.instructions = Some("shared".to_owned());
        write.versions.push(version);
        write.entries.push(entry(1, &name, "added", "a"));
    }
    write
}

#[tokio::test]
async fn the_ledger_survives_a_restart() {
    let (folder, store) = fresh();
    serve(&store, "clerk", &["a", "b"]).await;
    store.pin(&agent("clerk"), Some(print("a"))).await.expect("pinned");
    drop(store);
    let store = at(&folder);
    assert_eq!(store.last_served(&agent("clerk")).await.expect("asked"), Some(version("clerk", "b")));
    assert_eq!(store.pins().await.expect("pins"), [version("clerk", "a")]);
    assert_eq!(generations(&store, "clerk").await, [2, 1]);
}

#[tokio::test]
async fn two_stores_on_one_file_share_the_ledger() {
    let (folder, one) = fresh();
    let two = at(&folder);
    one.write(publish(1, "clerk", "added", "a")).await.expect("written");
    two.write(publish(2, "clerk", "changed", "b")).await.expect("written");
    one.write(publish(3, "clerk", "changed", "a")).await.expect("written");
    two.pin(&agent("clerk"), Some(print("a"))).await.expect("pinned");
    for store in [&one, &two] {
        assert_eq!(generations(store, "clerk").await, [3, 2, 1]);
        assert_eq!(store.pins().await.expect("pins"), [version("clerk", "a")]);
    }
}

#[tokio::test]
async fn each_text_is_stored_once() {
    let (folder, store) = fresh();
    let database = folder.path().join("roster.db");
    let write = first_publish(100);
    store.write(write.clone()).await.expect("written");
    assert_eq!((rows(&database, "versions"), rows(&database, "texts")), (100, 101));
    // The shared instructions change: a hundred new versions, one new text.
    let mut next = write;
    for version in &mut next.versions {
        version.fingerprint = print("b");
        version.instructions = Some("changed".to_owned());
    }
    next.entries.clear();
    store.write(next).await.expect("written");
    assert_eq!((rows(&database, "versions"), rows(&database, "texts")), (200, 102));
    let found = store.version(&agent("agent-7"), &print("a")).await.expect("asked").expect("known");
    assert_eq!(found.instructions.as_deref(), Some("shared"));
}

#[tokio::test]
async fn turns_go_on_while_a_big_publish_is_written() {
    let (_folder, store) = sliced();
    let mut turns = 0;
    let mut writing = store.write(first_publish(300));
    loop {
        let turn = async {
            whole_turn(&store, &key("shop", "t"), &format!("turn{turns}")).await;
        };
        tokio::select! {
            written = &mut writing => {
                written.expect("written");
                break;
            }
            () = turn => turns += 1,
        }
    }
    drop(writing);
    assert!(turns >= 2, "turns went on between the slices");
    assert_eq!(generations(&store, "agent-299").await, [1]);
}

#[tokio::test]
async fn a_write_goes_on_when_its_caller_leaves_and_the_next_one_waits() {
    let (_folder, store) = sliced();
    let mut big = first_publish(300);
    big.entries.push(entry(1, "clerk", "added", "a"));
    // Given to the writer, and then nobody waits for it.
    assert_eq!(store.write(big).now_or_never().map(|done| done.is_ok()), None);
    store.write(publish(2, "clerk", "changed", "b")).await.expect("written");
    assert_eq!(generations(&store, "clerk").await, [2, 1]);
    assert_eq!(generations(&store, "agent-299").await, [1]);
}

#[tokio::test]
async fn a_publish_cut_short_by_a_full_disk_is_whole_when_written_again() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("roster.db");
    let trial = Trial { max_pages: Some(80), slice: Some(Duration::ZERO), ..Trial::default() };
    let store = open(&path, &Options { trial, ..options() }).expect("opens");
    let mut write = first_publish(100);
    for version in &mut write.versions {
        version.text += &"# a long comment\n".repeat(200);
    }
    refused(store.write(write.clone()).await, StoreErrorKind::Full);
    let left = rows(&path, "versions");
    assert!(left > 0 && left < 100, "{left} of the versions are there");
    assert_eq!(rows(&path, "ledger"), 0, "no entry without its version");
    whole_turn(&store, &key("shop", "t"), "one").await;
    store.close().await;
    drop(store);
    let store = at(&folder);
    store.write(write).await.expect("written");
    let all = ["versions", "ledger", "texts"].map(|table| rows(&path, table));
    assert_eq!(all, [100, 100, 101]);
}

/// Publishes and pins, each tried again once when it failed; gives how many publishes were acknowledged.
async fn scenario(ledger: &FaultyLedger) -> usize {
    let mut acknowledged = 0;
    for (generation, start) in (1..).zip(["a", "b", "c"]) {
        let write = publish(generation, "clerk", "changed", start);
        if ledger.write(write.clone()).await.is_ok() || ledger.write(write).await.is_ok() {
            acknowledged += 1;
        }
        let _pin = ledger.pin(&agent("clerk"), Some(print(start))).await;
    }
    acknowledged
}

#[tokio::test]
async fn a_publish_that_failed_once_is_there_once() {
    for nth in 0.. {
        for when in [When::Before, When::After] {
            let (_folder, store) = fresh();
            let store = Arc::new(store);
            let fault = Fault { nth, when, kind: StoreErrorKind::Unavailable };
            let faulty = FaultyLedger::new(Arc::clone(&store) as Arc<dyn LedgerStore>, fault);
            assert_eq!(scenario(&faulty).await, 3, "{fault:?}");
            assert_eq!(generations(&*store, "clerk").await, [3, 2, 1], "{fault:?}");
            assert_eq!(store.last_served(&agent("clerk")).await.expect("asked"), Some(version("clerk", "c")));
            let pinned = store.pins().await.expect("pins");
            // The last pin is not tried again.
            let lost = faulty.calls() == nth + 1 && when == When::Before;
            assert_eq!(pinned, [version("clerk", if lost { "b" } else { "c" })], "{fault:?}");
            if faulty.calls() <= nth {
                assert_eq!(nth, 6, "two calls for each of three versions");
                return;
            }
        }
    }
}

#[tokio::test]
async fn a_closed_or_missing_store_refuses_the_ledger() {
    let (_folder, closed) = fresh();
    closed.close().await;
    let missing = UnavailableStore::new("damaged");
    let stores: [&dyn LedgerStore; 2] = [&closed, &missing];
    let clerk = agent("clerk");
    for store in stores {
        refused(store.write(publish(1, "clerk", "added", "a")).await, StoreErrorKind::Unavailable);
        refused(store.last_served(&clerk).await, StoreErrorKind::Unavailable);
        refused(store.version(&clerk, "aaaaaaaa").await, StoreErrorKind::Unavailable);
        refused(store.history(&clerk, 1).await, StoreErrorKind::Unavailable);
        refused(store.pin(&clerk, None).await, StoreErrorKind::Unavailable);
        refused(store.pins().await, StoreErrorKind::Unavailable);
    }
}

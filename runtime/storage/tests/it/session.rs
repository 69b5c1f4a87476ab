//! Session memory of both stores against the suites.

use std::sync::Arc;
use std::time::Duration;

use roster_model::feed::{FeedRecord, FeedStore};
use roster_model::housekeeping::{CopyRange, Housekeeping};
use roster_model::recall::RecallStore;
use roster_model::storage::StoreErrorKind;
use roster_model::time::Timestamp;
use roster_model::working::{MemoryScope, WorkingMemoryStore};
use roster_storage::ram::RamStore;
use roster_storage::sqlite::{Options, SqliteStore, Trial, open};
use roster_storage::unavailable::UnavailableStore;
use roster_testkit::clock::TestClock;
use roster_testkit::faulty::{Fault, FaultySession, When};
use roster_testkit::suite::conversation::{begin, finish, key, question, refused, turn, whole_turn};
use roster_testkit::suite::session::{Session, Subject, all_vectors, entry, hits, id, owner};
use roster_testkit::suite::{feed, housekeeping, recall, working};
use tempfile::TempDir;

use crate::sqlite::{fresh, options};

mod ram {
    use super::{Arc, RamStore, Subject, TestClock};

    fn make() -> Subject {
        Subject { store: Arc::new(RamStore::new(Arc::new(TestClock::default()))), keep: Box::new(()) }
    }

    roster_testkit::session_suites!(make);
}

mod sqlite {
    use super::{Arc, Subject, fresh};

    fn make() -> Subject {
        let (folder, store) = fresh();
        Subject { store: Arc::new(store), keep: Box::new(folder) }
    }

    roster_testkit::session_suites!(make);
}

/// Long work in the smallest slices.
mod sliced {
    use super::{Arc, Subject, sliced};

    fn make() -> Subject {
        let (folder, store) = sliced();
        Subject { store: Arc::new(store), keep: Box::new(folder) }
    }

    roster_testkit::session_suites!(make);
}

/// A store that works in the smallest slices.
pub(crate) fn sliced() -> (TempDir, SqliteStore) {
    let folder = tempfile::tempdir().expect("temp folder");
    let trial = Trial { slice: Some(Duration::ZERO), ..Trial::default() };
    let store = open(folder.path().join("roster.db"), &Options { trial, ..options() }).expect("opens");
    (folder, store)
}

/// Every rule of the suites again behind the injector, which lets all calls through.
#[tokio::test]
async fn a_fault_that_never_strikes_changes_nothing() {
    let make = || {
        let inner = Arc::new(RamStore::new(Arc::new(TestClock::default())));
        let fault = Fault { nth: usize::MAX, when: When::Before, kind: StoreErrorKind::Internal };
        Subject { store: Arc::new(FaultySession::new(inner, fault)), keep: Box::new(()) }
    };
    housekeeping::run_all(make).await;
    working::run_all(make).await;
    recall::run_all(make).await;
    feed::run_all(make).await;
}

/// What a caller does that tries each failed call once more; gives what was acknowledged.
#[derive(Debug, Default)]
struct Acknowledged {
    answered: bool,
    memory: Option<String>,
    indexed: bool,
    copied: bool,
    deleted: bool,
    transferred: bool,
    erased: bool,
}

async fn scenario(store: &FaultySession) -> Acknowledged {
    let (target, mut done) = (key("shop", "copy").thread, Acknowledged::default());
    let key = key("shop", "t");
    if begin(store, &key, "one").await.is_ok() || begin(store, &key, "one").await.is_ok() {
        done.answered = finish(store, &key, "one").await.is_ok() || finish(store, &key, "one").await.is_ok();
    }
    let scope = MemoryScope::Resource(owner("shop"));
    for text in ["one", "two"] {
        let seen = store.working_memory(&scope).await.ok().flatten().map_or(0, |memory| memory.version);
        if store.set_working_memory(&scope, Some(text.to_owned()), seen).await.is_ok() {
            done.memory = Some(text.to_owned());
        }
    }
    let entries = || vec![entry("one-q", &[1.0], "word"), entry("one-a", &[2.0], "word")];
    done.indexed = store.index(&key, "s", entries()).await.is_ok() || store.index(&key, "s", entries()).await.is_ok();
    let record = FeedRecord { turn: turn("one"), step: 1, at: Timestamp::from_millis(5), record: "{}".to_owned() };
    let _put = store.put_feed(vec![(key.clone(), vec![record])], Timestamp::from_millis(0)).await;
    let copy = store.copy_thread(&key, &target, Default::default(), CopyRange::default()).await;
    done.copied = copy.is_ok();
    done.deleted = store.delete_messages(&key, vec![id("one-a")]).await.is_ok();
    done.transferred = store.transfer_thread(&key, &owner("bank")).await.is_ok();
    done.erased = store.erase(&owner("shop")).await.is_ok();
    done
}

/// What was acknowledged holds, and nothing is half there.
async fn check(store: &dyn Session, done: &Acknowledged, fault: Fault) {
    let (here, there, copy) = (key("shop", "t"), key("bank", "t"), key("shop", "copy"));
    if done.erased {
        for key in [&here, &copy] {
            assert_eq!(store.thread(key).await.expect("thread"), None, "{fault:?}");
        }
        assert_eq!(all_vectors(store, &owner("shop"), "s", 10).await, [], "{fault:?}");
        assert_eq!(hits(store, &owner("shop"), &["word"]).await, [], "{fault:?}");
        let memory = store.working_memory(&MemoryScope::Resource(owner("shop"))).await.expect("read");
        assert_eq!(memory, None, "{fault:?}");
    } else {
        let memory = store.working_memory(&MemoryScope::Resource(owner("shop"))).await.expect("read");
        assert!(done.memory.is_none() || memory.is_some() || fault.when == When::After, "{fault:?}");
    }
    let mut homes = 0;
    for key in [&here, &there] {
        let Some(thread) = store.thread(key).await.expect("thread") else { continue };
        homes += 1;
        let rows = store.tail(key, 10, None).await.expect("tail").len() as u64;
        assert_eq!(rows, thread.message_count, "{fault:?}");
        let vectors = all_vectors(store, &key.resource, "s", 10).await;
        let own = vectors.iter().filter(|row| row.thread == key.thread).count() as u64;
        assert!(own <= rows && (!done.indexed || own == rows), "{fault:?}: {own} vectors of {rows} messages");
        let found = hits(store, &key.resource, &["word"]).await;
        assert_eq!(found.iter().filter(|hit| hit.thread == key.thread).count() as u64, own, "{fault:?}");
        if done.deleted && done.answered {
            assert_eq!(rows, 1, "{fault:?}");
        }
    }
    assert!(homes <= 1, "{fault:?}: a thread with two owners");
    assert!(!done.transferred || store.thread(&there).await.expect("thread").is_some(), "{fault:?}");
    whole_turn(store, &there, "afterwards").await;
    store.append(&there, vec![question("rest")]).await.expect("appended");
}

async fn every_fault(make: impl Fn() -> Subject) {
    let mut struck = 0;
    for nth in 0.. {
        for when in [When::Before, When::After] {
            let subject = make();
            let fault = Fault { nth, when, kind: StoreErrorKind::Unavailable };
            let faulty = FaultySession::new(Arc::clone(&subject.store), fault);
            let done = scenario(&faulty).await;
            if faulty.calls() <= nth {
                assert!(struck >= 20, "only {struck} faults");
                return;
            }
            struck += 1;
            check(&*subject.store, &done, fault).await;
        }
    }
}

#[tokio::test]
async fn ram_keeps_what_it_acknowledged_under_faults() {
    every_fault(|| Subject { store: Arc::new(RamStore::new(Arc::new(TestClock::default()))), keep: Box::new(()) })
        .await;
}

#[tokio::test]
async fn sqlite_keeps_what_it_acknowledged_under_faults() {
    every_fault(|| {
        let (folder, store) = fresh();
        Subject { store: Arc::new(store), keep: Box::new(folder) }
    })
    .await;
}

#[tokio::test]
async fn a_store_that_could_not_be_opened_refuses_session_memory() {
    let (store, key, scope) =
        (UnavailableStore::new("damaged"), key("shop", "t"), MemoryScope::Resource(owner("shop")));
    let unavailable = StoreErrorKind::Unavailable;
    refused(store.working_memory(&scope).await, unavailable);
    refused(store.set_working_memory(&scope, None, 0).await, unavailable);
    refused(store.index(&key, "s", Vec::new()).await, unavailable);
    refused(store.vectors(&key.resource, None, "s", 0, 1).await, unavailable);
    refused(store.unindexed(&key.resource, "s", 1).await, unavailable);
    refused(store.feed(&key, None).await, unavailable);
    refused(store.copy_thread(&key, &key.thread, Default::default(), CopyRange::default()).await, unavailable);
    refused(store.erase(&key.resource).await, unavailable);
    assert_eq!(store.index_version(&key.resource), store.index_version(&key.resource));
}

//! Every call failed once, before and after its effect: nothing acknowledged is lost, no half turn is taken for one.

use std::collections::BTreeSet;
use std::sync::Arc;

use roster_model::message::Role;
use roster_model::storage::{ConversationStore, OperatorStore, StoreErrorKind};
use roster_storage::ram::RamStore;
use roster_storage::unavailable::UnavailableStore;
use roster_testkit::clock::TestClock;
use roster_testkit::faulty::{Fault, FaultyStore, When};
use roster_testkit::suite::conversation::{self, Store, Subject, begin, finish, key, message, refused, whole_turn};

use crate::sqlite::fresh;

/// Turns, a rename, an append; gives the ids that were acknowledged.
async fn scenario(store: &FaultyStore) -> Vec<String> {
    let key = key("shop", "t");
    let mut acknowledged = Vec::new();
    for name in ["one", "two", "three"] {
        if begin(store, &key, name).await.is_ok() {
            acknowledged.push(format!("{name}-q"));
            let _history = store.tail(&key, 10, None).await;
            if finish(store, &key, name).await.is_ok() {
                acknowledged.push(format!("{name}-a"));
            } else if finish(store, &key, name).await.is_ok() {
                // A caller that was told of a failure may send its last write again.
                acknowledged.push(format!("{name}-a"));
            }
        }
    }
    let _made = store.create_thread(&key, Default::default()).await;
    if store.append(&key, vec![message("rest", Role::User, "rest")]).await.is_ok() {
        acknowledged.push("rest".to_owned());
    }
    acknowledged
}

async fn every_fault(make: impl Fn() -> (Arc<dyn Store>, Box<dyn std::any::Any>)) {
    let mut struck = 0;
    for nth in 0.. {
        for when in [When::Before, When::After] {
            let (inner, _keep) = make();
            let fault = Fault { nth, when, kind: StoreErrorKind::Unavailable };
            let faulty = FaultyStore::new(Arc::clone(&inner), fault);
            let acknowledged = scenario(&faulty).await;
            if faulty.calls() <= nth {
                assert!(struck >= 20, "only {struck} faults");
                return;
            }
            struck += 1;
            let key = key("shop", "t");
            let rows = inner.tail(&key, 100, None).await.expect("tail");
            let ids: Vec<String> = rows.iter().map(|row| row.message.id.as_str().to_owned()).collect();
            for id in &acknowledged {
                assert!(ids.contains(id), "{fault:?}: {id} was acknowledged, {ids:?} is there");
            }
            let mut seen = BTreeSet::new();
            for row in &rows {
                let turn = row.turn.as_ref().map(ToString::to_string);
                assert!(seen.insert(row.message.id.clone()), "{fault:?}: twice in {ids:?}");
                if row.message.role == Role::Assistant {
                    let question = format!("{}-q", turn.expect("answers belong to turns"));
                    assert!(ids.contains(&question), "{fault:?}: an answer without its question in {ids:?}");
                }
            }
            let count = inner.thread(&key).await.expect("thread").map_or(0, |thread| thread.message_count);
            assert_eq!(count, rows.len() as u64, "{fault:?}");
            whole_turn(&*inner, &key, "afterwards").await;
        }
    }
}

#[tokio::test]
async fn ram_loses_nothing_under_faults() {
    every_fault(|| (Arc::new(RamStore::new(Arc::new(TestClock::default()))), Box::new(()))).await;
}

#[tokio::test]
async fn sqlite_loses_nothing_under_faults() {
    every_fault(|| {
        let (folder, store) = fresh();
        (Arc::new(store), Box::new(folder))
    })
    .await;
}

#[tokio::test]
async fn a_fault_that_never_strikes_changes_nothing() {
    let fault = Fault { nth: usize::MAX, when: When::Before, kind: StoreErrorKind::Internal };
    conversation::run_all(|| {
        let inner = Arc::new(RamStore::new(Arc::new(TestClock::default())));
        Subject { store: Arc::new(FaultyStore::new(inner, fault)), keep: Box::new(()) }
    })
    .await;
}

#[tokio::test]
async fn a_store_that_could_not_be_opened_refuses_everything_with_the_reason() {
    let (store, key) = (UnavailableStore::new("damaged"), key("shop", "t"));
    refused(begin(&store, &key, "one").await, StoreErrorKind::Unavailable);
    refused(finish(&store, &key, "one").await, StoreErrorKind::Unavailable);
    refused(store.tail(&key, 1, None).await, StoreErrorKind::Unavailable);
    refused(store.create_thread(&key, Default::default()).await, StoreErrorKind::Unavailable);
    refused(store.delete_thread(&key).await, StoreErrorKind::Unavailable);
    refused(store.owners(&key.thread, 1).await, StoreErrorKind::Unavailable);
    assert_eq!(store.health().expect_err("degraded").message, "damaged");
}

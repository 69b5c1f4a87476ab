//! A clock that is set back: no store dates a thread's change before an earlier one.

use std::sync::Arc;

use roster_model::id::{MessageId, ResourceId};
use roster_model::storage::ThreadChange;
use roster_model::time::Timestamp;
use roster_storage::ram::RamStore;
use roster_storage::sqlite::{Options, open};
use roster_testkit::clock::TestClock;
use roster_testkit::suite::conversation::{key, whole_turn};
use roster_testkit::suite::session::Session;
use serde_json::{Map, json};

async fn changes_keep_their_order(store: &dyn Session, clock: &TestClock) {
    let (here, there) = (key("shop", "t"), key("bank", "t"));
    clock.set(Timestamp::from_millis(2_000_000_000_000));
    whole_turn(store, &here, "one").await;
    let dated = async |key| store.thread(key).await.expect("read").expect("there").updated_at;
    let newest = dated(&here).await;
    clock.set(Timestamp::from_millis(1_000_000_000_000));

    store.merge_metadata(&here, Map::from_iter([("k".to_owned(), json!(1))])).await.expect("merged");
    assert_eq!(dated(&here).await, newest, "metadata");
    assert!(store.set_title_if_empty(&here, "tea".to_owned()).await.expect("set"));
    assert_eq!(dated(&here).await, newest, "title");
    let change = ThreadChange { title: Some("coffee".to_owned()), metadata: None };
    store.update_thread(&here, change).await.expect("changed");
    assert_eq!(dated(&here).await, newest, "fields");
    let gone = vec![MessageId::new("one-a").expect("legal")];
    assert_eq!(store.delete_messages(&here, gone).await.expect("deleted"), 1);
    assert_eq!(dated(&here).await, newest, "messages");
    store.transfer_thread(&here, &ResourceId::new("bank").expect("legal")).await.expect("moved");
    assert_eq!(dated(&there).await, newest, "owner");
}

#[tokio::test]
async fn ram_dates_no_change_before_an_earlier_one() {
    let clock = Arc::new(TestClock::default());
    let shared = Arc::clone(&clock);
    changes_keep_their_order(&RamStore::new(shared), &clock).await;
}

#[tokio::test]
async fn sqlite_dates_no_change_before_an_earlier_one() {
    let folder = tempfile::tempdir().expect("temp folder");
    let clock = Arc::new(TestClock::default());
    let shared = Arc::clone(&clock);
    let store = open(folder.path().join("roster.db"), &Options::new(shared)).expect("opens");
    changes_keep_their_order(&store, &clock).await;
}

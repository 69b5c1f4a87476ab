//! TO-c1: what is deleted is gone for an outside tool as well, also after a crash, and orphans are removed.

use std::path::Path;
use std::time::Duration;

use roster_model::storage::ConversationStore;
use roster_storage::sqlite::{Options, Trial, open};
use roster_testkit::suite::conversation::{Store, ids, key, question, whole_turn};
use rusqlite::Connection;

use crate::sqlite::{at, fresh, options};

/// What an outside tool counts in every table with rows of threads.
fn rows(database: &Path) -> [i64; 5] {
    let connection = Connection::open(database).expect("opens");
    ["threads", "messages", "participants", "leases", "owner_counts"].map(|table| {
        connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).expect("counted")
    })
}

/// Waits until the background work has left this many messages and threads.
async fn settles(database: &Path, threads: i64, messages: i64) {
    let mut last = [0; 5];
    for _ in 0..2000 {
        last = rows(database);
        if last[..2] == [threads, messages] {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("still {last:?}");
}

#[tokio::test]
async fn forty_threads_deleted_twenty_at_a_time_leave_no_row() {
    let (folder, store) = fresh();
    for thread in 1..=40 {
        let key = key("shop", &format!("t{thread}"));
        store.create_thread(&key, Default::default()).await.expect("made");
        store.append(&key, (0..5).map(|n| question(&format!("n{n}"))).collect()).await.expect("appended");
    }
    for half in [1..=20, 21..=40] {
        let keys: Vec<_> = half.map(|thread| key("shop", &format!("t{thread}"))).collect();
        let deleted = futures_util::future::join_all(keys.iter().map(|key| store.delete_thread(key))).await;
        assert!(deleted.into_iter().all(|deleted| deleted.expect("deleted")));
    }
    assert_eq!(rows(&folder.path().join("roster.db")), [0; 5]);
    store.create_thread(&key("shop", "t1"), Default::default()).await.expect("made again");
    assert!(ids(&store, &key("shop", "t1")).await.is_empty());
}

#[tokio::test]
async fn orphans_are_removed_after_opening() {
    let (folder, store) = fresh();
    let database = folder.path().join("roster.db");
    whole_turn(&store, &key("shop", "t"), "one").await;
    drop(store);
    let connection = Connection::open(&database).expect("opens");
    connection.pragma_update(None, "foreign_keys", false).expect("off");
    let orphans = "INSERT INTO messages (place, thread, seq, id, role, status, created_at, parts) \
                   SELECT 77 + value, 4000 + value % 7, 1, 'o' || value, 'user', 'complete', 0, '' \
                   FROM (WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT 500) SELECT * FROM n)";
    connection.execute(orphans, []).expect("inserted");
    connection.execute("INSERT INTO participants (thread, agent) VALUES (9999, 'ghost')", []).expect("inserted");
    connection.close().expect("closed");
    assert_eq!(rows(&database)[1], 502);
    let store = at(&folder);
    settles(&database, 1, 2).await;
    assert_eq!(rows(&database)[2], 1);
    assert_eq!(ids(&store, &key("shop", "t")).await, ["one-q", "one-a"]);
}

#[tokio::test]
async fn a_deletion_cut_short_is_finished_after_opening() {
    let (folder, store) = fresh();
    let database = folder.path().join("roster.db");
    whole_turn(&store, &key("shop", "gone"), "one").await;
    whole_turn(&store, &key("shop", "t"), "one").await;
    drop(store);
    // What a process leaves that dies after the first step.
    let connection = Connection::open(&database).expect("opens");
    connection.execute("UPDATE threads SET dead = 1 WHERE id = 'gone'", []).expect("marked");
    connection.close().expect("closed");
    let store = at(&folder);
    assert_eq!(store.thread(&key("shop", "gone")).await.expect("thread"), None);
    whole_turn(&store, &key("shop", "gone"), "anew").await;
    settles(&database, 2, 4).await;
    assert_eq!(ids(&store, &key("shop", "gone")).await, ["anew-q", "anew-a"]);
}

#[tokio::test]
async fn turns_go_on_while_a_big_thread_is_deleted() {
    let folder = tempfile::tempdir().expect("temp folder");
    // The shortest slices: two hundred of them, with room for turns after each.
    let trial = Trial { slice: Some(Duration::ZERO), ..Trial::default() };
    let store = open(folder.path().join("roster.db"), &Options { trial, ..options() }).expect("opens");
    let big = key("shop", "big");
    store.create_thread(&big, Default::default()).await.expect("made");
    for batch in 0..4 {
        let rows = (0..1600).map(|n| question(&format!("{batch}.{n}"))).collect();
        store.append(&big, rows).await.expect("appended");
    }
    let mut turns = 0;
    let mut deleting = store.delete_thread(&big);
    loop {
        let turn = async {
            whole_turn(&store, &key("shop", "t"), &format!("turn{turns}")).await;
        };
        tokio::select! {
            deleted = &mut deleting => {
                assert!(deleted.expect("deleted"));
                break;
            }
            () = turn => turns += 1,
        }
    }
    drop(deleting);
    assert!(turns >= 2, "turns went on between the slices");
    let left = rows(&folder.path().join("roster.db"));
    assert_eq!(left[0], 1, "{left:?}");
    assert!(ids(&store, &big).await.is_empty());
    let _object_safe: &dyn Store = &store;
}

//! Session memory in a real file: what an outside tool finds, what a crash leaves, and several stores at once.

use std::path::Path;
use std::time::Duration;

use roster_model::feed::{FeedRecord, FeedStore};
use roster_model::housekeeping::{CopyRange, Housekeeping};
use roster_model::id::ThreadKey;
use roster_model::message::{Message, MessageStatus};
use roster_model::recall::RecallStore;
use roster_model::storage::ConversationStore;
use roster_model::time::Timestamp;
use roster_model::working::{MemoryScope, WorkingMemoryStore};
use roster_storage::sqlite::{SqliteStore, check_integrity};
use roster_testkit::suite::conversation::{answer, begin, ids, key, question, save, turn, whole_turn};
use roster_testkit::suite::session::{all_vectors, entry, hits, id, long_thread, owner};
use rusqlite::Connection;

use crate::session::sliced;
use crate::sqlite::{at, fresh};

/// Every table of ours with its number of rows, for an outside tool; the index over words by what it finds.
fn rows(database: &Path) -> Vec<(String, i64)> {
    let connection = Connection::open(database).expect("opens");
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' \
                 AND name NOT LIKE 'words_%' ORDER BY name";
    let mut names = connection.prepare(names).expect("names");
    let names = names.query_map([], |row| row.get::<_, String>(0)).expect("names");
    let names = names.map(|name| name.expect("name")).chain(["words_moving".to_owned()]);
    names.map(|name| (name.clone(), count(&connection, &name))).collect()
}

fn count(connection: &Connection, table: &str) -> i64 {
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).expect("counted")
}

/// Waits until an outside tool counts so many rows.
async fn settles(database: &Path, table: &str, rows: i64) {
    let connection = Connection::open(database).expect("opens");
    for _ in 0..2000 {
        if count(&connection, table) == rows {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("still {} rows in {table}", count(&connection, table));
}

/// So many messages, each with two entries and words; a working memory and a feed record; a turn.
async fn fill(store: &SqliteStore, key: &ThreadKey, count: usize) {
    let rows = long_thread(store, key, count).await;
    for space in ["s", "r"] {
        let entries = rows.iter().map(|row| entry(row.message.id.as_str(), &[1.0], "ORCHID shared")).collect();
        store.index(key, space, entries).await.expect("indexed");
    }
    let scope = MemoryScope::Thread(key.clone());
    store.set_working_memory(&scope, Some("x".to_owned()), 0).await.expect("written");
    let record = FeedRecord { turn: turn("one"), step: 1, at: Timestamp::from_millis(5), record: "{}".to_owned() };
    store.put_feed(vec![(key.clone(), vec![record])], Timestamp::from_millis(0)).await.expect("written");
    whole_turn(store, key, "one").await;
}

fn sound(database: &Path) {
    let found = check_integrity(database, |_, _| {}).expect("looked at");
    assert_eq!(found.problems, Vec::<String>::new());
}

#[tokio::test]
async fn deleted_threads_leave_no_row_in_any_table() {
    for (folder, store) in [fresh(), sliced()] {
        let database = folder.path().join("roster.db");
        let before = rows(&database);
        for thread in 0..20 {
            fill(&store, &key("shop", &format!("t{thread}")), 40).await;
        }
        let keys: Vec<_> = (0..20).map(|thread| key("shop", &format!("t{thread}"))).collect();
        let deleted = futures_util::future::join_all(keys.iter().map(|key| store.delete_thread(key))).await;
        assert!(deleted.into_iter().all(|deleted| deleted.expect("deleted")));
        let kept = [("owners", 1), ("spaces", 2)];
        for ((table, before), (_, after)) in before.into_iter().zip(rows(&database)) {
            let kept = kept.iter().find(|(name, _)| *name == table).map_or(0, |(_, rows)| *rows);
            assert_eq!(after, before + kept, "{table}");
        }
        sound(&database);
    }
}

#[tokio::test]
async fn an_erased_owner_leaves_no_row_in_any_table() {
    for (folder, store) in [fresh(), sliced()] {
        let database = folder.path().join("roster.db");
        for thread in ["t", "u"] {
            fill(&store, &key("stays", thread), 5).await;
        }
        let before = rows(&database);
        for thread in 0..40 {
            fill(&store, &key("goes", &format!("t{thread}")), 8).await;
        }
        let memory = MemoryScope::Resource(owner("goes"));
        store.set_working_memory(&memory, Some("x".to_owned()), 0).await.expect("written");
        store.unindexed(&owner("goes"), "s", 1).await.expect("listed");
        let erased = store.erase(&owner("goes")).await.expect("erased");
        assert_eq!((erased.threads, erased.messages, erased.index_entries), (40, 400, 640));
        assert_eq!(erased.working_memories, 41);
        assert_eq!(rows(&database), before);
        assert_eq!(hits(&store, &owner("stays"), &["ORCHID"]).await.len(), 10);
        sound(&database);
    }
}

#[tokio::test]
async fn an_owner_is_erased_while_its_turns_go_on() {
    let (folder, store) = sliced();
    for thread in 0..20 {
        fill(&store, &key("goes", &format!("t{thread}")), 10).await;
    }
    let mut turns = 0;
    let resource = owner("goes");
    let mut erasing = store.erase(&resource);
    loop {
        let turn = async {
            whole_turn(&store, &key("stays", "t"), &format!("turn{turns}")).await;
            // Comes in between: gone as well, or there as a whole.
            let _ended = begin(&store, &key("goes", "new"), &format!("turn{turns}")).await;
            let last = save(&store, &key("goes", "new"), &format!("turn{turns}"), None, true).await;
            drop(last);
        };
        tokio::select! {
            erased = &mut erasing => {
                assert!(erased.expect("erased").threads >= 20);
                break;
            }
            () = turn => turns += 1,
        }
    }
    drop(erasing);
    assert!(turns >= 2, "turns went on between the slices");
    assert_eq!(store.erase(&owner("goes")).await.expect("erased").index_entries, 0);
    sound(&folder.path().join("roster.db"));
}

#[tokio::test]
async fn orphans_of_the_index_are_removed_after_opening() {
    let (folder, store) = fresh();
    let database = folder.path().join("roster.db");
    fill(&store, &key("shop", "t"), 3).await;
    drop(store);
    let before = rows(&database);
    let connection = Connection::open(&database).expect("opens");
    connection.pragma_update(None, "foreign_keys", false).expect("off");
    let orphans = "INSERT INTO shelves (number, thread, space, owner) VALUES (900, 4000, 1, 1); \
                   INSERT INTO vectors VALUES ((900 << 32) + 1, 'user', 0, x'00000000'); \
                   INSERT INTO runs VALUES (900, 1, 1); \
                   INSERT INTO terms VALUES ((4001 << 32) + 1, 'lost'); \
                   INSERT INTO words (rowid, terms) VALUES ((4001 << 32) + 1, '1o 1olost'); \
                   INSERT INTO feed VALUES (900, 4002, 'x', 1, 0, '{}'); \
                   INSERT INTO working_threads VALUES (4003, 'lost', 1, 0);";
    connection.execute_batch(orphans).expect("inserted");
    connection.close().expect("closed");
    let store = at(&folder);
    for (table, rows) in before {
        settles(&database, &table, rows).await;
    }
    assert_eq!(all_vectors(&store, &owner("shop"), "s", 10).await.len(), 3);
    sound(&database);
}

/// Lets work in the smallest slices go on until `table` has more than so many rows, then leaves it.
async fn cut_short<T: std::fmt::Debug>(work: impl Future<Output = T>, database: &Path, table: &str, more_than: i64) {
    let connection = Connection::open(database).expect("opens");
    let begun = async {
        while count(&connection, table) <= more_than {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = begun => {}
        done = work => panic!("done before it was cut short: {done:?}"),
    }
}

#[tokio::test]
async fn a_transfer_cut_short_is_finished_after_opening() {
    let (folder, store) = sliced();
    let database = folder.path().join("roster.db");
    fill(&store, &key("a", "t"), 400).await;
    fill(&store, &key("a", "stays"), 2).await;
    let (here, to) = (key("a", "t"), owner("b"));
    cut_short(store.transfer_thread(&here, &to), &database, "words_moving", 0).await;
    store.close().await;
    drop(store);
    let store = at(&folder);
    assert_eq!(ids(&store, &key("b", "t")).await.len(), 402, "moved at once");
    assert_eq!(all_vectors(&store, &owner("b"), "s", 1000).await.len(), 400);
    settles(&database, "words_moving", 0).await;
    assert_eq!(store.find_words(&owner("b"), None, &["ORCHID".to_owned()], 1000).await.expect("found").len(), 400);
    assert_eq!(hits(&store, &owner("a"), &["ORCHID"]).await.len(), 2);
    sound(&database);
}

#[tokio::test]
async fn words_under_way_to_another_owner_are_found_by_neither_wrongly() {
    let (folder, store) = fresh();
    let database = folder.path().join("roster.db");
    fill(&store, &key("a", "t"), 3).await;
    drop(store);
    // What the first transaction of a transfer leaves.
    let connection = Connection::open(&database).expect("opens");
    let moved = "INSERT INTO owners (resource) VALUES ('b'); UPDATE threads SET resource = 'b'; \
                 UPDATE participants SET resource = 'b'; \
                 UPDATE shelves SET owner = (SELECT number FROM owners WHERE resource = 'b');";
    connection.execute_batch(moved).expect("moved");
    connection.close().expect("closed");
    let store = at(&folder);
    for resource in ["a", "b"] {
        assert_eq!(hits(&store, &owner(resource), &["ORCHID"]).await, []);
    }
    assert_eq!(all_vectors(&store, &owner("b"), "s", 10).await.len(), 3);
    assert_eq!(all_vectors(&store, &owner("a"), "s", 10).await, []);
}

#[tokio::test]
async fn a_copy_cut_short_is_removed_after_opening() {
    let (folder, store) = sliced();
    let database = folder.path().join("roster.db");
    fill(&store, &key("shop", "t"), 400).await;
    let before = rows(&database);
    let source = key("shop", "t");
    let target = key("shop", "copy");
    let other = at(&folder);
    let copy = store.copy_thread(&source, &target.thread, Default::default(), CopyRange::default());
    cut_short(copy, &database, "threads", 1).await;
    store.close().await;
    assert_eq!(other.thread(&target).await.expect("thread"), None, "invisible until it is whole");
    drop((store, other));
    let store = at(&folder);
    for (table, rows) in before.into_iter().filter(|(table, _)| table != "counters") {
        settles(&database, &table, rows).await;
    }
    let copied = store.copy_thread(&source, &target.thread, Default::default(), CopyRange::default()).await;
    assert_eq!(copied.expect("copied").messages.len(), 402);
    sound(&database);
}

#[tokio::test]
async fn a_copy_being_made_survives_another_store_opening() {
    let (folder, store) = sliced();
    let source = key("shop", "t");
    fill(&store, &source, 300).await;
    let target = key("shop", "copy");
    let open = async {
        for round in 0..5 {
            let other = at(&folder);
            whole_turn(&other, &key("shop", "other"), &format!("turn{round}")).await;
            other.close().await;
        }
    };
    let copy = store.copy_thread(&source, &target.thread, Default::default(), CopyRange::default());
    let (copied, ()) = tokio::join!(copy, open);
    assert_eq!(copied.expect("copied").messages.len(), 302);
    assert_eq!(all_vectors(&store, &owner("shop"), "s", 1000).await.len(), 600);
    sound(&folder.path().join("roster.db"));
}

#[tokio::test]
async fn a_copy_ends_when_its_source_or_its_owner_goes() {
    let (folder, store) = sliced();
    let (source, target) = (key("shop", "t"), key("shop", "copy"));
    fill(&store, &source, 300).await;
    let copy = store.copy_thread(&source, &target.thread, Default::default(), CopyRange::default());
    let (copied, erased) = tokio::join!(copy, store.erase(&source.resource));
    erased.expect("erased");
    if let Err(error) = copied {
        assert_eq!(error.kind, roster_model::storage::StoreErrorKind::NotFound, "{error}");
    }
    store.erase(&source.resource).await.expect("erased");
    let left: Vec<_> = rows(&folder.path().join("roster.db")).into_iter().filter(|(_, rows)| *rows > 0).collect();
    let left: Vec<&str> = left.iter().map(|(table, _)| table.as_str()).collect();
    assert_eq!(left, ["counters", "schema_versions", "spaces"]);
}

#[tokio::test]
async fn the_index_version_moves_when_another_store_writes() {
    let (folder, one) = fresh();
    let two = at(&folder);
    let key = key("shop", "t");
    long_thread(&one, &key, 2).await;
    let before = two.index_version(&key.resource);
    whole_turn(&one, &key, "one").await;
    assert_eq!(two.index_version(&key.resource), before, "a turn elsewhere changes no index");
    one.index(&key, "s", vec![entry("t.0", &[1.0], "w")]).await.expect("indexed");
    let indexed = two.index_version(&key.resource);
    assert_ne!(indexed, before);
    assert_eq!(indexed, one.index_version(&key.resource), "one count for both");
    let (bank, key_of_bank) = (owner("bank"), self::key("bank", "t"));
    long_thread(&one, &key_of_bank, 1).await;
    one.index(&key_of_bank, "s", vec![entry("t.0", &[1.0], "w")]).await.expect("indexed");
    let others = two.index_version(&bank);
    one.delete_thread(&key).await.expect("deleted");
    assert_eq!(two.index_version(&bank), others, "what happens to one owner is nothing to another");
    assert_ne!(two.index_version(&key.resource), indexed);
    one.close().await;
    let closed = one.index_version(&key.resource);
    assert_ne!(closed, one.index_version(&key.resource), "whoever cannot know drops its cache");
}

async fn pending(store: &SqliteStore) -> Vec<String> {
    let found = store.unindexed(&owner("shop"), "s", 5).await.expect("listed");
    found.iter().map(|row| row.message.message.id.as_str().to_owned()).collect()
}

#[tokio::test]
async fn finished_threads_are_not_looked_at_again_and_nothing_is_missed() {
    let (folder, store) = fresh();
    let thread = |n: usize| key("shop", &format!("t{n}"));
    for n in 0..200 {
        let key = thread(n);
        let rows = long_thread(&store, &key, 2).await;
        let entries = rows.iter().map(|row| entry(row.message.id.as_str(), &[1.0], "w")).collect();
        store.index(&key, "s", entries).await.expect("indexed");
    }
    assert_eq!(pending(&store).await, [""; 0]);
    let connection = Connection::open(folder.path().join("roster.db")).expect("opens");
    let outside = "SELECT count(*) FROM threads WHERE active < (SELECT lower FROM settled) \
                   OR active > (SELECT upper FROM settled)";
    let outside = |what: &str| {
        let count: i64 = connection.query_row(outside, [], |row| row.get(0)).expect("counted");
        assert!(count < 64, "{what}: {count} threads outside the settled range");
    };
    outside("all done");
    store.append(&thread(3), vec![question("late")]).await.expect("appended");
    assert_eq!(pending(&store).await, ["late"]);
    store.index(&thread(3), "s", vec![entry("late", &[1.0], "w")]).await.expect("indexed");
    begin(&store, &thread(4), "one").await.expect("begins");
    let running = Message { status: MessageStatus::Running, ..answer("one-a") };
    save(&store, &thread(4), "one", Some(running), false).await.expect("saved");
    store.index(&thread(4), "s", vec![entry("one-q", &[1.0], "w")]).await.expect("indexed");
    assert_eq!(pending(&store).await, [""; 0]);
    save(&store, &thread(4), "one", Some(answer("one-a")), true).await.expect("saved");
    assert_eq!(pending(&store).await, ["one-a"]);
    store.index(&thread(4), "s", vec![entry("one-a", &[1.0], "w")]).await.expect("indexed");
    outside("after turns");
    long_thread(&store, &key("bank", "comes"), 1).await;
    store.transfer_thread(&key("bank", "comes"), &owner("shop")).await.expect("transferred");
    assert_eq!(pending(&store).await, ["comes.0"]);
    store.index(&key("shop", "comes"), "s", vec![entry("comes.0", &[1.0], "w")]).await.expect("indexed");
    store.delete_messages(&thread(9), vec![id("t9.1")]).await.expect("deleted");
    assert_eq!(pending(&store).await, [""; 0]);
    outside("walked anew after an arrival");
}

#[tokio::test]
async fn a_backlog_is_worked_off_with_every_message_given_once() {
    let (_folder, store) = fresh();
    for n in 0..150 {
        long_thread(&store, &key("shop", &format!("t{n}")), 3).await;
    }
    let mut seen = std::collections::BTreeSet::new();
    loop {
        let found = store.unindexed(&owner("shop"), "s", 64).await.expect("listed");
        if found.is_empty() {
            break;
        }
        for row in found {
            let name = row.message.message.id;
            store.index(&row.key, "s", vec![entry(name.as_str(), &[1.0], "w")]).await.expect("indexed");
            assert!(seen.insert(name), "given twice");
        }
        // A turn in the middle, whose entries are written at once.
        let (key, name) = (key("shop", "t77"), format!("turn{}", seen.len()));
        whole_turn(&store, &key, &name).await;
        let entries = ["q", "a"].map(|end| entry(&format!("{name}-{end}"), &[1.0], "w"));
        store.index(&key, "s", entries.to_vec()).await.expect("indexed");
    }
    assert_eq!(seen.len(), 450);
}

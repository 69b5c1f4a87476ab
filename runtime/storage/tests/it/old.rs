//! Files of every released version open, and keep a copy of themselves before they change.

use std::path::{Path, PathBuf};

use roster_model::feed::FeedStore;
use roster_model::ledger::LedgerStore;
use roster_model::recall::RecallStore;
use roster_model::storage::{ConversationStore, ThreadOrder, ThreadQuery};
use roster_model::suspension::SuspensionStore;
use roster_model::working::{MemoryScope, WorkingMemoryStore};
use roster_storage::sqlite::{Options, Trial, check_integrity, open};
use roster_testkit::suite::conversation::{ids, key, question, turn, whole_turn};
use roster_testkit::suite::ledger::{agent, generations, publish, serve, version};
use roster_testkit::suite::session::{all_vectors, entry, hit_places, hits, owner, places};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::child::EXTRA;
use crate::sqlite::{at, options};

/// A copy of the file the first version made: 3 threads, 20 messages.
pub(crate) fn old_file() -> (TempDir, PathBuf) {
    kept("v1.db")
}

fn kept(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("roster.db");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old").join(name);
    std::fs::copy(kept, &path).expect("copied");
    (folder, path)
}

/// The threads an agent took part in, in every order, newest first.
async fn lists_of(store: &dyn ConversationStore, name: &str) -> [String; 3] {
    let mut lists =
        [ThreadOrder::Created, ThreadOrder::Activity, ThreadOrder::Updated].map(|order| (order, String::new()));
    for (order, list) in &mut lists {
        let query = ThreadQuery { order: *order, limit: 10, agent: Some(agent(name)), ..ThreadQuery::default() };
        let page = store.threads(&key("shop", "t0").resource, query).await.expect("page");
        let ids: Vec<&str> = page.rows.iter().map(|thread| thread.key.thread.as_str()).collect();
        *list = ids.join(" ");
    }
    lists.map(|(_, list)| list)
}

/// Every table and index, as SQLite keeps it.
fn schema(database: &Path) -> Vec<(String, Option<String>)> {
    let connection = Connection::open(database).expect("opens");
    let mut rows = connection.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").expect("schema");
    rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows").map(|row| row.expect("row")).collect()
}

async fn has_its_rows(store: &dyn roster_testkit::suite::conversation::Store) {
    let mut all = 0;
    for (thread, rows) in [("t0", 8), ("t1", 8), ("t2", 4)] {
        let key = key("shop", thread);
        assert_eq!(ids(store, &key).await.len(), rows);
        assert_eq!(store.thread(&key).await.expect("thread").expect("there").message_count, rows as u64);
        all += rows;
    }
    assert_eq!(all, 20);
}

#[tokio::test]
async fn version_1_opens_and_goes_on() {
    let (folder, _) = old_file();
    let store = at(&folder);
    has_its_rows(&store).await;
    assert_eq!(lists_of(&store, "clerk").await, ["t2 t1 t0"; 3], "made before there were lists of agents");
    whole_turn(&store, &key("shop", "t0"), "new").await;
    assert_eq!(ids(&store, &key("shop", "t0")).await.len(), 10);
    assert_eq!(lists_of(&store, "clerk").await, ["t2 t1 t0", "t0 t2 t1", "t0 t2 t1"]);
    serve(&store, "clerk", &["a"]).await;
    assert_eq!(store.last_served(&agent("clerk")).await.expect("asked"), Some(version("clerk", "a")));
}

#[tokio::test]
async fn version_2_opens_and_goes_on() {
    let (folder, _) = kept("v2.db");
    let store = at(&folder);
    has_its_rows(&store).await;
    assert_eq!(lists_of(&store, "clerk").await, ["t2 t1 t0"; 3]);
    assert_eq!(lists_of(&store, "cook").await, ["t2"; 3]);
    assert_eq!(store.last_served(&agent("clerk")).await.expect("asked"), Some(version("clerk", "bbbbbbbb")));
    assert_eq!(store.pins().await.expect("pins"), [version("clerk", "aaaaaaaa")]);
    store.write(publish(3, "clerk", "changed", "c")).await.expect("written");
    assert_eq!(generations(&store, "clerk").await, [3, 2, 1]);
}

#[tokio::test]
async fn version_3_opens_and_goes_on() {
    let (folder, path) = kept("v3.db");
    let found = check_integrity(&path, |_, _| {}).expect("looked at");
    assert_eq!(found.problems, Vec::<String>::new(), "closed and with words in it");
    let store = at(&folder);
    has_its_rows(&store).await;
    let (shop, t0, t2) = (owner("shop"), key("shop", "t0"), key("shop", "t2"));
    let vectors = all_vectors(&store, &shop, "hash-2", 10).await;
    assert_eq!((places(&vectors), &vectors[0].vector), (vec![("t0".to_owned(), 1)], &vec![0.5, -1.0]));
    assert_eq!(hit_places(&hits(&store, &shop, &["北京"]).await), [("t0".to_owned(), 1)]);
    assert_eq!(hit_places(&hits(&store, &shop, &["c++"]).await), [("t0".to_owned(), 2)]);
    assert_eq!(store.unindexed(&shop, "hash-2", 100).await.expect("listed").len(), 18);
    for (scope, text) in [(MemoryScope::Thread(key("shop", "t1")), "of t1"), (MemoryScope::Resource(shop), "likes tea")]
    {
        let memory = store.working_memory(&scope).await.expect("read").expect("there");
        assert_eq!((memory.text.as_str(), memory.version), (text, 1));
    }
    assert_eq!(store.feed(&t0, None).await.expect("feed")[0].turn, turn("t0.1"));
    let rows = store.append(&t2, vec![question("next")]).await.expect("appended");
    assert_eq!(rows[0].seq.0, 7, "the seqs of deleted messages are not given again");
    assert_eq!(store.last_served(&agent("clerk")).await.expect("asked"), Some(version("clerk", "bbbbbbbb")));
}

#[tokio::test]
async fn version_4_opens_and_goes_on() {
    let (folder, _) = kept("v4.db");
    let store = at(&folder);
    has_its_rows(&store).await;
    let shop = owner("shop");
    let waiting = store.suspended_turn(&shop, &turn("t1.3")).await.expect("asked").expect("there");
    assert_eq!((waiting.key, waiting.row.seq.0), (key("shop", "t1"), 8));
    let before = store.index_version(&shop);
    store.index(&key("shop", "t0"), "hash-2", vec![entry("t0.1-q", &[1.0, 0.0], "w")]).await.expect("indexed");
    assert_eq!(store.index_version(&shop), before + 1, "what was indexed before is an index of its owner");
    assert_eq!(all_vectors(&store, &shop, "hash-2", 10).await.len(), 2);
}

#[test]
fn every_old_file_becomes_what_a_new_one_is() {
    let folder = tempfile::tempdir().expect("temp folder");
    drop(at(&folder));
    let new = schema(&folder.path().join("roster.db"));
    assert!(new.len() > 20, "{new:?}");
    for name in ["v1.db", "v2.db", "v3.db", "v4.db"] {
        let (folder, path) = kept(name);
        drop(at(&folder));
        assert_eq!(schema(&path), new, "{name}");
    }
}

#[tokio::test]
async fn a_migration_keeps_a_copy_and_the_rows() {
    let (folder, path) = old_file();
    let bak = folder.path().join("roster.db.v1.bak");
    std::fs::write(&bak, "somebody's own").expect("written");
    let trial = Trial { extra_migration: Some(EXTRA), ..Trial::default() };
    let store = open(&path, &Options { trial, ..options() }).expect("migrates");
    has_its_rows(&store).await;
    drop(store);
    assert_eq!(std::fs::read(&bak).expect("kept"), b"somebody's own", "never overwritten");
    let copy = open(folder.path().join("roster.db.v1.bak.2"), &options()).expect("the copy is of version 1");
    has_its_rows(&copy).await;
    let connection = Connection::open(&path).expect("opens");
    let moved: i64 = connection.query_row("SELECT count(*) FROM extra", [], |row| row.get(0)).expect("migrated");
    assert_eq!(moved, 3);
    assert!(open(&path, &options()).is_err(), "the released version refuses the newer file");
}

#[test]
fn a_migration_that_fails_changes_nothing() {
    let (_folder, path) = old_file();
    let trial = Trial { extra_migration: Some("CREATE TABLE half (x); SELECT nonsense;"), ..Trial::default() };
    assert!(open(&path, &Options { trial, ..options() }).is_err());
    let connection = Connection::open(&path).expect("opens");
    let half: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'half'", [], |row| row.get(0))
        .expect("count");
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).expect("version");
    assert_eq!((half, version), (0, 1));
}

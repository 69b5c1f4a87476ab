//! Files of every released version open, and keep a copy of themselves before they change.

use std::path::{Path, PathBuf};

use roster_storage::sqlite::{Options, Trial, open};
use roster_testkit::suite::conversation::{ids, key, whole_turn};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::child::EXTRA;
use crate::sqlite::{at, options};

/// A copy of the file the first version made: 3 threads, 20 messages.
pub(crate) fn old_file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("roster.db");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old/v1.db");
    std::fs::copy(kept, &path).expect("copied");
    (folder, path)
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
    whole_turn(&store, &key("shop", "t0"), "new").await;
    assert_eq!(ids(&store, &key("shop", "t0")).await.len(), 10);
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

//! TO-c3 at the store: files that cannot be opened, and damage found later.

use std::path::{Path, PathBuf};

use roster_model::storage::{ConversationStore, OperatorStore, StoreErrorKind};
use roster_storage::sqlite::{OpenErrorKind, check_integrity, open};
use roster_testkit::suite::conversation::{begin, ids, key, refused, whole_turn};
use rusqlite::Connection;

use crate::child::Process;
use crate::sqlite::{NEWEST, at, fresh, options};

fn companions(database: &Path) -> Vec<PathBuf> {
    let folder = database.parent().expect("folder");
    let mut rest: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("readable").map(|entry| entry.expect("entry").path()).collect();
    rest.retain(|path| path != database);
    rest
}

/// Refused with this kind, and neither the file nor its surroundings changed.
fn refuses(database: &Path, kind: OpenErrorKind) -> String {
    let before = std::fs::read(database).expect("file");
    let error = open(database, &options()).err().expect("refused");
    assert_eq!(error.kind(), kind, "{error}");
    assert_eq!(std::fs::read(database).expect("file"), before, "byte-equal");
    assert_eq!(companions(database), Vec::<PathBuf>::new());
    error.to_string()
}

/// A closed store with some turns in it.
async fn filled() -> (tempfile::TempDir, PathBuf) {
    let (folder, store) = fresh();
    for thread in 0..30 {
        for turn in 0..4 {
            whole_turn(&store, &key("shop", &format!("t{thread}")), &format!("turn{turn}")).await;
        }
    }
    store.close().await;
    drop(store);
    let path = folder.path().join("roster.db");
    (folder, path)
}

#[tokio::test]
async fn missing_folders_are_made() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("new/a/b/chat.db");
    let store = open(&path, &options()).expect("opens");
    whole_turn(&store, &key("shop", "t"), "one").await;
    store.close().await;
    refused(store.thread(&key("shop", "t")).await, StoreErrorKind::Unavailable);
    refused(begin(&store, &key("shop", "t"), "two").await, StoreErrorKind::Unavailable);
    assert_eq!(store.health().expect_err("closed").kind, StoreErrorKind::Unavailable);
    assert_eq!(companions(&path), Vec::<PathBuf>::new(), "a clean close leaves the file alone");
    let store = open(&path, &options()).expect("opens again");
    assert_eq!(ids(&store, &key("shop", "t")).await, ["one-q", "one-a"]);
}

#[test]
fn a_folder_in_the_place_of_the_file_is_named() {
    let folder = tempfile::tempdir().expect("temp folder");
    let error = open(folder.path(), &options()).err().expect("refused");
    assert_eq!(error.kind(), OpenErrorKind::NoFile);
    assert!(error.to_string().contains("is a folder"), "{error}");
}

#[tokio::test]
async fn a_newer_file_is_refused_with_both_versions_and_stays_byte_equal() {
    let (_folder, path) = filled().await;
    let connection = Connection::open(&path).expect("opens");
    connection.pragma_update(None, "user_version", 9999).expect("set");
    connection.close().expect("closed");
    let text = refuses(&path, OpenErrorKind::Newer);
    assert!(text.contains("9999") && text.contains(&format!("up to {NEWEST}")), "{text}");
}

#[tokio::test]
async fn a_newer_file_with_a_log_is_refused_too() {
    let (folder, path) = filled().await;
    let connection = Connection::open(&path).expect("opens");
    connection.pragma_update(None, "user_version", 9999).expect("set");
    // A copy of file and log, as a killed process leaves them.
    let copy = folder.path().join("copy.db");
    std::fs::copy(&path, &copy).expect("copied");
    std::fs::copy(folder.path().join("roster.db-wal"), folder.path().join("copy.db-wal")).expect("copied");
    let before = std::fs::read(&copy).expect("file");
    let error = open(&copy, &options()).err().expect("refused");
    assert_eq!(error.kind(), OpenErrorKind::Newer);
    assert_eq!(std::fs::read(&copy).expect("file"), before, "byte-equal");
}

#[test]
fn what_is_no_database_is_damaged_and_stays() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("roster.db");
    std::fs::write(&path, "all my notes, none of them in SQL\n".repeat(400)).expect("written");
    refuses(&path, OpenErrorKind::Damaged);
}

#[test]
fn another_programs_database_is_foreign() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("roster.db");
    let connection = Connection::open(&path).expect("opens");
    connection.execute_batch("CREATE TABLE bookmarks (url TEXT); PRAGMA user_version = 3;").expect("made");
    connection.close().expect("closed");
    refuses(&path, OpenErrorKind::Foreign);
    let connection = Connection::open(&path).expect("opens");
    connection.execute_batch("PRAGMA user_version = 0;").expect("set");
    connection.close().expect("closed");
    refuses(&path, OpenErrorKind::Foreign);
}

#[test]
fn another_programs_table_that_is_only_in_its_log_is_seen_too() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("roster.db");
    let connection = Connection::open(&path).expect("opens");
    connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE bookmarks (url TEXT);").expect("made");
    let before = std::fs::read(&path).expect("file");
    assert_eq!(open(&path, &options()).err().expect("refused").kind(), OpenErrorKind::Foreign);
    assert_eq!(std::fs::read(&path).expect("file"), before, "byte-equal");
    let tables: u32 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).expect("still usable");
    assert_eq!(tables, 1);
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let folder = tempfile::tempdir().expect("temp folder");
    std::fs::write(folder.path().join("roster.db"), b"").expect("written");
    whole_turn(&at(&folder), &key("shop", "t"), "one").await;
}

#[tokio::test]
async fn a_damaged_file_is_refused_and_stays_byte_equal() {
    let (_folder, path) = filled().await;
    let mut bytes = std::fs::read(&path).expect("file");
    bytes[4096..8192].fill(0);
    std::fs::write(&path, &bytes).expect("written");
    let error = open(&path, &options()).err().expect("refused");
    assert!(error.kind() == OpenErrorKind::Damaged && error.kind().serves_degraded(), "{error}");
    assert!(error.to_string().contains("roster restore"), "{error}");
    assert_eq!(std::fs::read(&path).expect("file"), bytes, "byte-equal");
    let found = check_integrity(&path, |_, _| {}).expect("looked at");
    assert!(!found.problems.is_empty());
}

#[tokio::test]
async fn damage_found_later_makes_the_store_unavailable_and_nothing_is_written() {
    let (folder, path) = filled().await;
    // Leaves in the middle and at the end of the messages; opening looks only at the first row of each table.
    let leaves: Vec<u32> = {
        let connection = Connection::open(&path).expect("opens");
        let sql = "SELECT pageno FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf' ORDER BY path";
        let mut leaves = connection.prepare(sql).expect("dbstat");
        leaves.query_map([], |row| row.get(0)).expect("rows").map(|leaf| leaf.expect("leaf")).collect()
    };
    assert!(leaves.len() > 4, "{leaves:?}");
    let mut bytes = std::fs::read(&path).expect("file");
    for leaf in &leaves[leaves.len() / 2..] {
        let at = (*leaf as usize - 1) * 4096;
        bytes[at..at + 4096].fill(0);
    }
    std::fs::write(&path, &bytes).expect("written");
    let store = open(&path, &options()).expect("the damage is not seen yet");
    store.health().expect("not seen yet");
    assert_eq!(ids(&store, &key("shop", "t0")).await.len(), 8);
    let mut seen = None;
    for thread in 0..30 {
        let rows = store.tail(&key("shop", &format!("t{thread}")), 100, None).await;
        seen = seen.or(rows.err());
    }
    assert_eq!(seen.expect("damage is seen").kind, StoreErrorKind::Unavailable);
    assert_eq!(store.health().expect_err("degraded").kind, StoreErrorKind::Unavailable);
    refused(begin(&store, &key("shop", "new"), "one").await, StoreErrorKind::Unavailable);
    store.close().await;
    drop(store);
    assert_eq!(std::fs::read(&path).expect("file"), bytes, "byte-equal");
    drop(folder);
}

/// As an ordinary user, in a folder that user may not write, with a file left in WAL mode.
#[cfg(unix)]
#[tokio::test]
async fn a_read_only_folder_is_named_with_mode_and_owner() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let (folder, path) = filled().await;
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o555)).expect("mode");
    let owner = std::fs::metadata(folder.path()).expect("metadata").uid();
    let mut child = Process::start_unprivileged("refused", &path);
    let text = child.line().expect("reported");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("mode");
    let folder = folder.path().canonicalize().expect("resolved");
    for part in ["roster.db`", &format!("`{}`", folder.display()), "mode 555", &format!("user {owner}"), "hint: give"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[tokio::test]
async fn odd_characters_in_the_path_are_no_trouble() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("a b?c#d%41 漢").join("r?mode=ro.db");
    for turn in ["one", "two"] {
        let store = open(&path, &options()).expect("opens");
        whole_turn(&store, &key("shop", "t"), turn).await;
        store.close().await;
    }
    assert!(path.is_file());
}

#[tokio::test]
async fn dropping_without_closing_loses_nothing() {
    let (folder, store) = fresh();
    whole_turn(&store, &key("shop", "t"), "one").await;
    drop(store);
    let store = at(&folder);
    assert_eq!(ids(&store, &key("shop", "t")).await, ["one-q", "one-a"]);
}

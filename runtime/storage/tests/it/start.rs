//! TO-c2: many starts at one instant, kills at any moment; and the promise that what was acknowledged is there.

use std::path::Path;

use roster_model::storage::ConversationStore;
use roster_storage::sqlite::check_integrity;
use roster_testkit::suite::conversation::{ids, key};
use rusqlite::Connection;

use crate::child::Process;
use crate::old::old_file;
use crate::sqlite::{NEWEST, at};

/// Six children that start at the same instant; all must serve.
fn six_at_once(task: &str, database: &Path) {
    let mut children: Vec<Process> = (0..6).map(|_| Process::start(task, database)).collect();
    for child in &mut children {
        assert_eq!(child.line().as_deref(), Some("ready"));
    }
    for child in &mut children {
        child.go();
    }
    for child in &mut children {
        assert_eq!(child.line().as_deref(), Some("served"));
    }
}

fn threads(database: &Path) -> u64 {
    let found = check_integrity(database, |_, _| {}).expect("looked at");
    assert_eq!(found.problems, Vec::<String>::new());
    found.counts.expect("counted").threads
}

#[test]
fn six_starts_at_once_on_an_empty_folder_all_serve() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().expect("temp folder");
        let database = folder.path().join("new").join("roster.db");
        six_at_once("start", &database);
        assert_eq!(threads(&database), 6);
    }
}

#[test]
fn six_starts_at_once_on_an_old_file_all_serve() {
    for _ in 0..20 {
        let (folder, database) = old_file();
        six_at_once("migrate", &database);
        assert_eq!(threads(&database), 3 + 6);
        let copies = std::fs::read_dir(folder.path()).expect("folder");
        let copies = copies.filter(|entry| entry.as_ref().expect("entry").path().to_string_lossy().contains(".bak"));
        assert_eq!(copies.count(), 1, "one process migrated, and kept a copy");
    }
}

#[test]
fn a_start_killed_at_any_moment_is_finished_by_the_next() {
    for round in 0..50_u64 {
        let (_folder, database) = old_file();
        let mut child = Process::start("migrate", &database);
        assert_eq!(child.line().as_deref(), Some("ready"));
        child.go();
        // Spread over the time a start takes, without a clock: so many polls of the file that shows its progress.
        for _ in 0..round * 400 {
            std::hint::black_box(database.exists());
        }
        child.kill();
        let mut next = Process::start("migrate", &database);
        assert_eq!(next.line().as_deref(), Some("ready"));
        next.go();
        assert_eq!(next.line().as_deref(), Some("served"));
        drop(next);
        assert!(threads(&database) > 3);
        let connection = Connection::open(&database).expect("opens");
        let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).expect("version");
        let recorded: u32 =
            connection.query_row("SELECT count(*) FROM schema_versions", [], |row| row.get(0)).expect("records");
        assert_eq!((version, recorded), (NEWEST + 1, NEWEST + 1), "the change and its record go together");
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_sigkill() {
    for round in 0..10 {
        let folder = tempfile::tempdir().expect("temp folder");
        let mut child = Process::start("turns", &folder.path().join("roster.db"));
        let mut acknowledged = 0;
        while acknowledged < 3 + round * 5 {
            acknowledged = child.line().expect("reported").parse().expect("number");
        }
        child.kill();
        while let Some(line) = child.line() {
            acknowledged = line.parse().expect("number");
        }
        let store = at(&folder);
        let key = key("shop", "t");
        let rows = ids(&store, &key).await;
        let expected: Vec<String> =
            (0..=acknowledged).flat_map(|turn| [format!("turn{turn}-q"), format!("turn{turn}-a")]).collect();
        assert_eq!(rows[..expected.len()], expected, "nothing acknowledged is missing, and all in order");
        assert!(rows.len() <= expected.len() + 2, "at most the turn under way is there besides");
        let count = store.thread(&key).await.expect("thread").expect("there").message_count;
        assert_eq!(count, rows.len() as u64);
    }
}

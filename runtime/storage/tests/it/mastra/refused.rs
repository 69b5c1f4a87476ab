//! Files that are not taken, and files that are looked at while others use them.

use std::path::Path;

use roster_model::storage::ConversationStore;
use roster_storage::sqlite::{ImportError, ImportOptions};
use roster_testkit::suite::conversation::{ids, key};
use rusqlite::Connection;

use super::file::Mastra;
use super::{contents, import, import_with, new};
use crate::sqlite::fresh;

async fn refused(from: &Path) -> ImportError {
    let (_folder, store) = fresh();
    let error = import_with(&store, from, ImportOptions::default()).await.expect_err("refused");
    let query = roster_model::storage::ThreadQuery { limit: 1, ..Default::default() };
    let owner = roster_model::id::ResourceId::new("o").expect("legal");
    assert_eq!(store.threads(&owner, query).await.expect("lists").total, 0);
    error
}

#[tokio::test]
async fn what_is_no_file_of_mastra_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("folder");
    let path = |name: &str| folder.path().join(name);
    assert!(matches!(refused(&path("missing.db")).await, ImportError::NoFile(_)));
    assert!(matches!(refused(folder.path()).await, ImportError::NoFile(_)));
    std::fs::write(path("text.db"), "no database at all, but long enough to look like one".repeat(40)).expect("write");
    std::fs::write(path("empty.db"), "").expect("write");
    Connection::open(path("other.db")).expect("opens").execute_batch("CREATE TABLE t (a)").expect("table");
    for (name, why) in
        [("text.db", "no SQLite database"), ("empty.db", "`mastra_threads`"), ("other.db", "`mastra_threads`")]
    {
        let error = refused(&path(name)).await;
        assert!(matches!(&error, ImportError::Foreign { reason, .. } if reason.contains(why)), "{name}: {error}");
    }
    let (ours, store) = fresh();
    drop(store);
    let error = refused(&ours.path().join("roster.db")).await;
    assert!(matches!(&error, ImportError::Ours(_)) && error.to_string().contains("roster restore"), "{error}");
}

#[tokio::test]
async fn a_layout_that_lacks_a_column_is_named_and_one_with_more_is_taken() {
    let folder = tempfile::tempdir().expect("folder");
    let file = Mastra::filled(&folder.path().join("less.db"));
    file.run("ALTER TABLE mastra_messages RENAME COLUMN thread_id TO threadId");
    let error = refused(&file.done()).await;
    assert!(matches!(&error, ImportError::Layout { table: "mastra_messages", column: "thread_id", .. }), "{error}");

    let file = Mastra::filled(&folder.path().join("more.db"));
    file.run("ALTER TABLE mastra_messages ADD COLUMN tenant TEXT; DROP TABLE mastra_resources; DROP INDEX idx_messages_thread_created");
    let (_folder, store) = fresh();
    let report = import(&store, &file.done()).await;
    assert_eq!((report.threads, report.messages), (new(3), new(6)));
}

#[tokio::test]
async fn a_file_in_use_is_read_with_its_log_and_left_alone() {
    let source = tempfile::tempdir().expect("folder");
    let mut file = Mastra::filled(&source.path().join("mastra.db"));
    let mode: String = file.connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).expect("switches");
    assert_eq!(mode, "wal");
    file.says("tea-3", "tea", "user", "in the log");
    let before = contents(source.path());
    assert!(before.iter().any(|(name, bytes)| name == "mastra.db-wal" && !bytes.is_empty()));
    let (_folder, store) = fresh();
    import(&store, &file.path).await;
    assert_eq!(ids(&store, &key("user:ada", "tea")).await, ["tea-1", "tea-2", "tea-3"]);
    // The shared index holds who reads: nobody any more.
    let same =
        |all: &[(String, Vec<u8>)]| all.iter().filter(|(name, _)| name != "mastra.db-shm").cloned().collect::<Vec<_>>();
    assert_eq!(same(&contents(source.path())), same(&before));
    file.says("tea-4", "tea", "user", "its owner goes on");

    // Left behind by a process that was killed: a log without its index.
    let copy = tempfile::tempdir().expect("folder");
    for name in ["mastra.db", "mastra.db-wal"] {
        std::fs::copy(source.path().join(name), copy.path().join(name)).expect("copies");
    }
    let before = contents(copy.path());
    let (_folder, store) = fresh();
    import(&store, &copy.path().join("mastra.db")).await;
    assert_eq!(ids(&store, &key("user:ada", "tea")).await.len(), 4);
    assert_eq!(contents(copy.path()), before);
}

#[tokio::test]
async fn a_file_damaged_in_the_middle_gives_what_can_be_read() {
    let (folder, store) = fresh();
    let mut file = Mastra::new(&folder.path().join("mastra.db"));
    file.run("BEGIN");
    for thread in ["a", "b"] {
        file.thread(thread, "o", "", None);
        for number in 0..40 {
            file.says(&format!("{thread}-{number}"), thread, "user", &"words ".repeat(3000));
        }
    }
    file.run("COMMIT");
    let from = file.done();
    // The pages that long texts go on with are lists: a broken link in one of them ends the reading of that row.
    let mut bytes = std::fs::read(&from).expect("reads");
    let page = 4096;
    let overflow: Vec<usize> = (1..bytes.len() / page)
        .filter(|number| bytes[number * page + 4..number * page + 30].windows(6).any(|window| window == b"words "))
        .collect();
    let broken = overflow[overflow.len() / 2] * page;
    bytes[broken..broken + 4].copy_from_slice(&u32::MAX.to_be_bytes());
    std::fs::write(&from, bytes).expect("writes");
    let report = import(&store, &from).await;
    assert_eq!(report.threads, new(2));
    assert_eq!(report.messages.new + report.messages.skipped, 80, "{report:#?}");
    assert!(report.messages.new >= 40 && report.messages.skipped > 0, "{report:#?}");
    assert!(report.skipped[0].reason.contains("damaged"), "{report:#?}");
}

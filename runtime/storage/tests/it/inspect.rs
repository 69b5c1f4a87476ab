//! What opening would say, without a trace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use roster_storage::sqlite::{FileState, OpenErrorKind, inspect, inspect_observations, open};
use roster_testkit::suite::conversation::{key, whole_turn};
use rusqlite::Connection;

use crate::child::Process;
use crate::old::old_file;
use crate::sqlite::{at, fresh, options};

/// Every file below the folder with its bytes. Reading a database drops the locks this process has on it, so no store
/// may be open here.
fn picture(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("folder") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            files.extend(picture(&path));
            files.insert(path, Vec::new());
        } else {
            let bytes = std::fs::read(&path).expect("file");
            files.insert(path, bytes);
        }
    }
    files
}

/// What is found, after seeing that looking left no trace.
fn found(path: &Path) -> Result<FileState, OpenErrorKind> {
    let folder = path.ancestors().find(|folder| *folder != path && folder.is_dir()).expect("a folder");
    let before = picture(folder);
    let found = inspect(path).map(|found| found.state).map_err(|error| error.kind());
    let after = picture(folder);
    let changed: Vec<_> = before.iter().filter(|(path, bytes)| after.get(*path) != Some(*bytes)).collect();
    let new: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    let changed: Vec<_> = changed.iter().map(|(path, _)| path).collect();
    assert!(changed.is_empty() && new.is_empty(), "looking changed {changed:?} and made {new:?}");
    found
}

fn current() -> FileState {
    let folder = tempfile::tempdir().expect("temp folder");
    drop(at(&folder));
    let version = roster_storage::sqlite::check_integrity(&folder.path().join("roster.db"), |_, _| {});
    FileState::Current { version: version.expect("looked at").version }
}

#[tokio::test]
async fn a_store_is_current_closed_serving_and_killed() {
    let (folder, store) = fresh();
    let path = folder.path().join("roster.db");
    whole_turn(&store, &key("shop", "t"), "one").await;
    drop(store);
    assert_eq!(found(&path), Ok(current()));
    let mut child = Process::start("hold", &path);
    assert_eq!(child.line().as_deref(), Some("held"));
    assert_eq!(found(&path), Ok(current()));
    child.kill();
    assert_eq!(found(&path), Ok(current()));
}

#[test]
fn what_opening_would_make_is_no_fault() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("roster.db");
    assert_eq!(found(&path), Ok(FileState::Missing));
    assert_eq!(found(&folder.path().join("new/a/roster.db")), Ok(FileState::Missing));
    std::fs::write(&path, b"").expect("written");
    assert_eq!(found(&path), Ok(FileState::Empty));
    let (_folder, old) = old_file();
    assert!(matches!(found(&old), Ok(FileState::Older { .. })));
}

#[tokio::test]
async fn what_opening_refuses_is_refused() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("roster.db");
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).expect("made");
    assert_eq!(found(&inner), Err(OpenErrorKind::NoFile));
    let connection = Connection::open(&path).expect("opens");
    connection.execute_batch("CREATE TABLE bookmarks (url TEXT)").expect("made");
    connection.close().expect("closed");
    assert_eq!(found(&path), Err(OpenErrorKind::Foreign));
    assert_eq!(inspect_observations(&path).expect_err("refused").kind(), OpenErrorKind::Foreign);
    assert_eq!(found(&path.join("below-a-file.db")), open_kind(&path.join("below-a-file.db")));
    std::fs::write(&path, "no database at all, only some notes\n".repeat(400)).expect("written");
    assert_eq!(found(&path), Err(OpenErrorKind::Damaged));
    std::fs::remove_file(&path).expect("removed");
    drop(at(&folder));
    let whole = std::fs::read(&path).expect("file");
    std::fs::write(&path, [&whole[..4096], &vec![0; whole.len() - 4096]].concat()).expect("written");
    assert_eq!(found(&path), Err(OpenErrorKind::Damaged));
    assert_eq!(open_kind(&path), Err(OpenErrorKind::Damaged));
}

fn open_kind(path: &Path) -> Result<FileState, OpenErrorKind> {
    Err(open(path, &options()).err().expect("refused").kind())
}

#[test]
fn a_newer_version_is_seen_in_the_file_and_in_its_log() {
    let (folder, store) = fresh();
    drop(store);
    let path = folder.path().join("roster.db");
    let connection = Connection::open(&path).expect("opens");
    connection.pragma_update(None, "user_version", 9999).expect("set");
    // Within one process the index is shared, so there only what is found is compared.
    assert_eq!(inspect(&path).expect_err("refused").kind(), OpenErrorKind::Newer, "in the log of a living process");
    // As a copy of file and log, without the index between them.
    let other = tempfile::tempdir().expect("temp folder");
    for name in ["roster.db", "roster.db-wal"] {
        std::fs::copy(folder.path().join(name), other.path().join(name)).expect("copied");
    }
    assert_eq!(found(&other.path().join("roster.db")), Err(OpenErrorKind::Newer), "in a log alone");
    connection.close().expect("closed");
    assert_eq!(found(&path), Err(OpenErrorKind::Newer), "in the file");
}

#[cfg(unix)]
#[test]
fn a_place_that_may_not_be_written_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, store) = fresh();
    drop(store);
    let database = folder.path().join("roster.db");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o555)).expect("mode");
    std::fs::set_permissions(&database, PermissionsExt::from_mode(0o444)).expect("mode");
    for path in [&database, &folder.path().join("new/roster.db")] {
        let text = Process::start_unprivileged("inspect", path).line().expect("reported");
        assert!(text.starts_with("NotWritable") && text.contains("mode 555"), "{text}");
    }
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("mode");
}

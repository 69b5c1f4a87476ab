//! What users say is readable by the owner of the process only.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use roster_storage::sqlite::{ObservationOptions, open, open_observations, restore};
use roster_testkit::clock::TestClock;
use roster_testkit::suite::conversation::{key, whole_turn};

use crate::old::old_file;
use crate::sqlite::{at, options};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("is there").permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("mode");
}

/// Everything below the folder, and how many that were: folders 0700, files 0600.
fn all_private(folder: &Path) -> usize {
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("folder") {
        let path = entry.expect("entry").path();
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}", path.display());
        seen += 1 + if path.is_dir() { all_private(&path) } else { 0 };
    }
    seen
}

#[tokio::test]
async fn everything_the_store_makes_is_its_owners_alone() {
    let folder = tempfile::tempdir().expect("temp folder");
    set_mode(folder.path(), 0o755);
    let path = folder.path().join("data/deep/roster.db");
    let store = open(&path, &options()).expect("opens");
    whole_turn(&store, &key("shop", "t"), "one").await;
    store.backup(&folder.path().join("data/copy.db")).await.expect("backup");
    let observations = ObservationOptions {
        retention: Duration::from_secs(60),
        max_size: 1 << 20,
        clock: Arc::new(TestClock::default()),
    };
    let observations = open_observations(folder.path().join("data/traces.db"), observations).expect("opens");
    // data, deep, copy; roster.db with log, index, holders, gate and own lock; traces.db with log and index.
    assert_eq!(all_private(folder.path()), 12);
    assert_eq!(mode(folder.path()), 0o755, "a folder that was there keeps its mode");
    drop((store, observations));
    let kept = restore(&path, &folder.path().join("data/copy.db")).expect("restored").expect("kept");
    assert!(kept.exists());
    all_private(folder.path());
}

#[tokio::test]
async fn what_exists_keeps_its_mode() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("roster.db");
    std::fs::write(&path, b"").expect("written");
    set_mode(&path, 0o640);
    let store = at(&folder);
    whole_turn(&store, &key("shop", "t"), "one").await;
    assert_eq!((mode(&path), mode(&folder.path().join("roster.db-wal"))), (0o640, 0o640));
    let copy = folder.path().join("copy.db");
    store.backup(&copy).await.expect("backup");
    assert_eq!(mode(&copy), 0o600);
    drop(store);
    restore(&path, &copy).expect("restored");
    assert_eq!(mode(&path), 0o640);
}

#[test]
fn the_copy_before_a_migration_is_private_too() {
    let (folder, database) = old_file();
    drop(open(&database, &options()).expect("opens"));
    let names = std::fs::read_dir(folder.path()).expect("folder").map(|entry| entry.expect("entry").path());
    let copies: Vec<_> = names.filter(|path| path.to_string_lossy().contains(".bak")).collect();
    assert_eq!(copies.len(), 1);
    assert_eq!(mode(&copies[0]), 0o600);
}

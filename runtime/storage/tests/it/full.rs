//! TO-c4: no space, then space again.

use std::process::{Command, Stdio};

use roster_model::message::Part;
use roster_model::storage::{ConversationStore, OperatorStore, StoreErrorKind};
use roster_storage::sqlite::{OpenErrorKind, Options, RestoreError, Trial, check_integrity, open, restore};
use roster_testkit::suite::conversation::{answer, begin, finish, ids, key, question, refused, save, whole_turn};

use crate::sqlite::options;

#[tokio::test]
async fn a_full_store_says_so_and_recovers_by_itself() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("roster.db");
    let trial = Trial { max_pages: Some(120), ..Trial::default() };
    let store = open(&path, &Options { trial, ..options() }).expect("opens");
    let (talk, ballast) = (key("shop", "talk"), key("shop", "ballast"));
    whole_turn(&store, &talk, "one").await;
    store.create_thread(&ballast, Default::default()).await.expect("made");
    let mut filled = 0;
    let full = loop {
        let mut row = question(&format!("b{filled}"));
        row.parts = vec![Part::text("x".repeat(3000))];
        match store.append(&ballast, vec![row]).await {
            Ok(_) => filled += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(full.kind, StoreErrorKind::Full, "{full}");
    // Space runs out while turns are under way: each is either refused or whole.
    let mut kept = vec!["one-q".to_owned(), "one-a".to_owned()];
    for turn in 0..60 {
        let name = format!("turn{turn}");
        match begin(&store, &talk, &name).await {
            Err(error) => {
                assert_eq!(error.kind, StoreErrorKind::Full, "{error}");
                break;
            }
            Ok(_) => kept.push(format!("{name}-q")),
        }
        match finish(&store, &talk, &name).await {
            Err(error) => assert_eq!(error.kind, StoreErrorKind::Full, "{error}"),
            Ok(()) => kept.push(format!("{name}-a")),
        }
    }
    assert_eq!(ids(&store, &talk).await, kept);
    store.health().expect("a full disk is no damage");
    refused(begin(&store, &talk, "while full").await, StoreErrorKind::Full);
    // Space is freed; the next turn works without a restart.
    assert!(store.delete_thread(&ballast).await.expect("deleted"));
    begin(&store, &talk, "after").await.expect("begins");
    save(&store, &talk, "after", Some(answer("after-a")), true).await.expect("saved");
    kept.extend(["after-q".to_owned(), "after-a".to_owned()]);
    assert_eq!(ids(&store, &talk).await, kept);
    store.close().await;
    drop(store);
    assert_eq!(check_integrity(&path, |_, _| {}).expect("looked at").problems, Vec::<String>::new());
}

/// A small disk of its own, gone when dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// `None` where this user may not mount one; the page limit above stands in for it there.
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().expect("temp folder");
        let mount = ["-t", "tmpfs", "-o", "size=8m", "tmpfs"];
        let mounted = Command::new("mount").args(mount).arg(folder.path()).stderr(Stdio::null()).status();
        mounted.is_ok_and(|status| status.success()).then(|| Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _done = Command::new("umount").arg(self.0.path()).status();
    }
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_is_used_again_once_freed() {
    let Some(disk) = SmallDisk::new() else { return };
    let path = disk.0.path().join("roster.db");
    let store = open(&path, &options()).expect("opens");
    let talk = key("shop", "talk");
    whole_turn(&store, &talk, "one").await;
    let dummy = disk.0.path().join("dummy");
    // In mid-turn: the question is stored, the answer finds no space.
    begin(&store, &talk, "two").await.expect("begins");
    assert!(std::fs::write(&dummy, vec![1; 16 << 20]).is_err(), "the dummy fills the disk");
    let mut kept = vec!["one-q".to_owned(), "one-a".to_owned(), "two-q".to_owned()];
    let big = |name: &str| {
        let mut row = answer(&format!("{name}-a"));
        row.parts = vec![Part::text("x".repeat(200_000))];
        row
    };
    refused(save(&store, &talk, "two", Some(big("two")), true).await, StoreErrorKind::Full);
    assert_eq!(ids(&store, &talk).await, kept);
    std::fs::remove_file(&dummy).expect("freed");
    whole_turn(&store, &talk, "three").await;
    kept.extend(["three-q".to_owned(), "three-a".to_owned()]);
    assert_eq!(ids(&store, &talk).await, kept);
    store.close().await;
    drop(store);
    let found = check_integrity(&path, |_, _| {}).expect("looked at");
    assert_eq!(found.problems, Vec::<String>::new());
    assert_eq!(found.counts.expect("counted").messages, 5);
}

impl SmallDisk {
    /// Leaves no space; gives the file to remove.
    fn fill(&self) -> std::path::PathBuf {
        let dummy = self.0.path().join("dummy");
        assert!(std::fs::write(&dummy, vec![1; 16 << 20]).is_err(), "the dummy fills the disk");
        dummy
    }
}

#[tokio::test]
async fn opening_on_a_full_disk_says_that_it_is_full() {
    let Some(disk) = SmallDisk::new() else { return };
    let dummy = disk.fill();
    let path = disk.0.path().join("new").join("roster.db");
    let error = open(&path, &options()).err().expect("refused");
    assert_eq!(error.kind(), OpenErrorKind::Full, "{error:?}");
    assert!(!error.kind().serves_degraded());
    let text = error.to_string();
    assert!(text.contains("the disk is full") && text.contains("hint: make room"), "{text}");
    std::fs::remove_file(&dummy).expect("freed");
    whole_turn(&open(&path, &options()).expect("opens once freed"), &key("shop", "t"), "one").await;
}

#[tokio::test]
async fn a_copy_on_a_full_disk_says_so_and_leaves_nothing_behind() {
    let Some(disk) = SmallDisk::new() else { return };
    let (path, backup) = (disk.0.path().join("roster.db"), disk.0.path().join("backup.db"));
    let store = open(&path, &options()).expect("opens");
    whole_turn(&store, &key("shop", "t"), "one").await;
    store.backup(&backup).await.expect("backup");
    let dummy = disk.fill();
    let error = store.backup(&disk.0.path().join("second.db")).await.expect_err("no space");
    assert_eq!(error.kind, StoreErrorKind::Full, "{error:?}");
    assert!(error.message.contains("is full\nhint: "), "{error}");
    store.close().await;
    drop(store);
    let log = disk.0.path().join("roster.db-wal");
    let bytes = || [std::fs::read(&path).expect("file"), std::fs::read(&log).unwrap_or_default()];
    let before = bytes();
    let refused = restore(&path, &backup);
    assert!(matches!(refused, Err(RestoreError::Full { .. })), "{refused:?}");
    assert!(refused.expect_err("refused").to_string().contains("the disk is full\nhint: make room"));
    assert!(bytes() == before, "a refused restore changes nothing");
    let names = std::fs::read_dir(disk.0.path()).expect("folder").flatten().map(|entry| entry.file_name());
    // The log, which a full disk keeps from being folded in, is the only companion.
    let known = ["roster.db", "roster.db-wal", "roster.db-shm", "backup.db", "dummy"];
    let left: Vec<_> = names.filter(|name| !known.iter().any(|known| name == known)).collect();
    assert!(left.is_empty(), "{left:?}");
    std::fs::remove_file(&dummy).expect("freed");
    restore(&path, &backup).expect("restored once freed");
}

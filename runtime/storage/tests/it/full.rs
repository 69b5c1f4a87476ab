//! TO-c4: no space, then space again.

use std::process::{Command, Stdio};

use roster_model::message::Part;
use roster_model::storage::{ConversationStore, OperatorStore, StoreErrorKind};
use roster_storage::sqlite::{Options, Trial, check_integrity, open};
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

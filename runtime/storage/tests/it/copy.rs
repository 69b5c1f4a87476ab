//! Backup while serving, restore, and the check of a file.

use roster_model::storage::{ConversationStore, OperatorStore, StoreErrorKind};
use roster_storage::sqlite::{Counts, RestoreError, check_integrity, open, restore};
use roster_testkit::suite::conversation::{ids, key, refused, whole_turn};

use crate::sqlite::{NEWEST, at, fresh, options};

#[tokio::test]
async fn a_backup_while_serving_is_whole() {
    let (folder, store) = fresh();
    let key = key("shop", "t");
    whole_turn(&store, &key, "first").await;
    let to = folder.path().join("copy.db");
    let serving = async {
        for turn in 0..30 {
            whole_turn(&store, &key, &format!("turn{turn}")).await;
        }
    };
    let (made, ()) = tokio::join!(store.backup(&to), serving);
    made.expect("backup");
    refused(store.backup(&to).await, StoreErrorKind::Conflict);
    let found = check_integrity(&to, |_, _| {}).expect("looked at");
    assert_eq!(found.problems, Vec::<String>::new());
    assert_eq!(found.version, NEWEST);
    let copy = open(&to, &options()).expect("a backup is a store");
    let (rows, all) = (ids(&copy, &key).await, ids(&store, &key).await);
    assert!(rows.len() >= 2 && all.starts_with(&rows), "{rows:?}");
    let leftovers = std::fs::read_dir(folder.path()).expect("folder");
    assert!(leftovers.flatten().all(|entry| !entry.file_name().to_string_lossy().contains("partial")));
}

#[tokio::test]
async fn a_restore_puts_the_backup_back_and_keeps_the_old_file() {
    let (folder, store) = fresh();
    let (database, backup) = (folder.path().join("roster.db"), folder.path().join("backup.db"));
    let key = key("shop", "t");
    whole_turn(&store, &key, "one").await;
    store.backup(&backup).await.expect("backup");
    whole_turn(&store, &key, "two").await;
    assert!(matches!(restore(&database, &backup), Err(RestoreError::InUse { .. })));
    assert_eq!(ids(&store, &key).await.len(), 4, "a refused restore changes nothing");
    store.close().await;
    drop(store);
    for round in 1..=2 {
        let kept = restore(&database, &backup).expect("restored").expect("old file");
        assert!(kept.ends_with(format!("roster.db.before-restore-{round}")));
        let store = at(&folder);
        assert_eq!(ids(&store, &key).await, ["one-q", "one-a"]);
        drop(store);
    }
    let old = open(folder.path().join("roster.db.before-restore-1"), &options()).expect("the old file is whole");
    assert_eq!(ids(&old, &key).await, ["one-q", "one-a", "two-q", "two-a"]);
}

#[tokio::test]
async fn a_restore_folds_the_log_of_a_killed_process_into_the_kept_file() {
    let (folder, store) = fresh();
    let (database, backup) = (folder.path().join("roster.db"), folder.path().join("backup.db"));
    store.backup(&backup).await.expect("backup");
    drop(store);
    let mut child = crate::child::Process::start("turns", &database);
    let mut done = 0;
    while done < 5 {
        done = child.line().expect("reported").parse().expect("number");
    }
    child.kill();
    let kept = restore(&database, &backup).expect("restored").expect("old file");
    assert!(ids(&at(&folder), &key("shop", "t")).await.is_empty());
    let old = open(&kept, &options()).expect("opens");
    assert!(ids(&old, &key("shop", "t")).await.len() >= 12);
}

#[tokio::test]
async fn a_restore_over_a_damaged_file_works_and_keeps_it() {
    let (folder, store) = fresh();
    let (database, backup) = (folder.path().join("roster.db"), folder.path().join("backup.db"));
    whole_turn(&store, &key("shop", "t"), "one").await;
    store.backup(&backup).await.expect("backup");
    drop(store);
    let mut bytes = std::fs::read(&database).expect("file");
    bytes[..8192].fill(0);
    std::fs::write(&database, &bytes).expect("written");
    let kept = restore(&database, &backup).expect("restored").expect("old file");
    assert_eq!(std::fs::read(kept).expect("kept"), bytes, "byte-equal");
    assert_eq!(ids(&at(&folder), &key("shop", "t")).await, ["one-q", "one-a"]);
}

#[tokio::test]
async fn what_is_no_sound_backup_is_refused() {
    let (folder, store) = fresh();
    let (database, bad) = (folder.path().join("roster.db"), folder.path().join("bad.db"));
    for turn in 0..200 {
        whole_turn(&store, &key("shop", "t"), &format!("turn{turn}")).await;
    }
    store.backup(&bad).await.expect("backup");
    drop(store);
    let before = std::fs::read(&database).expect("file");
    let whole = std::fs::read(&bad).expect("file");
    let mut newer = whole.clone();
    newer[60..64].copy_from_slice(&9999_u32.to_be_bytes());
    let mut holed = whole.clone();
    let middle = holed.len() / 2 / 4096 * 4096;
    holed[middle..middle + 4096].fill(0);
    for bytes in [b"no database".to_vec(), Vec::new(), newer, holed, whole[..whole.len() - 8192].to_vec()] {
        std::fs::write(&bad, bytes).expect("written");
        let refused = restore(&database, &bad);
        assert!(matches!(refused, Err(RestoreError::Unfit { .. })), "{refused:?}");
    }
    assert!(matches!(restore(&database, &folder.path().join("none")), Err(RestoreError::Unfit { .. })));
    assert_eq!(std::fs::read(&database).expect("file"), before);
}

#[tokio::test]
async fn the_check_counts_and_reports_its_progress() {
    let (folder, store) = fresh();
    whole_turn(&store, &key("shop", "t"), "one").await;
    whole_turn(&store, &key("bank", "t"), "one").await;
    let mut steps = Vec::new();
    let path = folder.path().join("roster.db");
    let found = check_integrity(&path, |done, of| steps.push((done, of))).expect("while serving");
    assert_eq!(found.counts, Some(Counts { threads: 2, messages: 4, owners: 2 }));
    let tables = steps.len() - 1;
    assert!(tables > 20, "{steps:?}");
    assert_eq!(steps, (0..=tables).map(|done| (done, tables)).collect::<Vec<_>>());
    assert_eq!(store.thread(&key("shop", "t")).await.expect("thread").expect("there").message_count, 2);
}

#[tokio::test]
async fn a_backup_names_the_folder_it_cannot_write_to() {
    let (folder, store) = fresh();
    let (missing, file) = (folder.path().join("none"), folder.path().join("file"));
    let error = store.backup(&missing.join("copy.db")).await.expect_err("refused");
    assert_eq!(error.kind, StoreErrorKind::Unavailable);
    for part in [&*format!("no folder `{}`", missing.display()), "hint: make the folder"] {
        assert!(error.message.contains(part), "{part} in {error}");
    }
    std::fs::write(&file, b"").expect("written");
    let error = store.backup(&file.join("copy.db")).await.expect_err("refused");
    assert!(error.message.contains(&format!("folder `{}`", file.display())), "{error}");
    store.health().expect("the store itself is well");
    assert!(!missing.exists(), "no folder is made for a backup");
}

#[cfg(unix)]
#[test]
fn a_backup_names_the_folder_it_may_not_write_in() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("temp folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o555)).expect("mode");
    let mut child = crate::child::Process::start_unprivileged("backup", &folder.path().join("copy.db"));
    let text = child.line().expect("reported");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).expect("mode");
    for part in [&*format!("in folder `{}`", folder.path().display()), "hint: give this user the right to write"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 0);
}

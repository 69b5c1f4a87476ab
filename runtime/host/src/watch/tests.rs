//! What becomes a hint, and which folders are watched, without the system's own watcher.

#![expect(clippy::disallowed_methods, reason = "each test makes folders of its own")]

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use notify::event::{
    AccessKind, AccessMode, CreateKind, DataChange, EventKind, Flag, MetadataKind, ModifyKind, RemoveKind, RenameMode,
};
use notify::{Error, ErrorKind, Event};

use super::folders::{System, Watch};
use super::hint::{Hint, Seen, hints};
use super::link_folders;

#[track_caller]
fn check(kind: EventKind, expected: Option<Seen>) {
    let event = Event::new(kind).add_path("/p".into());
    let expected: Vec<Hint> = expected.into_iter().map(|seen| Hint::Path("/p".into(), seen)).collect();
    assert_eq!(hints(Ok(event)), expected);
}

#[test]
fn reading_is_no_change() {
    check(EventKind::Access(AccessKind::Open(AccessMode::Any)), None);
    check(EventKind::Access(AccessKind::Read), None);
    check(EventKind::Access(AccessKind::Close(AccessMode::Read)), None);
}

#[test]
fn writing_is_known_from_closing() {
    check(EventKind::Modify(ModifyKind::Data(DataChange::Any)), Some(Seen::Writing));
    check(EventKind::Access(AccessKind::Close(AccessMode::Write)), Some(Seen::Closed));
}

#[test]
fn a_file_that_came_by_rename_is_whole() {
    check(EventKind::Modify(ModifyKind::Name(RenameMode::To)), Some(Seen::Closed));
    check(EventKind::Modify(ModifyKind::Name(RenameMode::From)), Some(Seen::Closed));
    check(EventKind::Modify(ModifyKind::Name(RenameMode::Both)), None);
}

#[test]
fn other_events_say_only_that_something_moved() {
    check(EventKind::Create(CreateKind::File), Some(Seen::Moved));
    check(EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), Some(Seen::Moved));
    check(EventKind::Remove(RemoveKind::File), Some(Seen::Closed));
}

#[test]
fn lost_events_mean_everything() {
    let lost = Event::new(EventKind::Other).set_flag(Flag::Rescan);
    assert_eq!(hints(Ok(lost)), [Hint::Everything]);
}

#[test]
fn each_limit_is_named() {
    let said = |error: Error| match &hints(Err(error))[..] {
        [Hint::Unwatched(reason)] => reason.clone(),
        other => panic!("{other:?}"),
    };
    assert!(said(Error::new(ErrorKind::MaxFilesWatch)).contains("fs.inotify.max_user_watches"));
    let too_many = std::io::Error::from_raw_os_error(24);
    assert!(said(Error::io(too_many)).contains("fs.inotify.max_user_instances"));
}

#[test]
fn a_later_move_does_not_hide_who_writes() {
    assert_eq!(Seen::Writing.then(Seen::Moved), Seen::Writing);
    assert_eq!(Seen::Writing.then(Seen::Closed), Seen::Closed);
    assert_eq!(Seen::Closed.then(Seen::Writing), Seen::Writing);
}

/// What was asked of the system.
#[derive(Default)]
struct Asked {
    added: Vec<PathBuf>,
    removed: Vec<PathBuf>,
    full: bool,
}

struct Double(Arc<Mutex<Asked>>);

impl System for Double {
    fn add(&mut self, folder: &Path) -> notify::Result<()> {
        let mut asked = self.0.lock().unwrap();
        if asked.full {
            return Err(Error::new(ErrorKind::MaxFilesWatch));
        }
        asked.added.push(folder.to_path_buf());
        Ok(())
    }

    fn remove(&mut self, folder: &Path) {
        self.0.lock().unwrap().removed.push(folder.to_path_buf());
    }
}

fn watch() -> (Watch, Arc<Mutex<Asked>>) {
    let asked = Arc::default();
    (Watch::over(Box::new(Double(Arc::clone(&asked)))), asked)
}

fn temp() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap();
    (dir, path)
}

#[test]
fn a_folder_is_armed_once_and_anew_when_another_takes_its_place() {
    let (_dir, root) = temp();
    let folder = root.join("agents");
    std::fs::create_dir(&folder).unwrap();
    let (mut watch, asked) = watch();
    let wanted = BTreeSet::from([folder.clone()]);
    assert_eq!(watch.arm(&wanted), (true, None));
    assert_eq!(watch.arm(&wanted), (false, None), "it is watched already");
    std::fs::rename(&folder, root.join("old")).unwrap();
    assert_eq!(watch.arm(&wanted), (false, None), "nothing is there");
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(watch.arm(&wanted), (true, None));
    let asked = asked.lock().unwrap();
    assert_eq!(asked.added, [folder.clone(), folder.clone()]);
    assert_eq!(asked.removed, [folder]);
}

#[test]
fn a_folder_under_two_names_is_one_watch() {
    let (_dir, root) = temp();
    std::fs::create_dir(root.join("real")).unwrap();
    symlink("real", root.join("link")).unwrap();
    let (mut watch, asked) = watch();
    watch.arm(&BTreeSet::from([root.join("real"), root.join("link")]));
    assert_eq!(asked.lock().unwrap().added, [root.join("real")]);
}

#[test]
fn a_swapped_link_is_followed() {
    let (_dir, root) = temp();
    for name in ["one", "two"] {
        std::fs::create_dir(root.join(name)).unwrap();
    }
    let link = root.join("agents");
    symlink("one", &link).unwrap();
    let (mut watch, asked) = watch();
    let wanted = BTreeSet::from([link.clone()]);
    watch.arm(&wanted);
    std::fs::remove_file(&link).unwrap();
    symlink("two", &link).unwrap();
    watch.arm(&wanted);
    let asked = asked.lock().unwrap();
    assert_eq!(asked.added, [root.join("one"), root.join("two")]);
    assert_eq!(asked.removed, [root.join("one")]);
}

#[test]
fn no_watches_left_is_said_and_tried_again() {
    let (_dir, root) = temp();
    let (mut watch, asked) = watch();
    asked.lock().unwrap().full = true;
    let wanted = BTreeSet::from([root]);
    let (added, failure) = watch.arm(&wanted);
    assert!(!added);
    assert!(failure.is_some_and(|reason| reason.contains("max_user_watches")));
    asked.lock().unwrap().full = false;
    assert_eq!(watch.arm(&wanted), (true, None));
}

#[test]
fn every_link_on_the_way_names_a_folder_to_watch() {
    let (_dir, root) = temp();
    for folder in ["agents", "mount", "mount/..v1"] {
        std::fs::create_dir(root.join(folder)).unwrap();
    }
    std::fs::write(root.join("mount/..v1/a.toml"), "").unwrap();
    symlink("..v1", root.join("mount/..data")).unwrap();
    symlink("..data/a.toml", root.join("mount/a.toml")).unwrap();
    symlink("../mount/a.toml", root.join("agents/a.toml")).unwrap();
    let found = link_folders(&root.join("agents/a.toml"));
    let expected = ["agents", "mount", "mount/..v1"].map(|folder| root.join(folder));
    assert!(expected.iter().all(|folder| found.contains(folder)), "{found:?}");
}

#[test]
fn a_ring_of_links_ends() {
    let (_dir, root) = temp();
    symlink("b", root.join("a")).unwrap();
    symlink("a", root.join("b")).unwrap();
    assert!(link_folders(&root.join("a")).contains(&root));
}

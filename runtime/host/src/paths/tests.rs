//! Finding the root.

#![expect(clippy::disallowed_methods, reason = "each test makes folders of its own")]

use std::path::{Path, PathBuf};

use super::*;

fn marker_in(folder: &Path, text: &[u8]) {
    std::fs::create_dir_all(folder.join("config")).unwrap();
    std::fs::write(folder.join(RUNTIME_FILE), text).unwrap();
}

/// `outer` is a project, `outer/inner/deep` a folder in it.
fn nested() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let outer = temp.path().canonicalize().unwrap().join("outer");
    let deep = outer.join("inner/deep");
    std::fs::create_dir_all(&deep).unwrap();
    marker_in(&outer, b"[project]\n");
    (temp, outer, deep)
}

#[test]
fn the_search_goes_up_to_the_first_marker() {
    let (_temp, outer, deep) = nested();
    assert_eq!(find_root(None, &deep).unwrap(), outer);
    assert_eq!(find_root(None, &outer).unwrap(), outer);
    marker_in(&outer.join("inner"), b"[project]\n");
    assert_eq!(find_root(None, &deep).unwrap(), outer.join("inner"));
}

#[test]
fn a_file_without_the_table_is_passed_over() {
    let (_temp, outer, deep) = nested();
    marker_in(&outer.join("inner"), b"[gateway]\n");
    assert_eq!(find_root(None, &deep).unwrap(), outer);
}

#[test]
fn a_marker_that_cannot_be_read_ends_the_search() {
    let (_temp, outer, deep) = nested();
    let inner = outer.join("inner");
    for text in [b"[project\n".as_slice(), b"project = \xff\n", b"a = 1\na = 2\n[project]\n"] {
        marker_in(&inner, text);
        let error = find_root(None, &deep).unwrap_err();
        assert!(
            matches!(&error, RootError::Unparsable { folder, problems, .. } if *folder == inner && !problems.is_empty()),
            "{error}"
        );
    }
    std::fs::remove_file(inner.join(RUNTIME_FILE)).unwrap();
    std::fs::create_dir(inner.join(RUNTIME_FILE)).unwrap();
    let error = find_root(None, &deep).unwrap_err();
    assert!(matches!(error, RootError::Unreadable { .. }), "{error}");
}

#[test]
fn a_folder_asked_for_must_be_a_project() {
    let (_temp, outer, deep) = nested();
    assert_eq!(find_root(Some(&outer), Path::new("/")).unwrap(), outer);
    assert_eq!(find_root(Some(Path::new("../..")), &deep).unwrap(), outer, "taken from where it is asked");
    let reason = |asked: &Path| match find_root(Some(asked), &deep) {
        Err(RootError::NoProject { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(&outer.join("nothing")), "there is no such folder");
    assert_eq!(reason(&outer.join("inner")), "it has no `config/runtime.toml`");
    marker_in(&outer.join("inner"), b"[gateway]\n");
    assert_eq!(reason(&outer.join("inner")), "its `config/runtime.toml` has no [project] table");
}

#[test]
fn nothing_found_lists_where_it_was_looked_for() {
    let folder = Path::new("/no-such-folder-of-roster/deep");
    let error = find_root(None, folder).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`/no-such-folder-of-roster/deep`, `/no-such-folder-of-roster`, `/`"), "{text}");
    assert!(error.hint().contains("--root"));
}

#[test]
fn a_broken_marker_shows_no_secret() {
    let (_temp, outer, deep) = nested();
    marker_in(&outer.join("inner"), b"[models.providers.p]\napi_key = hidden-value\n");
    let error = find_root(None, &deep).unwrap_err();
    assert!(!format!("{error:?}").contains("hidden-value"), "{error:?}");
}

#[test]
fn what_stands_in_the_way_of_a_folder_is_found() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("data");
    assert_eq!(not_a_folder(&file.join("deep/roster.db")), None);
    std::fs::write(&file, b"").unwrap();
    assert_eq!(not_a_folder(&file.join("deep/roster.db")), Some(file.as_path()));
    assert_eq!(not_a_folder(&file), None, "the file itself is looked at by whoever opens it");
}

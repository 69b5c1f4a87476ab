#![allow(clippy::disallowed_methods, reason = "a test makes the files it looks at")]

use std::fs;

use super::*;

fn project() -> (tempfile::TempDir, ProjectFolders) {
    let root = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(root.path().join("docs/deep/.hidden")).expect("made");
    for file in ["docs/a.md", "docs/deep/b.MARKDOWN", "docs/deep/.hidden/c.md", "docs/.d.md", "docs/e.txt", "f.md"] {
        fs::write(root.path().join(file), file).expect("written");
    }
    let folders = ProjectFolders::new(root.path());
    (root, folders)
}

fn paths(listing: &Listing) -> Vec<&str> {
    listing.files.iter().map(|file| file.path.as_str()).collect()
}

#[tokio::test]
async fn only_markdown_that_is_not_hidden_is_listed() {
    let (_root, folders) = project();
    let listing = folders.list("docs").await.expect("listed");
    assert_eq!(paths(&listing), ["docs/a.md", "docs/deep/b.MARKDOWN"]);
    assert_eq!(folders.read("docs/a.md").await.as_deref(), Ok("docs/a.md"));
    assert_eq!(folders.look("docs"), Ok(()));
    assert_eq!(folders.look("doc"), Err(Unreadable::Missing));
    assert_eq!(folders.look("f.md"), Err(Unreadable::NotAFolder));
}

#[cfg(unix)]
#[tokio::test]
async fn no_link_leads_out() {
    let (root, folders) = project();
    let outside = tempfile::tempdir().expect("a folder");
    fs::write(outside.path().join("secret.md"), "secret").expect("written");
    let link = |from: &str, to: &Path| std::os::unix::fs::symlink(to, root.path().join(from)).expect("linked");
    link("docs/out.md", &outside.path().join("secret.md"));
    link("docs/out", outside.path());
    link("elsewhere", outside.path());
    link("inside", &root.path().join("docs"));
    assert_eq!(paths(&folders.list("docs").await.expect("listed")), ["docs/a.md", "docs/deep/b.MARKDOWN"]);
    assert_eq!(folders.look("elsewhere"), Err(Unreadable::Outside));
    assert_eq!(folders.look("inside"), Ok(()));
    assert!(folders.read("docs/out.md").await.is_err(), "a file that became a link is not read");
}

#[tokio::test]
async fn large_files_are_left_out_and_counted() {
    let (root, folders) = project();
    fs::write(root.path().join("docs/big.md"), vec![b'x'; 1024 * 1024 + 1]).expect("written");
    let listing = folders.list("docs").await.expect("listed");
    assert_eq!((listing.files.len(), listing.left_out), (2, 1));
}

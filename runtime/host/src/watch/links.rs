//! Where links lead. A link on the way to a file may be swapped without a trace in the folder of the file's name.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// More steps than this is a ring, as for the system itself.
const MOST_STEPS: usize = 40;

/// The folders in which something on the way from `path` to the real file could be replaced: that of every link met,
/// and that of the file itself. Only the last component and what links lead to are walked: the folders before are the
/// caller's.
pub(crate) fn link_folders(path: &Path) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    let Some(folder) = path.parent().and_then(|folder| folder.canonicalize().ok()) else { return folders };
    let Some(name) = path.file_name() else { return folders };
    let mut steps = 0;
    let mut reached = folder;
    let mut ahead: Vec<PathBuf> = vec![PathBuf::from(name)];
    while let Some(next) = ahead.pop() {
        let Some(Component::Normal(_)) = next.components().next() else {
            match next.components().next() {
                Some(Component::ParentDir) => drop(reached.pop()),
                Some(Component::RootDir) => reached = PathBuf::from("/"),
                _ => {}
            }
            continue;
        };
        let there = reached.join(&next);
        folders.insert(reached.clone());
        let Ok(target) = std::fs::read_link(&there) else {
            reached = there;
            continue;
        };
        steps += 1;
        if steps > MOST_STEPS {
            return folders;
        }
        ahead.extend(target.components().rev().map(|part| PathBuf::from(part.as_os_str())));
    }
    folders
}

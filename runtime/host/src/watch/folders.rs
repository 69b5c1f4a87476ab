//! Which folders are watched now. A folder is known by its inode: when another one has taken its place, it is watched
//! anew.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use notify::{Config, RecommendedWatcher, RecursiveMode, Watcher};

use super::hint::{Hint, hints, limit};

/// Folders under watch.
pub(crate) struct Watch {
    system: Option<Box<dyn System>>,
    armed: BTreeMap<PathBuf, Identity>,
}

/// Device and inode.
type Identity = (u64, u64);

/// What the operating system does for a watch.
pub(super) trait System: Send {
    fn add(&mut self, folder: &Path) -> notify::Result<()>;
    fn remove(&mut self, folder: &Path);
}

impl System for RecommendedWatcher {
    fn add(&mut self, folder: &Path) -> notify::Result<()> {
        self.watch(folder, RecursiveMode::NonRecursive)
    }

    fn remove(&mut self, folder: &Path) {
        // It may be gone, and its watch with it.
        let _ = self.unwatch(folder);
    }
}

impl Watch {
    /// A watch that tells `hear`, on a thread of its own, and says why it cannot be had if so.
    pub(crate) fn start(hear: impl Fn(Hint) + Send + 'static) -> (Self, Option<String>) {
        let each = move |event| hints(event).into_iter().for_each(&hear);
        match RecommendedWatcher::new(each, Config::default()) {
            Ok(system) => (Self::over(Box::new(system)), None),
            Err(error) => (Self::none(), Some(limit(&error).unwrap_or_else(|| cannot(&error)))),
        }
    }

    /// No watch at all.
    pub(crate) fn none() -> Self {
        Self { system: None, armed: BTreeMap::new() }
    }

    pub(super) fn over(system: Box<dyn System>) -> Self {
        Self { system: Some(system), armed: BTreeMap::new() }
    }

    /// Whether the system tells of anything.
    pub(crate) fn is_on(&self) -> bool {
        self.system.is_some()
    }

    /// Watches these folders and no others; those that were replaced are watched anew. Folders that are not there are
    /// passed over. Gives whether anything was armed, and why something could not be.
    pub(crate) fn arm(&mut self, wanted: &BTreeSet<PathBuf>) -> (bool, Option<String>) {
        let Some(system) = &mut self.system else { return (false, None) };
        // One folder under two names would be one watch of the system, and tell of one name only.
        let wanted: BTreeMap<PathBuf, Identity> = wanted
            .iter()
            .filter_map(|folder| folder.canonicalize().ok())
            .filter_map(|folder| identity(&folder).map(|identity| (folder, identity)))
            .collect();
        let gone = |folder: &PathBuf, identity: &Identity| wanted.get(folder) != Some(identity);
        let stale: Vec<PathBuf> = self
            .armed
            .iter()
            .filter(|(folder, identity)| gone(folder, identity))
            .map(|(folder, _)| folder.clone())
            .collect();
        for folder in stale {
            system.remove(&folder);
            self.armed.remove(&folder);
        }
        let (mut added, mut failure) = (false, None);
        for (folder, identity) in wanted {
            if self.armed.contains_key(&folder) {
                continue;
            }
            match system.add(&folder) {
                Ok(()) => {
                    added = true;
                    self.armed.insert(folder, identity);
                }
                // Gone in between: whoever took it away is told of by its parent.
                Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => {}
                Err(error) => failure = Some(limit(&error).unwrap_or_else(|| cannot(&error))),
            }
        }
        (added, failure)
    }
}

fn cannot(error: &notify::Error) -> String {
    format!("the system cannot tell of changes: {error}")
}

fn identity(folder: &Path) -> Option<Identity> {
    std::fs::metadata(folder).ok().filter(std::fs::Metadata::is_dir).map(|about| (about.dev(), about.ino()))
}

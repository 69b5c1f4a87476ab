//! From what the system reports to hints.

use std::path::PathBuf;

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{ErrorKind, Event};

/// Something may have moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hint {
    /// This path.
    Path(PathBuf, Seen),
    /// Anything: events were lost.
    Everything,
    /// The system has no watches left; in words for people.
    Unwatched(String),
}

/// What is known of a path that moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Made, moved, removed, its rights changed.
    Moved,
    /// Written to, and not closed since.
    Writing,
    /// Closed by who wrote to it, or another file came to its place whole.
    Closed,
}

impl Seen {
    /// Both, in this order.
    pub(crate) fn then(self, later: Self) -> Self {
        if later == Self::Moved { self } else { later }
    }
}

/// The hints of an event. Looking at files and reading them is no change.
pub(super) fn hints(event: notify::Result<Event>) -> Vec<Hint> {
    let event = match event {
        Ok(event) => event,
        Err(error) => return vec![failed(&error)],
    };
    if event.need_rescan() {
        return vec![Hint::Everything];
    }
    let seen = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Seen::Closed,
        EventKind::Access(_) => return Vec::new(),
        EventKind::Modify(ModifyKind::Data(_)) => Seen::Writing,
        // A whole file came to this place, or left it.
        EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::From)) | EventKind::Remove(_) => Seen::Closed,
        // `To` and `From` came before it.
        EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => return Vec::new(),
        _ => Seen::Moved,
    };
    event.paths.into_iter().map(|path| Hint::Path(path, seen)).collect()
}

fn failed(error: &notify::Error) -> Hint {
    match limit(error) {
        Some(reason) => Hint::Unwatched(reason),
        None => Hint::Everything,
    }
}

/// Which limit of the system was met, in words for people; `None` when it was none.
pub(super) fn limit(error: &notify::Error) -> Option<String> {
    const TOO_MANY_FILES: [i32; 2] = [23, 24];
    match &error.kind {
        ErrorKind::MaxFilesWatch => {
            Some("the system has no file watches left: raise fs.inotify.max_user_watches".into())
        }
        ErrorKind::Io(cause) if cause.raw_os_error().is_some_and(|code| TOO_MANY_FILES.contains(&code)) => {
            Some("the system has no watchers left: raise fs.inotify.max_user_instances".into())
        }
        _ => None,
    }
}

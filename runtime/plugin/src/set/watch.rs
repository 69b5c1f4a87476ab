//! Whether a plugin's file is another one than before, and quiet.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use crate::settings::Settings;
use crate::stage::locate;

/// A file that did not change for so long is not being written any more.
const QUIET: Duration = Duration::from_millis(500);

/// What a look sees: where, when written, how long, and which file it is.
type Stamp = Option<(PathBuf, SystemTime, u64, u64)>;

/// The file as it was looked at.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// When it was last taken up.
    taken: Option<Stamp>,
    /// What was seen last, and since when it is so.
    seen: Option<(Stamp, Instant)>,
}

impl Watched {
    /// Looks; true when the file is another one than the one taken up and has been quiet. The first look takes it up.
    pub(super) fn look(&mut self, settings: &Settings) -> bool {
        let (now, stamp) = (Instant::now(), stamp(settings));
        let Some(taken) = &self.taken else {
            self.taken = Some(stamp);
            return false;
        };
        if *taken == stamp {
            self.seen = None;
            return false;
        }
        match &self.seen {
            Some((seen, since)) if *seen == stamp => {
                if now.duration_since(*since) < QUIET {
                    return false;
                }
            }
            _ => {
                self.seen = Some((stamp, now));
                return false;
            }
        }
        self.taken = Some(stamp);
        self.seen = None;
        true
    }
}

fn stamp(settings: &Settings) -> Stamp {
    let path = locate(&settings.file, &settings.folders).ok()?;
    let metadata = path.metadata().ok()?;
    Some((path, metadata.modified().ok()?, metadata.len(), inode(&metadata)))
}

#[cfg(unix)]
fn inode(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &std::fs::Metadata) -> u64 {
    0
}

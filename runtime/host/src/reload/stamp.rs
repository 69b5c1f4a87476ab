//! What the system says of a file without reading it, and what stands for its content.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// Size, times, inode and device of the file at the end of every link: content that changed shows here, except when
/// its change left them all the same (a clock set back, a coarse clock of a network mount).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
    device: u64,
}

impl Stamp {
    /// Of what is at `path`, links followed; `None` when nothing is there or may be seen.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let about = std::fs::metadata(path).ok()?;
        Some(Self {
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
            inode: about.ino(),
            device: about.dev(),
        })
    }
}

/// The stamps of an agent's file and of its instructions file. A file that is not there has none.
pub(super) type Stamps = [Option<Stamp>; 2];

/// Stands for content: SHA-256 over the bytes, or over why they could not be read.
pub(super) type Digest = [u8; 32];

/// The digest of several contents together.
pub(super) fn digest<'a>(contents: impl IntoIterator<Item = Result<&'a [u8], String>>) -> Digest {
    let mut hash = Sha256::new();
    for content in contents {
        let (label, bytes) = match &content {
            Ok(bytes) => (b'+', *bytes),
            Err(failure) => (b'-', failure.as_bytes()),
        };
        hash.update([label]);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    hash.finalize().into()
}

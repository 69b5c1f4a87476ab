//! The two files of `config/`: what was taken from each, and what is wrong with what is there now.

use std::path::{Path, PathBuf};

use roster_engine::definition::Problem;
use tokio::time::Instant;

use super::stamp::{Digest, Stamp, digest};
use super::tracked::{Found, Look, PATIENCE, Tracked};
use crate::config::project::unreadable;
use crate::config::{ReadFailure, read_file};

/// One file of `config/`.
pub(super) struct Single {
    pub(super) tracked: Tracked,
    path: PathBuf,
    /// Relative to the root.
    name: &'static str,
}

/// What a look at a file came to.
pub(super) enum Seen {
    /// Nothing to take.
    Nothing,
    /// This may be taken, if it can be used or was given its time.
    Content {
        /// The bytes, or why not.
        bytes: Result<Vec<u8>, ReadFailure>,
        /// To be handed back when it is taken.
        mark: Mark,
        /// Whether it is taken also when it cannot be used.
        patient: bool,
    },
}

/// What was read, as [`Tracked::take`] wants it.
pub(super) struct Mark(Option<Stamp>, Digest);

impl Single {
    pub(super) fn new(root: &Path, name: &'static str) -> Self {
        Self { tracked: Tracked::default(), path: root.join(name), name }
    }

    /// Looks at the file. `now_or_never`: it is read, and taken as it is, unless somebody is writing to it.
    pub(super) fn look(&mut self, written: Option<Instant>, now: Instant, now_or_never: bool) -> Seen {
        let stamp = Stamp::of(&self.path);
        if now_or_never && written.is_none() {
            let (bytes, digest) = self.read();
            return match self.tracked.is_taken_as(digest) {
                true => {
                    self.tracked.take([stamp, None], digest);
                    Seen::Nothing
                }
                false => Seen::Content { bytes, mark: Mark(stamp, digest), patient: true },
            };
        }
        if self.tracked.look([stamp, None], written, now) != Look::Read {
            return Seen::Nothing;
        }
        let (bytes, digest) = self.read();
        match self.tracked.read(digest, now) {
            Found::Same | Found::Wait => Seen::Nothing,
            Found::Stable(quiet) => Seen::Content { bytes, mark: Mark(stamp, digest), patient: quiet >= PATIENCE },
        }
    }

    fn read(&self) -> (Result<Vec<u8>, ReadFailure>, Digest) {
        let bytes = read_file(&self.path);
        let digest = digest([bytes.as_deref().map_err(ToString::to_string)]);
        (bytes, digest)
    }

    /// What was seen is the value now.
    pub(super) fn take(&mut self, Mark(stamp, digest): Mark) {
        self.tracked.take([stamp, None], digest);
    }

    /// The problem of a file that cannot be read.
    pub(super) fn unreadable(&self, failure: &ReadFailure) -> Problem {
        unreadable(self.name, failure)
    }

    /// Whether its content is another than the one taken.
    pub(super) fn differs(&self) -> bool {
        !self.tracked.is_taken_as(self.read().1)
    }
}

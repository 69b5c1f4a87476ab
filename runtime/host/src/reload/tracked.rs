//! When a file's content may be taken for a value. Knows no file and no clock: it is told what was seen, and when.

use std::time::Duration;

use tokio::time::Instant;

use super::stamp::{Digest, Stamps};

/// A file must be unchanged for this long.
pub(super) const QUIET: Duration = Duration::from_millis(150);
/// Content that cannot be used, or is not there, must stay so for this long.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);
/// A file open for writing is left alone until it is closed, but at most for this long after it was last written to:
/// the word of its closing may have been lost.
pub(super) const WRITTEN: Duration = Duration::from_secs(5);

/// What is known of one file, or of a few that make one value.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    /// What was taken last.
    stamps: Stamps,
    digest: Option<Digest>,
    /// What is there now and not taken yet.
    settling: Option<Settling>,
}

#[derive(Debug)]
struct Settling {
    stamps: Stamps,
    digest: Option<Digest>,
    /// When the content was first seen as it is now.
    since: Instant,
    /// When to look again.
    due: Instant,
}

/// What to do after a look at the stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Nothing: it is as it was taken.
    Rest,
    /// Nothing yet: it is being written.
    Wait,
    /// Read it.
    Read,
}

/// What to do after reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// The content is what was taken: touched, or moved.
    Same,
    /// Not settled: look again later.
    Wait,
    /// Unchanged for so long: it may be taken.
    Stable(Duration),
}

impl Tracked {
    /// Whether something was ever taken.
    pub(super) fn is_taken(&self) -> bool {
        self.digest.is_some()
    }

    /// Whether this content is what was taken last.
    pub(super) fn is_taken_as(&self, digest: Digest) -> bool {
        self.digest == Some(digest)
    }

    /// When to look again; `None` when all is settled.
    pub(super) fn due(&self) -> Option<Instant> {
        self.settling.as_ref().map(|settling| settling.due)
    }

    /// The stamps are these now. `written` is when somebody who has not closed the file since last wrote to it.
    pub(super) fn look(&mut self, stamps: Stamps, written: Option<Instant>, now: Instant) -> Look {
        if self.settling.is_none() && self.is_taken() && stamps == self.stamps {
            return Look::Rest;
        }
        let settling = self.settling.get_or_insert(Settling { stamps, digest: None, since: now, due: now });
        if settling.stamps != stamps {
            *settling = Settling { stamps, digest: None, since: now, due: now };
        }
        match written.map(|written| written + WRITTEN) {
            Some(until) if now < until => {
                settling.due = until;
                Look::Wait
            }
            _ => Look::Read,
        }
    }

    /// Its content must be looked at though its stamps may be the same.
    pub(super) fn suspect(&mut self, now: Instant) {
        let stamps = self.stamps;
        self.settling.get_or_insert(Settling { stamps, digest: None, since: now, due: now });
    }

    /// It was read after [`Look::Read`], and this is its content.
    pub(super) fn read(&mut self, digest: Digest, now: Instant) -> Found {
        let Some(settling) = &mut self.settling else { return Found::Same };
        if self.digest == Some(digest) {
            self.stamps = settling.stamps;
            self.settling = None;
            return Found::Same;
        }
        if settling.digest != Some(digest) {
            if settling.digest.is_some() {
                settling.since = now;
            }
            settling.digest = Some(digest);
        }
        let quiet = now.duration_since(settling.since);
        settling.due = settling.since + QUIET;
        if quiet < QUIET { Found::Wait } else { Found::Stable(quiet) }
    }

    /// The content cannot be used yet: look again when it had [`PATIENCE`].
    pub(super) fn be_patient(&mut self, now: Instant) {
        if let Some(settling) = &mut self.settling {
            // In between too, so that a repaired file is not late when no event tells of it.
            settling.due = (settling.since + PATIENCE).min(now + QUIET);
        }
    }

    /// Starts waiting anew: what is missing is missing for another reason.
    pub(super) fn start_over(&mut self, now: Instant) {
        if let Some(settling) = &mut self.settling {
            settling.since = now;
            settling.due = now + QUIET;
        }
    }

    /// The content read last is the value now.
    pub(super) fn take(&mut self, stamps: Stamps, digest: Digest) {
        *self = Self { stamps, digest: Some(digest), settling: None };
    }
}

#[cfg(test)]
mod tests;

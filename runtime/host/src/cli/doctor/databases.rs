//! The databases and the folder they live in.

use std::io::{IsTerminal, Write, stderr};
use std::path::Path;

use roster_storage::sqlite::{
    self, Counts, FileState, Inspection, Integrity, OpenError, OpenErrorKind, check_integrity,
};

use super::finding::Finding;
use crate::assemble::{told, told_of};
use crate::paths::{NOT_A_FOLDER, not_a_folder};
use crate::render::many;

const SESSIONS: &str = "sessions database";
const OBSERVABILITY: &str = "observability database";

/// Whether a file can be written where the sessions database is or will be.
pub(super) fn folder(database: &Path) -> Finding {
    if let Some(blocking) = not_a_folder(database) {
        let what = format!("{} must be a folder, and is none", blocking.display());
        return Finding::fail("data folder", what, NOT_A_FOLDER);
    }
    let existing = database.ancestors().skip(1).find(|folder| folder.is_dir());
    let Some(folder) = existing else {
        return Finding::fail(
            "data folder",
            "no folder on the way to it exists",
            "choose another place under [storage]",
        );
    };
    match tempfile_in(folder) {
        Ok(()) => Finding::ok("data folder", format_args!("{} can be written", folder.display())),
        Err(error) => Finding::fail(
            "data folder",
            format_args!("{} cannot be written: {error}", folder.display()),
            "give this user the right to write there, or choose another place under [storage]",
        ),
    }
}

/// Makes and removes a file: permissions alone do not tell of read-only disks.
fn tempfile_in(folder: &Path) -> std::io::Result<()> {
    let probe = folder.join(format!(".roster-doctor-{}", std::process::id()));
    std::fs::OpenOptions::new().write(true).create_new(true).open(&probe)?;
    std::fs::remove_file(&probe)
}

/// The sessions database, read from end to end; what `roster serve` refuses fails here with the same words.
pub(super) fn sessions(path: &Path) -> Finding {
    let damaged = "stop the runtime, keep a copy of the file, then put a backup back with `roster restore FILE`";
    let look = Look { subject: SESSIONS, bad: Finding::fail, damaged };
    look.at(path, sqlite::inspect(path))
}

/// The observability database: derived data, so damage costs nothing that matters.
pub(super) fn observability(path: &Path) -> Finding {
    let damaged = "delete the file: no conversation hangs on it, and a new one is made";
    let look = Look { subject: OBSERVABILITY, bad: Finding::warn, damaged };
    look.at(path, sqlite::inspect_observations(path))
}

/// How one of the databases is looked at.
struct Look {
    subject: &'static str,
    /// What it means that the database cannot be used.
    bad: fn(&str, String, String) -> Finding,
    /// What to do about a damaged file.
    damaged: &'static str,
}

impl Look {
    /// `inspected` is what opening the file would say.
    fn at(&self, path: &Path, inspected: Result<Inspection, OpenError>) -> Finding {
        let state = match inspected {
            Ok(inspection) => inspection.state,
            Err(error) if error.kind() == OpenErrorKind::Damaged => return self.is_damaged(told(&error).0),
            Err(error) => {
                let (what, hint) = told_of(path, &error);
                return (self.bad)(self.subject, what, hint.unwrap_or_default());
            }
        };
        let shown = path.display();
        match state {
            FileState::Missing => {
                Finding::ok(self.subject, format_args!("{shown} is not there yet; it is made when it is needed"))
            }
            FileState::Empty => {
                Finding::ok(self.subject, format_args!("{shown} is empty; it is filled when it is needed"))
            }
            FileState::Older { newest, .. } => {
                self.whole(path, &format!("; the next start makes it version {newest} and keeps a copy"))
            }
            FileState::Current { .. } => self.whole(path, ""),
        }
    }

    /// A file that opens, read to its end.
    fn whole(&self, path: &Path, more: &str) -> Finding {
        match check_integrity(path, progress) {
            Err(error) => self.is_damaged(told(&error).0),
            Ok(Integrity { problems, .. }) if !problems.is_empty() => {
                self.is_damaged(format!("{} is damaged: {}", path.display(), problems.join("; ")))
            }
            Ok(sound) => Finding::ok(self.subject, sound_text(path, &sound) + more),
        }
    }

    fn is_damaged(&self, what: String) -> Finding {
        (self.bad)(self.subject, what, self.damaged.to_owned())
    }
}

fn sound_text(path: &Path, sound: &Integrity) -> String {
    let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let counts = |counts: Counts| format!(", {}, {}", many(counts.threads, "thread"), many(counts.messages, "message"));
    let counts = sound.counts.map(counts).unwrap_or_default();
    format!("{} is sound: schema version {}, {bytes} bytes{counts}", path.display(), sound.version)
}

/// Shows a person that a big file is being read.
fn progress(done: usize, of: usize) {
    let mut out = stderr().lock();
    if out.is_terminal() {
        let text =
            if done < of { format!("\rchecking table {} of {of} …", done + 1) } else { "\r\u{1b}[K".to_owned() };
        let _ = out.write_all(text.as_bytes());
        let _ = out.flush();
    }
}

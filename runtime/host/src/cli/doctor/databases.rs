//! The databases and the folder they live in.

use std::io::{IsTerminal, Write, stderr};
use std::path::Path;

use roster_engine::memory::recall::held_bytes;
use roster_storage::sqlite::{
    self, Counts, FileState, Inspection, Integrity, OpenError, OpenErrorKind, Vectors, check_integrity,
};

use super::finding::Finding;
use crate::assemble::{told, told_of};
use crate::paths::{NOT_A_FOLDER, RUNTIME_FILE, not_a_folder};
use crate::render::many;

const VECTORS: &str = "vector cache";
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

/// The sessions database, read from end to end; what `roster serve` refuses fails here with the same words. And whether
/// the vectors of each owner fit into the cache of so many bytes.
pub(super) fn sessions(path: &Path, vector_cache: usize) -> Vec<Finding> {
    let damaged = "stop the runtime, keep a copy of the file, then put a backup back with `roster restore FILE`";
    let look = Look { subject: SESSIONS, bad: Finding::fail, damaged };
    let (file, sound) = look.at(path, sqlite::inspect(path));
    let vectors = sound.and_then(|sound| sound.most_vectors).map(|most| vectors(most, vector_cache as u64));
    std::iter::once(file).chain(vectors).collect()
}

/// Whether the owner with the most vectors can be held in memory.
fn vectors(most: Vectors, vector_cache: u64) -> Finding {
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    let held = held_bytes(most.count, most.bytes);
    let text = format!("{} of one owner take {} MiB", many(most.count, "vector"), mebibytes(held));
    if held <= vector_cache {
        return Finding::ok(VECTORS, format_args!("at most {text} of the {} MiB", mebibytes(vector_cache)));
    }
    Finding::warn(
        VECTORS,
        format_args!("{text}, and it holds {} MiB: each of that owner's turns reads them all", mebibytes(vector_cache)),
        format_args!("`[limits] vector_cache = \"{}MiB\"` in {RUNTIME_FILE} has room for them", mebibytes(held) + 1),
    )
}

/// The observability database: derived data, so damage costs nothing that matters.
pub(super) fn observability(path: &Path) -> Finding {
    let damaged = "delete the file: no conversation hangs on it, and a new one is made";
    let look = Look { subject: OBSERVABILITY, bad: Finding::warn, damaged };
    look.at(path, sqlite::inspect_observations(path)).0
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
    /// `inspected` is what opening the file would say. With what was found of a sound file.
    fn at(&self, path: &Path, inspected: Result<Inspection, OpenError>) -> (Finding, Option<Integrity>) {
        let state = match inspected {
            Ok(inspection) => inspection.state,
            Err(error) if error.kind() == OpenErrorKind::Damaged => return (self.is_damaged(told(&error).0), None),
            Err(error) => {
                let (what, hint) = told_of(path, &error);
                return ((self.bad)(self.subject, what, hint.unwrap_or_default()), None);
            }
        };
        let shown = path.display();
        match state {
            FileState::Missing => {
                let what = format_args!("{shown} is not there yet; it is made when it is needed");
                (Finding::ok(self.subject, what), None)
            }
            FileState::Empty => {
                let what = format_args!("{shown} is empty; it is filled when it is needed");
                (Finding::ok(self.subject, what), None)
            }
            FileState::Older { newest, .. } => {
                self.whole(path, &format!("; the next start makes it version {newest} and keeps a copy"))
            }
            FileState::Current { .. } => self.whole(path, ""),
        }
    }

    /// A file that opens, read to its end.
    fn whole(&self, path: &Path, more: &str) -> (Finding, Option<Integrity>) {
        match check_integrity(path, progress) {
            Err(error) => (self.is_damaged(told(&error).0), None),
            Ok(Integrity { problems, .. }) if !problems.is_empty() => {
                (self.is_damaged(format!("{} is damaged: {}", path.display(), problems.join("; "))), None)
            }
            Ok(sound) => (Finding::ok(self.subject, sound_text(path, &sound) + more), Some(sound)),
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

//! The databases and the folder they live in.

use std::io::{IsTerminal, Write, stderr};
use std::path::Path;

use roster_storage::sqlite::{Integrity, check_integrity};

use super::finding::Finding;
use crate::assemble::told;

const SESSIONS: &str = "sessions database";
const OBSERVABILITY: &str = "observability database";

/// Whether a file can be written where the sessions database is or will be.
pub(super) fn folder(database: &Path) -> Finding {
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

/// The sessions database, read from end to end.
pub(super) fn sessions(path: &Path) -> Finding {
    let damaged = "stop the runtime, keep a copy of the file, then put a backup back with `roster restore FILE`";
    look(SESSIONS, path, |what| Finding::fail(SESSIONS, what, damaged))
}

/// The observability database: derived data, so damage costs nothing that matters.
pub(super) fn observability(path: &Path) -> Finding {
    let useless = "delete the file: no conversation hangs on it, and a new one is made";
    look(OBSERVABILITY, path, |what| Finding::warn(OBSERVABILITY, what, useless))
}

fn look(subject: &str, path: &Path, bad: impl Fn(String) -> Finding) -> Finding {
    let shown = path.display();
    if !path.exists() {
        return Finding::ok(subject, format_args!("{shown} is not there yet; it is made when it is needed"));
    }
    if !path.is_file() {
        let what = format!("{shown} is a folder or no ordinary file");
        return Finding::fail(subject, what, "name a file under [storage], or move what is there away");
    }
    match check_integrity(path, progress) {
        Err(error) => bad(told(&error).0),
        Ok(Integrity { problems, .. }) if !problems.is_empty() => {
            bad(format!("{shown} is damaged: {}", problems.join("; ")))
        }
        Ok(sound) => Finding::ok(subject, sound_text(path, &sound)),
    }
}

fn sound_text(path: &Path, sound: &Integrity) -> String {
    let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let counts = sound.counts.map(|counts| format!(", {} threads, {} messages", counts.threads, counts.messages));
    let counts = counts.unwrap_or_default();
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

//! The private folder of copies: one folder a run of the process, swept when the run is over, and the last good
//! libraries of each plugin for `rollback`.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::source::{Source, hex, read};
use crate::refusal::{Refusal, RefusalKind};

/// Libraries kept of each plugin.
const KEPT: usize = 3;
/// The file that says a run is alive: its process holds a lock on it.
const LOCK: &str = "lock";
/// Before the random part of a run's folder.
const RUN: &str = "run-";

/// The folder of copies. Nothing is made before the first copy is.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    run: Mutex<Option<Run>>,
    counter: AtomicU64,
}

/// This run's folder. The lock ends with the process, however that comes about.
#[derive(Debug)]
struct Run {
    folder: PathBuf,
    _lock: File,
}

impl Drop for Run {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// A copy to be opened. Removed when dropped: what is mapped stays mapped.
#[derive(Debug)]
pub struct Staged {
    /// Where it is.
    pub path: PathBuf,
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Swept with the run's folder at the latest.
        drop(fs::remove_file(&self.path));
    }
}

impl Cache {
    /// Keeps copies below `folder`.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), run: Mutex::default(), counter: AtomicU64::new(0) }
    }

    /// This run's folder; made when it is first asked for, when those of runs that are over are swept.
    fn run(&self) -> Result<PathBuf, Refusal> {
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = &*run {
            return Ok(run.folder.clone());
        }
        let made = self.make_run()?;
        let folder = made.folder.clone();
        *run = Some(made);
        Ok(folder)
    }

    fn make_run(&self) -> Result<Run, Refusal> {
        let cannot = |error: io::Error| Refusal::system(&format!("`{}` cannot be used", self.folder.display()), &error);
        private(&self.folder).map_err(cannot)?;
        sweep(&self.folder);
        let mut nonce = [0; 8];
        getrandom::fill(&mut nonce).map_err(|error| Refusal::system("no random numbers", &error))?;
        let folder = self.folder.join(format!("{RUN}{}", hex(&nonce)));
        // The lock is taken before the folder has the name that is swept.
        let making = self.folder.join(format!("new-{}", hex(&nonce)));
        private(&making).map_err(cannot)?;
        let lock = OpenOptions::new().write(true).create_new(true).open(making.join(LOCK)).map_err(cannot)?;
        lock.lock().map_err(cannot)?;
        fs::rename(&making, &folder).map_err(cannot)?;
        Ok(Run { folder, _lock: lock })
    }

    /// Writes a copy under a name that was never used.
    ///
    /// # Errors
    /// [`RefusalKind::System`].
    pub fn stage(&self, key: &str, source: &Source) -> Result<Staged, Refusal> {
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        let suffix = std::env::consts::DLL_SUFFIX;
        let name = format!("{key}-{}-{number}{suffix}", source.sha256.get(..16).unwrap_or_default());
        let path = self.run()?.join(name);
        write_new(&path, &source.bytes)
            .map_err(|error| Refusal::system(&format!("`{}` cannot be written", path.display()), &error))?;
        Ok(Staged { path })
    }

    /// Keeps a library that serves, for going back to it; the oldest of more than three goes.
    ///
    /// # Errors
    /// Whatever the disk says.
    pub fn keep(&self, key: &str, source: &Source) -> io::Result<()> {
        let folder = self.kept_folder(key);
        private(&folder)?;
        let mut kept = self.kept(key);
        kept.retain(|(_, hash)| *hash != source.sha256);
        let number = kept.last().map_or(0, |(number, _)| number + 1);
        for (old, hash) in kept.iter().take((kept.len() + 1).saturating_sub(KEPT)) {
            fs::remove_file(folder.join(kept_name(*old, hash)))?;
        }
        for (old, hash) in self.kept(key).into_iter().filter(|(_, hash)| *hash == source.sha256) {
            fs::remove_file(folder.join(kept_name(old, &hash)))?;
        }
        write_new(&folder.join(kept_name(number, &source.sha256)), &source.bytes)
    }

    /// The libraries kept of a plugin, oldest first: number and hash.
    #[must_use]
    pub fn kept(&self, key: &str) -> Vec<(u64, String)> {
        #[expect(clippy::disallowed_methods, reason = "the cache is this room's own")]
        let Ok(entries) = fs::read_dir(self.kept_folder(key)) else { return Vec::new() };
        let parse = |name: &str| {
            let (number, hash) = name.split_once('-')?;
            Some((number.parse().ok()?, hash.to_owned()))
        };
        let mut kept: Vec<(u64, String)> =
            entries.flatten().filter_map(|entry| parse(&entry.file_name().to_string_lossy())).collect();
        kept.sort();
        kept
    }

    /// A kept library, read again.
    ///
    /// # Errors
    /// [`RefusalKind::Missing`] when it is not kept; [`RefusalKind::Damaged`] when it is not what was kept.
    pub fn kept_source(&self, key: &str, sha256: &str) -> Result<Source, Refusal> {
        let found = self.kept(key).into_iter().find(|(_, hash)| hash == sha256);
        let (number, hash) = found.ok_or_else(|| {
            let message = format!("has no library {} that was kept", sha256.get(..12).unwrap_or(sha256));
            Refusal::new(RefusalKind::Missing, message, "`roster plugins list` shows what serves")
        })?;
        let source = read(&self.kept_folder(key).join(kept_name(number, &hash)))?;
        if source.sha256 != hash {
            let message = format!("is damaged where it was kept: library {}", hash.get(..12).unwrap_or(&hash));
            return Err(Refusal::new(RefusalKind::Damaged, message, "build the plugin again"));
        }
        Ok(source)
    }

    fn kept_folder(&self, key: &str) -> PathBuf {
        self.folder.join("kept").join(key)
    }
}

fn kept_name(number: u64, hash: &str) -> String {
    format!("{number:08}-{hash}")
}

/// Makes a folder that only its owner enters.
fn private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Writes a new file and gives it its name when it is whole.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let making = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o500);
    let written =
        options.open(&making).and_then(|mut file| file.write_all(bytes)).and_then(|()| fs::rename(&making, path));
    written.inspect_err(|_| drop(fs::remove_file(&making)))
}

/// Removes what runs left behind that are over.
fn sweep(folder: &Path) {
    #[expect(clippy::disallowed_methods, reason = "the cache is this room's own")]
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(RUN) {
            continue;
        }
        #[expect(clippy::disallowed_methods, reason = "the cache is this room's own")]
        let over = File::open(entry.path().join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok());
        if over {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

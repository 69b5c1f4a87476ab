//! Who is alive. Every open store keeps one small file locked beside the database; the system drops the lock when
//! the process dies, however it dies. A lease names its holder's file.
//!
//! Whoever can read such a file can lock it, and a dead holder whose file somebody else keeps locked looks alive. So
//! the files are 0600 and their folder 0700 (see `private`): only the user who owns the data can do that.

#![expect(clippy::disallowed_methods, reason = "the lock files belong to the store")]

use std::fs::{File, OpenOptions, TryLockError};
use std::hash::BuildHasher;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::OpenError;
use super::{open, private};

/// The file every open store locks together with others, and a restore alone.
const GATE: &str = "gate";

/// This store's own lock file, locked until dropped.
#[derive(Debug)]
pub(super) struct Holder {
    name: String,
    path: PathBuf,
    /// Both hold their locks.
    own: Option<File>,
    gate: Option<File>,
}

/// The folder of a database's lock files.
pub(super) fn folder(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".holders");
    PathBuf::from(name)
}

/// A name never used before: std's hasher keys are random. It is no data, so it does not come from the id source.
fn fresh_name() -> String {
    let random = || std::hash::RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", random(), random())
}

/// Opening a pipe waits for its other end, and a device may do anything.
fn is_odd(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

fn refuse_odd(path: &Path) -> io::Result<()> {
    if is_odd(path) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{}` is no ordinary file", path.display())));
    }
    Ok(())
}

fn make(path: &Path) -> io::Result<File> {
    refuse_odd(path)?;
    private::open(path, OpenOptions::new().create(true).truncate(false))
}

/// A lock file that is there.
fn there(path: &Path) -> io::Result<File> {
    refuse_odd(path)?;
    File::open(path)
}

/// Makes `path` and locks it with `lock`; a file that was removed in between by whoever left is made again.
fn locked(path: &Path, mut lock: impl FnMut(&File) -> io::Result<bool>) -> io::Result<Option<File>> {
    loop {
        if let Some(folder) = path.parent() {
            private::folder(folder)?;
        }
        match make(path) {
            Ok(file) if !lock(&file)? => return Ok(None),
            Ok(file) if path.exists() => return Ok(Some(file)),
            Ok(_) => {}
            // The folder was removed as empty by a store that just closed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}

fn at_once(result: Result<(), TryLockError>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Goes through the gate with others; `None` where somebody kept it shut for all of `patience`.
fn enter(gate: &Path, mut patience: Duration) -> io::Result<Option<File>> {
    locked(gate, |file| {
        while !at_once(file.try_lock_shared())? {
            if patience.is_zero() {
                return Ok(false);
            }
            open::pause_for(open::PAUSE);
            patience = patience.saturating_sub(open::PAUSE);
        }
        Ok(true)
    })
}

impl Holder {
    /// Makes and locks a file of a fresh name. Waits for a restore to end, for about `patience`.
    pub(super) fn new(database: &Path, patience: Duration) -> Result<Self, OpenError> {
        let folder = folder(database);
        let gate = folder.join(GATE);
        let failed = |error| OpenError::from_io(database, error);
        if is_odd(&gate) {
            return Err(OpenError::OddGate { path: database.to_owned(), gate });
        }
        let Some(entered) = enter(&gate, patience).map_err(failed)? else {
            return Err(OpenError::Shut { path: database.to_owned(), gate });
        };
        loop {
            let name = fresh_name();
            let path = folder.join(&name);
            if let Some(file) = locked(&path, |file| at_once(file.try_lock())).map_err(failed)? {
                return Ok(Self { name, path, own: Some(file), gate: Some(entered) });
            }
        }
    }

    /// What leases name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.path);
        self.own = None;
        self.gate = None;
        if let Some(folder) = self.path.parent() {
            leave(folder);
        }
    }
}

/// Removes the gate and the folder where nobody else is behind it.
fn leave(folder: &Path) {
    let gate = folder.join(GATE);
    if let Ok(file) = there(&gate)
        && file.try_lock().is_ok()
    {
        let _gone = std::fs::remove_file(&gate);
        // Fails while files of the dead lie in it; the next opening removes those.
        let _kept = std::fs::remove_dir(folder);
    }
}

/// Nobody has the database open, and nobody can open it, as long as this lives.
#[derive(Debug)]
pub(super) struct Alone {
    folder: PathBuf,
    gate: Option<File>,
}

impl Alone {
    /// `None` while any store has the database open.
    pub(super) fn with(database: &Path) -> io::Result<Option<Self>> {
        let folder = folder(database);
        let gate = locked(&folder.join(GATE), |file| at_once(file.try_lock()))?;
        Ok(gate.map(|gate| Self { folder, gate: Some(gate) }))
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.gate = None;
        leave(&self.folder);
    }
}

/// Whether the holder of this name lives, in whichever process.
pub(super) fn is_alive(database: &Path, name: &str) -> bool {
    match there(&folder(database).join(name)) {
        Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        Err(_) => false,
    }
}

/// The names of all files there.
fn names(database: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder(database)) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).filter(|name| name != GATE).collect()
}

/// Removes the files of the dead. Their leases must be gone before, or they are found dead by the missing file.
pub(super) fn sweep(database: &Path) {
    for name in names(database) {
        let path = folder(database).join(name);
        if let Ok(file) = there(&path)
            && file.try_lock().is_ok()
        {
            let _gone = std::fs::remove_file(&path);
        }
    }
}

//! Who is alive. Every open store keeps one small file locked beside the database; the system drops the lock when
//! the process dies, however it dies. A lease names its holder's file.

#![expect(clippy::disallowed_methods, reason = "the lock files belong to the store")]

use std::fs::{File, OpenOptions, TryLockError};
use std::hash::BuildHasher;
use std::io;
use std::path::{Path, PathBuf};

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

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

/// Makes `path` and locks it with `lock`; a file that was removed in between by whoever left is made again.
fn locked(path: &Path, lock: impl Fn(&File) -> io::Result<bool>) -> io::Result<Option<File>> {
    loop {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        match open(path) {
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

impl Holder {
    /// Makes and locks a file of a fresh name. Waits for a restore to end.
    pub(super) fn new(database: &Path) -> io::Result<Self> {
        let folder = folder(database);
        let gate = locked(&folder.join(GATE), |file| file.lock_shared().map(|()| true))?;
        loop {
            let name = fresh_name();
            let path = folder.join(&name);
            if let Some(file) = locked(&path, |file| at_once(file.try_lock()))? {
                return Ok(Self { name, path, own: Some(file), gate });
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
    if let Ok(file) = File::open(&gate)
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
    match File::open(folder(database).join(name)) {
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
        if let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
        {
            let _gone = std::fs::remove_file(&path);
        }
    }
}

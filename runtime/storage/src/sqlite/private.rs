//! Files and folders that only their owner may read: what users say lies in them. What exists keeps its mode.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file for writing with these further options; one that is made now is its owner's alone.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.write(true).open(path)
}

/// Makes an empty file where none is, before SQLite would: it gives the log and the shared index the file's mode.
pub(super) fn file(path: &Path) -> io::Result<()> {
    // A file that is there is not opened: closing it would drop the locks this process has on it.
    match open(path, OpenOptions::new().create_new(true)) {
        // A link to nothing: what it names is made.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !path.exists() => {
            open(path, OpenOptions::new().create(true).truncate(false)).map(drop)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

/// Makes a folder and the missing ones above it.
pub(super) fn folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

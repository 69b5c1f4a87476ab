//! The project's folders as `search_docs` may see them: Markdown only, no link followed, nothing hidden, bounded.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use roster_model::BoxFuture;
use roster_tools::docs::{Folders, Listed, Listing, Unreadable};

/// Files of one folder and those below it.
const MOST_FILES: usize = 4_000;
/// Bytes of one file.
const LARGEST: u64 = 1024 * 1024;
/// Bytes of all files of a folder together.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// The folders below a root.
pub(crate) struct ProjectFolders {
    root: PathBuf,
}

impl ProjectFolders {
    /// Those of the project at `root`.
    #[must_use]
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    /// Where `folder` really lies: inside the project, whatever links say.
    fn real(&self, folder: &str) -> Result<PathBuf, Unreadable> {
        let root = self.root.canonicalize().map_err(|error| of(&error))?;
        let real = self.root.join(folder).canonicalize().map_err(|error| of(&error))?;
        if !real.starts_with(&root) {
            return Err(Unreadable::Outside);
        }
        if real.is_dir() { Ok(real) } else { Err(Unreadable::NotAFolder) }
    }

    async fn walk(&self, folder: &str) -> Result<Listing, Unreadable> {
        let mut listing = Listing::default();
        let mut bytes = 0;
        let mut open = vec![(self.real(folder)?, folder.to_owned())];
        while let Some((path, relative)) = open.pop() {
            // One that vanished or may not be read holds nothing; the folder asked for was looked at above.
            let Ok(mut entries) = tokio::fs::read_dir(&path).await else { continue };
            while let Ok(Some(entry)) = entries.next_entry().await {
                let Ok(name) = entry.file_name().into_string() else { continue };
                // The entry's own kind: a link is neither a file nor a folder.
                let Ok(kind) = entry.file_type().await else { continue };
                let relative = format!("{relative}/{name}");
                if name.starts_with('.') {
                    continue;
                }
                if kind.is_dir() {
                    open.push((entry.path(), relative));
                } else if kind.is_file() && is_markdown(&name) {
                    let Ok(about) = entry.metadata().await else { continue };
                    bytes += about.len();
                    if about.len() > LARGEST || bytes > MOST_BYTES || listing.files.len() >= MOST_FILES {
                        bytes -= about.len();
                        listing.left_out += 1;
                    } else {
                        listing.files.push(Listed { path: relative, stamp: stamp(&about) });
                    }
                }
            }
        }
        listing.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listing)
    }
}

impl Folders for ProjectFolders {
    fn look(&self, folder: &str) -> Result<(), Unreadable> {
        self.real(folder).map(drop)
    }

    fn list<'a>(&'a self, folder: &'a str) -> BoxFuture<'a, Result<Listing, Unreadable>> {
        Box::pin(self.walk(folder))
    }

    fn read<'a>(&'a self, file: &'a str) -> BoxFuture<'a, Result<String, Unreadable>> {
        Box::pin(async move {
            let path = self.root.join(file);
            let about = tokio::fs::symlink_metadata(&path).await.map_err(|error| of(&error))?;
            if !about.is_file() || about.len() > LARGEST {
                return Err(Unreadable::Other("it is another file now".to_owned()));
            }
            let bytes = tokio::fs::read(&path).await.map_err(|error| of(&error))?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        })
    }
}

fn is_markdown(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ["md", "markdown", "mdx"].iter().any(|known| ending.eq_ignore_ascii_case(known))
}

fn stamp(about: &Metadata) -> (u128, u64) {
    let changed = about.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    (changed.map(|since| since.as_nanos()).unwrap_or_default(), about.len())
}

fn of(error: &std::io::Error) -> Unreadable {
    match error.kind() {
        ErrorKind::NotFound => Unreadable::Missing,
        ErrorKind::NotADirectory => Unreadable::NotAFolder,
        ErrorKind::PermissionDenied => Unreadable::Other("this user may not".to_owned()),
        _ => Unreadable::Other(error.kind().to_string()),
    }
}

#[cfg(test)]
mod tests;

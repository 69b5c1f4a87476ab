//! The index of one folder, kept in memory and refreshed when a file changed.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Mutex;

use super::index::Index;
use super::passages::{Passage, passages};
use super::{Folders, Listed, Listing, Unreadable};

/// A folder and what is known of it.
pub(super) struct Shelf {
    folder: String,
    folders: Arc<dyn Folders>,
    /// Whoever searches first after a change reads the files; others wait for it.
    known: Mutex<Option<Known>>,
}

struct Known {
    listing: Listing,
    files: HashMap<String, Read>,
    index: Arc<Index>,
}

/// A file that was read, as it was then.
#[derive(Clone)]
struct Read {
    stamp: (u128, u64),
    passages: Arc<[Passage]>,
}

/// The index of now.
pub(super) struct Fresh {
    pub(super) index: Arc<Index>,
    pub(super) files: usize,
    pub(super) left_out: usize,
}

impl Shelf {
    pub(super) fn new(folder: &str, folders: Arc<dyn Folders>) -> Self {
        Self { folder: folder.to_owned(), folders, known: Mutex::default() }
    }

    pub(super) fn folder(&self) -> &str {
        &self.folder
    }

    /// The index, as the files are now.
    ///
    /// # Errors
    /// [`Unreadable`]: of the folder. A file that cannot be read is left out.
    pub(super) async fn fresh(&self) -> Result<Fresh, Unreadable> {
        let mut known = self.known.lock().await;
        let listing = self.folders.list(&self.folder).await?;
        let now = match known.take() {
            Some(same) if same.listing == listing => same,
            before => self.read(listing, before).await,
        };
        let files = now.files.len();
        let left_out = now.listing.left_out + now.listing.files.len() - files;
        let fresh = Fresh { index: Arc::clone(&now.index), files, left_out };
        *known = Some(now);
        Ok(fresh)
    }

    async fn read(&self, listing: Listing, before: Option<Known>) -> Known {
        let mut before = before.map(|before| before.files).unwrap_or_default();
        let mut files = HashMap::with_capacity(listing.files.len());
        let mut index = Index::default();
        for Listed { path, stamp } in &listing.files {
            let kept = before.remove(path).filter(|read| read.stamp == *stamp);
            let read = match kept {
                Some(read) => read,
                None => match self.folders.read(path).await {
                    Ok(text) => Read { stamp: *stamp, passages: passages(&text).into() },
                    Err(_) => continue,
                },
            };
            index.add(path, &read.passages);
            files.insert(path.clone(), read);
            // Other turns go on between two files.
            tokio::task::yield_now().await;
        }
        Known { listing, files, index: Arc::new(index) }
    }
}

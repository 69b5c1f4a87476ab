//! What a Mastra LibSQL or SQLite file holds, read into the sessions store: threads, messages, working memory.
//!
//! The file is only looked at. A row that cannot be taken over is left out and named in the report; a message that is
//! already here stays as it is, so that a second import changes nothing. Reading order: [`import`](self), then
//! `source` (the file), `content` (one message), `walk` (what goes where), `place` (into the store).

mod content;
mod place;
mod report;
mod source;
mod walk;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use roster_model::id::{AgentId, ResourceId};
use roster_model::storage::{StoreError, StoreErrorKind};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use self::place::{Looking, Writing};
pub use self::report::{Count, ImportError, ImportReport, Noun, Skipped};
use self::source::Source;
use super::copy;
use super::error::OpenError;
use super::store::SqliteStore;

/// Whose threads become whose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOwner {
    /// The owner here.
    pub resource: ResourceId,
    /// The agent whose threads these are, if that follows from the owner.
    pub agent: Option<AgentId>,
}

/// How to import.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// Owners of the file that get another name here; the others keep theirs.
    pub owners: HashMap<String, NewOwner>,
    /// The agent that threads without one are listed under.
    pub agent: Option<AgentId>,
}

/// Told how many messages of how many were looked at.
pub type Progress = dyn Fn(u64, u64) + Send + Sync;

impl SqliteStore {
    /// Imports the file at `from`, in short transactions between those of turns, and waits for a thread that a turn
    /// holds. What was imported before it fails or is stopped stays, and is met again by the next import.
    ///
    /// # Errors
    /// [`ImportError`]: the file cannot be used, or the store failed.
    pub async fn import_mastra(
        &self,
        from: &Path,
        options: ImportOptions,
        progress: Arc<Progress>,
    ) -> Result<ImportReport, ImportError> {
        self.health.check()?;
        let (from, runtime) = (from.to_owned(), Handle::current());
        let store = Writing::new(self, runtime);
        let (reply, answer) = oneshot::channel();
        // A thread of its own: reading another program's file blocks, and may take long.
        let thread = std::thread::Builder::new().name("store-import".to_owned()).spawn(move || {
            let report = Source::open(&from).and_then(|source| walk::all(&source, store, options, &*progress));
            let _unheard = reply.send(report);
        });
        let stopped = |error: String| StoreError::new(StoreErrorKind::Internal, format!("import stopped: {error}"));
        thread.map_err(|error| stopped(error.to_string()))?;
        answer.await.map_err(|error| stopped(error.to_string()))?
    }
}

/// Says what [`SqliteStore::import_mastra`] would do with the database at `into`, which may be missing. Nothing is
/// written. Blocks.
///
/// # Errors
/// [`ImportError`]: one of the two files cannot be used.
pub fn try_import_mastra(
    from: &Path,
    into: &Path,
    options: ImportOptions,
    progress: &Progress,
) -> Result<ImportReport, ImportError> {
    let source = Source::open(from)?;
    let database = into.exists().then(|| copy::quiet(into)).transpose();
    let database = database.map_err(|error| StoreError {
        kind: StoreErrorKind::Unavailable,
        message: OpenError::from_sqlite(into, error).to_string(),
        source: None,
    })?;
    walk::all(&source, Looking(database), options, progress)
}

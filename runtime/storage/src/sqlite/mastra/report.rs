//! What became of an import.

use std::fmt;
use std::path::PathBuf;

use roster_model::storage::StoreError;

/// Skipped rows that are named; of the rest only the number is told.
const NAMED: usize = 100;

/// How many of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Written by this import.
    pub new: u64,
    /// Here already; left as they are.
    pub there: u64,
    /// Left out; the report says which and why.
    pub skipped: u64,
}

/// What was imported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Threads.
    pub threads: Count,
    /// Messages. A tool's row of the oldest form counts with the message that called the tool.
    pub messages: Count,
    /// Working memories, of owners and of threads.
    pub working_memories: Count,
    /// Titles and metadata of threads; only those that were left out are counted.
    pub fields: Count,
    /// Messages with parts or fields that are not known here; they stand in the message's metadata.
    pub with_unknown_parts: u64,
    /// What was left out, the first of them.
    pub skipped: Vec<Skipped>,
    /// Tables of the file that hold something and were not read.
    pub unread_tables: Vec<String>,
}

/// Something that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// What it is.
    pub what: Noun,
    /// Where it stands, by id or by row.
    pub place: String,
    /// Why.
    pub reason: String,
    /// How many at this place.
    pub count: u64,
}

/// What is imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noun {
    /// A thread.
    Thread,
    /// A message.
    Message,
    /// A working memory.
    WorkingMemory,
    /// The title or the metadata of a thread.
    Field,
}

impl fmt::Display for Noun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Thread => "thread",
            Self::Message => "message",
            Self::WorkingMemory => "working memory",
            Self::Field => "field of a thread",
        })
    }
}

impl ImportReport {
    /// How many rows were left out.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.threads.skipped + self.messages.skipped + self.working_memories.skipped + self.fields.skipped
    }

    /// Whether anything was written, or would be.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.threads.new + self.messages.new + self.working_memories.new > 0
    }

    pub(super) fn count(&mut self, what: Noun) -> &mut Count {
        match what {
            Noun::Thread => &mut self.threads,
            Noun::Message => &mut self.messages,
            Noun::WorkingMemory => &mut self.working_memories,
            Noun::Field => &mut self.fields,
        }
    }

    pub(super) fn skip(&mut self, what: Noun, place: String, reason: impl Into<String>) {
        self.skip_many(what, place, reason, 1);
    }

    pub(super) fn skip_many(&mut self, what: Noun, place: String, reason: impl Into<String>, count: u64) {
        self.count(what).skipped += count;
        if self.skipped.len() < NAMED {
            self.skipped.push(Skipped { what, place, reason: reason.into(), count });
        }
    }
}

/// Why nothing, or not all, was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// There is no such file, or it is a folder.
    #[error("there is no file `{0}`")]
    NoFile(PathBuf),
    /// One of our own databases.
    #[error("`{0}` is a database of Roster\nhint: `roster restore FILE` puts a backup back")]
    Ours(PathBuf),
    /// A database, or another file, of some other program.
    #[error("`{path}` is no database of Mastra: {reason}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it lacks.
        reason: String,
    },
    /// Tables of Mastra without what is needed.
    #[error(
        "table `{table}` of `{path}` has no column `{column}`: the file is of a version of Mastra that is not known here"
    )]
    Layout {
        /// The file.
        path: PathBuf,
        /// The table.
        table: &'static str,
        /// The column it lacks.
        column: &'static str,
    },
    /// It cannot be opened, or not be read where everything depends on it.
    #[error("`{path}` cannot be read: {source}\nhint: {hint}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What to do.
        hint: &'static str,
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
    /// Our store failed; what was imported before stays.
    #[error(transparent)]
    Store(#[from] StoreError),
}

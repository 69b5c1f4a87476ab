//! `search_docs`: full text over a folder of Markdown in the project.
//!
//! Files are cut into passages at their headings (`passages`), passages are ranked by the words of the question
//! (`index`), and a `shelf` keeps the index of a folder in memory, refreshed when a file changed. Who reads the files is
//! handed in ([`Folders`]): only the host knows where the project lies.

mod index;
mod passages;
mod shelf;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use roster_model::BoxFuture;
use roster_model::tool::{SettingsError, Tool, ToolContext, ToolError, ToolMaker, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{arguments, settings};
use shelf::Shelf;

/// The name definitions write.
pub const NAME: &str = "search_docs";

/// Passages told when the call does not say how many.
const USUAL: usize = 5;

/// A file of a folder, and what changes when it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its path, relative to the root, with `/`.
    pub path: String,
    /// Differs whenever the content may differ: time of change and length.
    pub stamp: (u128, u64),
}

/// What a folder holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Its Markdown files and those of the folders below, in a fixed order.
    pub files: Vec<Listed>,
    /// Files left out because they are too large or too many.
    pub left_out: usize,
}

/// Why a folder or a file cannot be read. Fits after its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not there.
    #[error("does not exist")]
    Missing,
    /// It is a file.
    #[error("is not a folder")]
    NotAFolder,
    /// A link leads out of the project.
    #[error("leads out of the project through a link")]
    Outside,
    /// Something else, in the system's words.
    #[error("cannot be read: {0}")]
    Other(String),
}

/// Hands over the Markdown files of the project. Follows no link, and leaves no folder that was asked for.
pub trait Folders: Send + Sync + 'static {
    /// Whether `folder`, relative to the root, can be searched. Cheap.
    ///
    /// # Errors
    /// [`Unreadable`] says why not.
    fn look(&self, folder: &str) -> Result<(), Unreadable>;

    /// The Markdown files of `folder`.
    ///
    /// # Errors
    /// [`Unreadable`] of the folder itself; a folder below that cannot be read is left out.
    fn list<'a>(&'a self, folder: &'a str) -> BoxFuture<'a, Result<Listing, Unreadable>>;

    /// The text of a file that was listed; bytes that are no UTF-8 are replaced.
    ///
    /// # Errors
    /// [`Unreadable`].
    fn read<'a>(&'a self, file: &'a str) -> BoxFuture<'a, Result<String, Unreadable>>;
}

/// Makes `search_docs`. Setting: `folder`, a folder of the project, relative to its root.
pub struct DocsMaker {
    folders: Arc<dyn Folders>,
    /// One index a folder, however many agents search it.
    shelves: Mutex<HashMap<String, Weak<Shelf>>>,
}

impl DocsMaker {
    /// A maker whose tools read through `folders`.
    #[must_use]
    pub fn new(folders: Arc<dyn Folders>) -> Self {
        Self { folders, shelves: Mutex::default() }
    }

    fn shelf(&self, folder: &str) -> Arc<Shelf> {
        let mut shelves = self.shelves.lock().unwrap_or_else(PoisonError::into_inner);
        shelves.retain(|_, shelf| shelf.strong_count() > 0);
        if let Some(shelf) = shelves.get(folder).and_then(Weak::upgrade) {
            return shelf;
        }
        let shelf = Arc::new(Shelf::new(folder, Arc::clone(&self.folders)));
        shelves.insert(folder.to_owned(), Arc::downgrade(&shelf));
        shelf
    }
}

impl ToolMaker for DocsMaker {
    fn make(&self, settings: &Map<String, Value>) -> Result<Arc<dyn Tool>, SettingsError> {
        settings::refuse_unknown(settings, NAME, &["folder"])?;
        let folder = folder_of(settings)?;
        self.folders.look(&folder).map_err(|reason| {
            let help = "the folder is taken from the project's root; make it, or name another one";
            fault(format!("`folder = \"{folder}\"` {reason}"), help)
        })?;
        Ok(Arc::new(DocsTool { spec: spec(&folder), shelf: self.shelf(&folder) }))
    }
}

/// The folder named, without a closing `/`.
fn folder_of(settings: &Map<String, Value>) -> Result<String, SettingsError> {
    let help = "for example `folder = \"docs\"`, taken from the project's root";
    let text = match settings.get("folder") {
        None => {
            let help = "add [tool_settings.search_docs] with a line such as folder = \"docs\"";
            return Err(SettingsError { key: String::new(), ..fault("`folder` is missing".to_owned(), help) });
        }
        Some(Value::String(text)) => text,
        Some(_) => return Err(fault("`folder` must be a text".to_owned(), help)),
    };
    let folder = text.strip_suffix('/').unwrap_or(text);
    let step = |step: &str| !step.is_empty() && !step.starts_with('.');
    if folder.contains(['\\', ':']) || folder.contains(char::is_control) || !folder.split('/').all(step) {
        return Err(fault(
            "`folder` must be a folder inside the project, with `/` between folders and no hidden one".to_owned(),
            help,
        ));
    }
    Ok(folder.to_owned())
}

fn fault(message: String, help: &str) -> SettingsError {
    SettingsError { key: "folder".to_owned(), message, help: Some(help.to_owned()) }
}

struct DocsTool {
    spec: ToolSpec,
    shelf: Arc<Shelf>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What to look for: a few words that the passage would hold, or a question.
    #[schemars(length(min = 1, max = 500))]
    query: String,
    /// The most passages to give, 5 when left out.
    #[schemars(range(min = 1, max = 10))]
    limit: Option<usize>,
}

/// What the model is told.
#[derive(Debug, Serialize)]
struct Answer {
    results: Vec<Found>,
    /// Files that were searched.
    files: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A passage.
#[derive(Debug, Serialize)]
struct Found {
    file: String,
    line: usize,
    /// The headings above it, outermost first.
    heading: String,
    text: String,
}

impl Tool for DocsTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: Map<String, Value>, _context: ToolContext) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let Arguments { query, limit } = arguments::read(arguments)?;
            let shelf = self.shelf.fresh().await.map_err(|reason| ToolError {
                code: "folder_unreadable",
                message: format!("the folder `{}` {reason}", self.shelf.folder()),
            })?;
            let results = shelf.index.search(&query, limit.unwrap_or(USUAL).clamp(1, 10));
            let note = note(self.shelf.folder(), results.is_empty(), shelf.left_out);
            let answer = Answer { results, files: shelf.files, note };
            serde_json::to_value(answer).map_err(|fault| ToolError { code: "internal", message: fault.to_string() })
        })
    }
}

fn note(folder: &str, nothing: bool, left_out: usize) -> Option<String> {
    let nothing = nothing.then(|| format!("nothing in `{folder}` holds these words; try others"));
    let left_out = (left_out > 0).then(|| format!("{left_out} files were left out: too large or too many"));
    let notes: Vec<String> = nothing.into_iter().chain(left_out).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn spec(folder: &str) -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: format!(
            "Searches the documents in the folder `{folder}` by words and gives the passages that fit best, with file and \
             heading."
        ),
        input_schema: arguments::schema_of::<Arguments>(),
    }
}

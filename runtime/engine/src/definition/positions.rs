//! Where the names of a definition stand, so that whoever looks them up can point at them.

use std::ops::Range;
use std::sync::Arc;

use super::agent::Definition;
use super::problem::Problem;

/// The places of names in an agent's file; beside the definition, since a place is not part of what it says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Positions {
    /// The file, relative to the root.
    pub file: Arc<str>,
    /// The text that the ranges are of; empty when the file could not be read as text.
    pub source: Arc<str>,
    /// The id as written, legal or not; known also when the definition is broken.
    pub id: Option<(String, Range<usize>)>,
    /// In the order of `Definition::model`; one range for the table form; empty when the file names none.
    pub model: Vec<Range<usize>>,
    /// The factory's name.
    pub memory_factory: Option<Range<usize>>,
    /// The embedder's name.
    pub embedder: Option<Range<usize>>,
    /// The schema of the working memory.
    pub working_schema: Option<Range<usize>>,
    /// The schema of answers.
    pub output_schema: Option<Range<usize>>,
    /// In the order of `Definition::tools`.
    pub tools: Vec<Range<usize>>,
    /// In the order of `Definition::agents`.
    pub agents: Vec<Range<usize>>,
    /// The agents of the stages, in the order of `Orchestration::stages`.
    pub stages: Vec<Range<usize>>,
    /// In the order of `Definition::processors`.
    pub processors: Vec<Range<usize>>,
    /// In the order of `Definition::tool_settings`.
    pub tool_settings: Vec<SettingsPositions>,
    /// Of a file with errors that could be read to its end: what it says all the same, so that its names are looked up
    /// in the same pass. It never serves.
    pub broken: Option<Arc<Definition>>,
}

/// The places in one `[tool_settings."name"]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsPositions {
    /// The tool's name as written.
    pub name: String,
    /// Where the name stands.
    pub span: Range<usize>,
    /// Its keys, and where their values stand.
    pub keys: Vec<(String, Range<usize>)>,
}

impl Positions {
    /// Where each of `Definition::callees` is named, in that order.
    pub fn callees(&self) -> impl Iterator<Item = &Range<usize>> {
        self.agents.iter().chain(&self.stages)
    }

    /// An error at `span`; without one, of the whole file.
    #[must_use]
    pub fn error(&self, code: &'static str, span: Option<Range<usize>>, message: impl Into<String>) -> Problem {
        self.placed(Problem::error(code, &*self.file, message), span)
    }

    /// The same as a warning.
    #[must_use]
    pub fn warning(&self, code: &'static str, span: Option<Range<usize>>, message: impl Into<String>) -> Problem {
        self.placed(Problem::warning(code, &*self.file, message), span)
    }

    /// Where a tool's setting stands: its value, else the tool's name in the settings, else its name in `tools`.
    #[must_use]
    pub fn setting(&self, tool: &str, key: &str) -> Option<Range<usize>> {
        let settings = self.tool_settings.iter().find(|settings| settings.name == tool)?;
        let value = settings.keys.iter().find(|(name, _)| name == key).map(|(_, span)| span.clone());
        Some(value.unwrap_or_else(|| settings.span.clone()))
    }

    fn placed(&self, problem: Problem, span: Option<Range<usize>>) -> Problem {
        match span {
            Some(span) => problem.at(&self.source, span),
            None => problem,
        }
    }
}

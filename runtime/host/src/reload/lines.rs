//! The registry's lines, prepared so that a pass over them costs pointers only.

use std::collections::HashMap;
use std::sync::Arc;

use roster_engine::definition::{Lines, Problem};
use roster_model::id::AgentId;

use crate::config::project::agents::{registered_twice, unregistered};
use crate::config::{LoadedRegistry, RegistryLine};
use crate::paths::{AGENTS_FOLDER, REGISTRY_FILE};

/// The registry as it was taken.
#[derive(Default)]
pub(super) struct Roll {
    /// In the order of the file.
    pub(super) lines: Vec<Line>,
    /// Problems of no single line.
    pub(super) problems: Vec<Problem>,
    pub(super) source: Arc<str>,
    registry: Vec<RegistryLine>,
    by_file: HashMap<Arc<str>, usize>,
    by_id: HashMap<AgentId, usize>,
}

/// One line.
pub(super) struct Line {
    pub(super) id: AgentId,
    /// The file it names, below `agents/`; `None` when it names none that counts.
    pub(super) unit: Option<Arc<str>>,
    /// The file to show, relative to the root.
    pub(super) file: String,
    /// What is wrong with the line itself.
    pub(super) problems: Vec<Problem>,
    /// A problem of no content, at the line's value.
    place: Problem,
}

impl Line {
    /// Puts a problem at the line's value.
    pub(super) fn place(&self, mut problem: Problem) -> Problem {
        problem.line = self.place.line;
        problem.column = self.place.column;
        problem.span.clone_from(&self.place.span);
        problem.of(self.id.as_str())
    }
}

impl Roll {
    pub(super) fn of(registry: LoadedRegistry) -> Self {
        let LoadedRegistry { lines: registered, problems, source, .. } = registry;
        let mut of_lines: HashMap<String, Vec<Problem>> = HashMap::new();
        let mut roll = Self::default();
        for problem in problems {
            match problem.agent.clone() {
                Some(agent) => of_lines.entry(agent).or_default().push(problem),
                None => roll.problems.push(problem),
            }
        }
        let places = Lines::new(&source);
        for line in &registered {
            let mut problems = of_lines.remove(line.id.as_str()).unwrap_or_default();
            let mut unit = line.file.as_deref().map(Arc::<str>::from);
            if let Some(name) = &unit {
                if let Some(first) = roll.by_file.get(name) {
                    let first = &roll.lines[*first].id;
                    problems.push(registered_twice(line, first, name, &places));
                    unit = None;
                } else {
                    roll.by_file.insert(Arc::clone(name), roll.lines.len());
                }
            }
            let shown = line.file.as_ref().map_or(REGISTRY_FILE.to_owned(), |file| format!("{AGENTS_FOLDER}/{file}"));
            let place = places.place(Problem::error("", "", ""), line.value.clone());
            roll.by_id.insert(line.id.clone(), roll.lines.len());
            roll.lines.push(Line { id: line.id.clone(), unit, file: shown, problems, place });
        }
        roll.problems.extend(of_lines.into_values().flatten());
        roll.source = Arc::from(source.as_str());
        roll.registry = registered;
        roll
    }

    /// Whether a line names this file.
    pub(super) fn names(&self, file: &str) -> bool {
        self.by_file.contains_key(file)
    }

    /// The line of this agent.
    pub(super) fn line(&self, agent: &AgentId) -> Option<&Line> {
        self.by_id.get(agent).and_then(|at| self.lines.get(*at))
    }

    /// The line that names this file.
    pub(super) fn line_of(&self, file: &str) -> Option<&Line> {
        self.by_file.get(file).and_then(|at| self.lines.get(*at))
    }

    /// The warnings of files without a line: their names, and the ids written in them.
    pub(super) fn unregistered<'a>(&self, files: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> Vec<Problem> {
        let by_id: HashMap<&str, &RegistryLine> = self.registry.iter().map(|line| (line.id.as_str(), line)).collect();
        files.map(|(name, id)| unregistered(name, id, &by_id)).collect()
    }
}

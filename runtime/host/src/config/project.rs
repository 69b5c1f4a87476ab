//! Reading a whole project: every file once, every problem of every file in one pass.

pub(crate) mod agents;
pub(crate) mod files;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use roster_engine::definition::{Definition, Positions, Problem};
use roster_model::id::AgentId;

use super::Environment;
use super::registry::load_registry;
use super::runtime::{RuntimeConfig, load_runtime, unknown_agents};
use crate::paths::{AGENTS_FOLDER, REGISTRY_FILE, RUNTIME_FILE};
use files::{AgentsFolder, definition_files};
pub use files::{ReadFailure, read_file};

/// All that was read of a project.
#[derive(Debug)]
pub struct ProjectFiles {
    /// The configuration; `None` when `config/runtime.toml` has an error.
    pub runtime: Option<RuntimeConfig>,
    /// The registered agents, broken ones too, in the order of the registry.
    pub agents: Vec<AgentFile>,
    /// Files in `agents/` without a line, relative to the root, sorted.
    pub unregistered: Vec<String>,
    /// Problems that belong to no registered agent: of `config/` and of unregistered files.
    pub problems: Vec<Problem>,
    /// The texts of the files that problems may point into, literal secrets masked.
    sources: HashMap<String, Arc<str>>,
}

/// A registered agent's file, as far as it could be read.
#[derive(Debug)]
pub struct AgentFile {
    /// Its key in the registry.
    pub id: AgentId,
    /// The file, relative to the root; the registry when its line names none that may be read.
    pub file: String,
    /// The definition; `None` when an error stands among the problems.
    pub definition: Option<Definition>,
    /// Where names stand in the file.
    pub positions: Positions,
    /// What is wrong with this agent alone.
    pub problems: Vec<Problem>,
}

impl ProjectFiles {
    /// Every problem, by file and line.
    #[must_use]
    pub fn all_problems(&self) -> Vec<Problem> {
        let of_agents = self.agents.iter().flat_map(|agent| &agent.problems);
        let mut problems: Vec<Problem> = self.problems.iter().chain(of_agents).cloned().collect();
        crate::render::sort(&mut problems);
        problems
    }

    /// The text of a file that problems may point into, for rendering.
    #[must_use]
    pub fn source(&self, file: &str) -> Option<&str> {
        self.sources.get(file).map(AsRef::as_ref)
    }
}

/// Reads the project at `root`.
#[must_use]
pub fn read_project(root: &Path, environment: Environment<'_>) -> ProjectFiles {
    let mut project = read_config(root, environment);
    read_agents(root, &mut project);
    project
}

/// Reads `config/runtime.toml` of the project at `root` alone.
#[must_use]
pub fn read_config(root: &Path, environment: Environment<'_>) -> ProjectFiles {
    let mut project = ProjectFiles {
        runtime: None,
        agents: Vec::new(),
        unregistered: Vec::new(),
        problems: Vec::new(),
        sources: HashMap::new(),
    };
    read_runtime(root, environment, &mut project);
    project
}

fn read_runtime(root: &Path, environment: Environment<'_>, project: &mut ProjectFiles) {
    match read_file(&root.join(RUNTIME_FILE)) {
        Ok(bytes) => {
            let loaded = load_runtime(&bytes, environment);
            project.runtime = loaded.config;
            project.problems.extend(loaded.problems);
            project.sources.insert(RUNTIME_FILE.to_owned(), Arc::from(loaded.source));
        }
        Err(failure) => project.problems.push(unreadable(RUNTIME_FILE, &failure)),
    }
}

fn read_agents(root: &Path, project: &mut ProjectFiles) {
    let path = root.join(AGENTS_FOLDER);
    let listing = definition_files(&path).unwrap_or_else(|failure| {
        project.problems.push(unreadable(AGENTS_FOLDER, &failure));
        Vec::new()
    });
    let registry = match read_file(&root.join(REGISTRY_FILE)) {
        Ok(bytes) => load_registry(&bytes),
        Err(failure) => {
            project.problems.push(unreadable(REGISTRY_FILE, &failure));
            Default::default()
        }
    };
    let found = agents::read(&AgentsFolder::new(&path), &listing, registry.clone());
    for agent in &found.agents {
        if !agent.positions.source.is_empty() {
            project.sources.insert(agent.file.clone(), Arc::clone(&agent.positions.source));
        }
    }
    project.sources.insert(REGISTRY_FILE.to_owned(), Arc::from(registry.source));
    project.agents = found.agents;
    project.unregistered = found.unregistered;
    let offered = project.runtime.as_ref().map_or(&[][..], |config| &config.mcp_agents);
    let known: Vec<&str> = project.agents.iter().map(|agent| agent.id.as_str()).collect();
    let unknown = unknown_agents(offered, project.source(RUNTIME_FILE).unwrap_or_default(), &known);
    project.problems.extend(unknown);
    project.problems.extend(found.problems);
}

/// A problem of something that could not be read at all.
pub(crate) fn unreadable(file: &str, failure: &ReadFailure) -> Problem {
    let problem = Problem::error(failure.code(), file, format!("`{file}` {failure}"));
    let help = match (file, failure) {
        (AGENTS_FOLDER, ReadFailure::Missing) => Some("make the folder: `roster new agent ID` makes it too"),
        (AGENTS_FOLDER, ReadFailure::Denied) => {
            Some("give this user the right to read the folder, for example with `chmod u+rx`")
        }
        (AGENTS_FOLDER, _) => Some("a folder with the definitions must stand there: move away what is there now"),
        (REGISTRY_FILE, ReadFailure::Missing) => {
            Some("make it: the line [agents], then one line an agent:\nchat-agent = \"chat-agent.toml\"")
        }
        _ => failure.help(),
    };
    match help {
        Some(help) => problem.help(help),
        None => problem,
    }
}

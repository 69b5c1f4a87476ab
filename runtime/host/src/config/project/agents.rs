//! From the registry's lines to the agents' files.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use roster_engine::definition::{
    Definition, Lines, Loaded, ModelChoice, Positions, Problem, Unreadable, load_agent, suggest, syntax, text,
    view::View,
};
use roster_model::id::AgentId;

use super::AgentFile;
use super::files::{AgentsFolder, ReadFailure};
use crate::config::registry::{LoadedRegistry, RegistryLine};
use crate::config::secret::{CREDENTIALS, CREDENTIALS_HELP, has_credentials};
use crate::paths::{AGENTS_FOLDER, REGISTRY_FILE};

/// The agents of a project.
#[derive(Default)]
pub(super) struct Found {
    pub(super) agents: Vec<AgentFile>,
    pub(super) unregistered: Vec<String>,
    pub(super) problems: Vec<Problem>,
}

/// Reads each agent's file once, in the order of the registry.
pub(super) fn read(folder: &AgentsFolder, listing: &[String], registry: LoadedRegistry) -> Found {
    let mut found = Found::default();
    let mut of_lines: HashMap<String, Vec<Problem>> = HashMap::new();
    for problem in registry.problems {
        match &problem.agent {
            Some(agent) => of_lines.entry(agent.clone()).or_default().push(problem),
            None => found.problems.push(problem),
        }
    }
    let places = Lines::new(&registry.source);
    let taken: HashSet<&str> = registry.lines.iter().filter_map(|line| line.file.as_deref()).collect();
    let free: Vec<&str> = listing.iter().map(String::as_str).filter(|name| !taken.contains(name)).collect();
    let by_id: HashMap<&str, &RegistryLine> = registry.lines.iter().map(|line| (line.id.as_str(), line)).collect();
    let mut first_with: HashMap<&str, &RegistryLine> = HashMap::new();
    for line in &registry.lines {
        let mut agent = match &line.file {
            None => without_file(line),
            Some(file) => match first_with.get(file.as_str()) {
                Some(first) => twice(line, first, file, &places),
                None => {
                    first_with.insert(file, line);
                    read_one(folder, line, file, &free, &places)
                }
            },
        };
        agent.problems.extend(of_lines.remove(line.id.as_str()).unwrap_or_default());
        found.agents.push(agent);
    }
    found.problems.extend(of_lines.into_values().flatten());
    for name in listing.iter().filter(|name| !first_with.contains_key(name.as_str())) {
        found.unregistered.push(format!("{AGENTS_FOLDER}/{name}"));
        found.problems.push(unregistered(name, written_id(folder, name).as_deref(), &by_id));
    }
    found
}

fn without_file(line: &RegistryLine) -> AgentFile {
    let id = line.id.clone();
    AgentFile {
        id,
        file: REGISTRY_FILE.to_owned(),
        definition: None,
        positions: Positions::default(),
        problems: Vec::new(),
    }
}

/// The registry's line is at fault, or what it names.
fn broken(line: &RegistryLine, file: &str, problem: Problem) -> AgentFile {
    let file = format!("{AGENTS_FOLDER}/{file}");
    AgentFile { file, problems: vec![problem.of(line.id.as_str())], ..without_file(line) }
}

fn twice(line: &RegistryLine, first: &RegistryLine, file: &str, places: &Lines<'_>) -> AgentFile {
    broken(line, file, registered_twice(line, &first.id, file, places))
}

/// Two lines name one file.
pub(crate) fn registered_twice(line: &RegistryLine, first: &AgentId, file: &str, places: &Lines<'_>) -> Problem {
    let message = format!("`{file}` is registered twice: as `{first}` and as `{}`", line.id);
    let problem = places.place(Problem::error("duplicate_file", REGISTRY_FILE, message), line.value.clone());
    problem.help("a file holds one agent: delete one of the two lines").of(line.id.as_str())
}

fn read_one(folder: &AgentsFolder, line: &RegistryLine, file: &str, free: &[&str], places: &Lines<'_>) -> AgentFile {
    let bytes = match folder.read(file) {
        Ok(bytes) => bytes,
        Err(failure) => {
            // A file that another line names is not what was meant.
            let names = free.iter().copied().filter(|_| free.len() <= MOST_COMPARED);
            let problem = file_problem(file, &failure, suggest(file, names));
            return broken(line, file, places.place(problem, line.value.clone()));
        }
    };
    let beside = |path: &str| folder.read(path).map_err(Unreadable::from);
    let path = format!("{AGENTS_FOLDER}/{file}");
    let Loaded { mut definition, mut positions, mut problems } = load_agent(&path, &bytes, &beside);
    if let Some(problem) = other_id(&line.id, &path, &positions) {
        problems.push(problem);
        // Its names are looked up all the same.
        positions.broken = positions.broken.or(definition.take().map(Arc::new));
    }
    for problem in &mut problems {
        problem.agent = Some(line.id.to_string());
    }
    AgentFile { id: line.id.clone(), file: path, definition, positions, problems }
}

/// Comparing each missing name with each file costs the square of them.
pub(crate) const MOST_COMPARED: usize = 500;

/// The file a line names cannot be had; `meant` is what was probably meant.
pub(crate) fn file_problem(file: &str, failure: &ReadFailure, meant: Option<&str>) -> Problem {
    let message = format!("`{file}` {failure}");
    let mut problem = Problem::error(failure.code(), REGISTRY_FILE, message);
    problem.help = match (failure.code(), meant) {
        ("file_missing", Some(meant)) => Some(format!("did you mean \"{meant}\"?")),
        ("file_missing", None) => Some("make the file, or delete this line".to_owned()),
        _ => failure.help().map(str::to_owned),
    };
    problem
}

/// The id in the file is legal, and not the key of its line.
pub(crate) fn other_id(id: &AgentId, path: &str, positions: &Positions) -> Option<Problem> {
    let (written, span) = positions.id.as_ref()?;
    if written == id.as_str() || AgentId::new(written).is_err() {
        return None;
    }
    let message = format!("`id` is `{written}`, but the agent is registered as `{id}`");
    let help = format!("write id = \"{id}\" here, or {} = … in {REGISTRY_FILE}", key(written));
    Some(Problem::error("id_mismatch", path, message).at(&positions.source, span.clone()).help(help))
}

/// A bare key where that is possible.
pub(crate) fn key(id: &str) -> String {
    if id.contains('.') { format!("\"{id}\"") } else { id.to_owned() }
}

/// A file without a line; `id` is the one written in it.
pub(crate) fn unregistered(name: &str, id: Option<&str>, lines: &HashMap<&str, &RegistryLine>) -> Problem {
    let file = format!("{AGENTS_FOLDER}/{name}");
    let id = id.unwrap_or_else(|| name.trim_end_matches(".toml"));
    let help = match lines.get(id) {
        Some(line) => match &line.file {
            Some(other) => format!(
                "its id `{id}` belongs to {AGENTS_FOLDER}/{other}; give it another id, then a line in {REGISTRY_FILE}"
            ),
            None => format!("repair the line of `{id}` in {REGISTRY_FILE}:\n{} = \"{name}\"", key(id)),
        },
        None => format!("to serve it, add this line under [agents] in {REGISTRY_FILE}:\n{} = \"{name}\"", key(id)),
    };
    let message = "the file has no line in `config/registry.toml`, so it is not served";
    Problem::warning("unregistered", file, message).help(help)
}

/// The id that stands in a file, when it can be read at all.
fn written_id(folder: &AgentsFolder, name: &str) -> Option<String> {
    let text = text::decode(name, &folder.read(name).ok()?).ok()?;
    let parsed = syntax::parse(name, &text);
    let id = AgentId::new(View(parsed.root.get_ref()).text("id")?).ok()?;
    Some(id.to_string())
}

/// A warning for each model table whose variable is not set, or whose address holds a key; those of `runtime.toml` are
/// found with that file.
pub(crate) fn missing_keys(
    definition: &Definition,
    positions: &Positions,
    environment: crate::config::Environment<'_>,
) -> Vec<Problem> {
    let unset = definition.model.iter().enumerate().filter_map(|(at, choice)| match choice {
        ModelChoice::Table(table) => Some((at, table.api_key_env.as_deref()?)),
        ModelChoice::Named(_) => None,
    });
    let warning = |(at, variable): (usize, &str)| {
        let message = format!("the variable `{variable}` is not set: turns of this agent will fail");
        let problem = positions.warning("key_missing", positions.model.get(at).cloned(), message);
        problem.of(definition.id.as_str()).help(format!("set {variable} before starting"))
    };
    let open = definition.model.iter().enumerate().filter_map(|(at, choice)| match choice {
        ModelChoice::Table(table) => has_credentials(&table.base_url).then_some(at),
        ModelChoice::Named(_) => None,
    });
    let told = |at: usize| {
        let problem = positions.warning("literal_secret", positions.model.get(at).cloned(), CREDENTIALS);
        problem.of(definition.id.as_str()).help(CREDENTIALS_HELP)
    };
    unset.filter(|(_, variable)| environment(variable).is_none()).map(warning).chain(open.map(told)).collect()
}

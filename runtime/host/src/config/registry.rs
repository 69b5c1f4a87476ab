//! `config/registry.toml`: one line an agent. What can be read of it serves, whatever else is wrong with it.

use std::collections::HashSet;
use std::ops::Range;

use roster_engine::definition::table::{Checker, in_order};
use roster_engine::definition::{Problem, keep_first, syntax, text, view::View};
use roster_model::id::AgentId;
use toml::de::{DeTable, DeValue};

use super::shapes::{DEFINITION_FILE, REGISTRY};
use crate::paths::REGISTRY_FILE;

/// One agent's line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryLine {
    /// The key.
    pub id: AgentId,
    /// The file, relative to `agents/`; `None` when what stands there names none. Does not leave `agents/` by its
    /// letters; links are looked at by who opens it.
    pub file: Option<String>,
    /// Where the key stands.
    pub key: Range<usize>,
    /// Where the value stands.
    pub value: Range<usize>,
}

/// The registry, as far as it could be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadedRegistry {
    /// The lines, in the order of the file.
    pub lines: Vec<RegistryLine>,
    /// What is wrong. Problems of one line name its agent.
    pub problems: Vec<Problem>,
    /// The text that the ranges are of.
    pub source: String,
    /// Whether it could be read as a whole: text, TOML, with its `[agents]`. Lines may still have problems.
    pub whole: bool,
}

/// Reads the registry's text.
#[must_use]
pub fn load_registry(bytes: &[u8]) -> LoadedRegistry {
    let source = match text::decode(REGISTRY_FILE, bytes) {
        Ok(source) => source,
        Err(problem) => return LoadedRegistry { problems: vec![*problem], ..LoadedRegistry::default() },
    };
    let mut registry = LoadedRegistry { source, ..LoadedRegistry::default() };
    read_lines(&mut registry);
    registry.lines.sort_by_key(|line| line.key.start);
    registry.problems.sort_by_key(|problem| (problem.line, problem.column));
    keep_first(&mut registry.problems, REGISTRY_FILE);
    registry
}

/// A line that is no TOML can hide those after it from the parser. Each line of a registry stands for itself, so the
/// bad ones are blanked, byte for byte, and the rest is read again.
fn read_lines(registry: &mut LoadedRegistry) {
    let mut readable = registry.source.clone();
    for round in 0..=MOST_ROUNDS {
        let mut parsed = syntax::parse(REGISTRY_FILE, &readable);
        if round == 0 {
            registry.whole = !parsed.incomplete && View(parsed.root.get_ref()).table("agents").is_some();
        }
        let broken: HashSet<usize> = parsed.problems.iter().filter_map(|problem| problem.line).collect();
        if !parsed.incomplete || round == MOST_ROUNDS {
            read_tree(&readable, &mut parsed, registry);
            return;
        }
        if round == 0 {
            // An unclosed string ends with its line, and what it says is plain.
            registry.lines = lines_of(parsed.root.get_ref(), &mut parsed.problems);
        }
        // The second of two lines is told now, since its line is blanked with the broken ones.
        explain_duplicates(&readable, &mut parsed.problems);
        registry.problems.extend(parsed.problems);
        readable = without(&readable, &broken);
    }
}

/// After so many rounds of blanking the file is no registry.
const MOST_ROUNDS: usize = 10;

fn without(text: &str, broken: &HashSet<usize>) -> String {
    let blank =
        |line: &str| if line.ends_with('\n') { " ".repeat(line.len() - 1) + "\n" } else { " ".repeat(line.len()) };
    let lines = text.split_inclusive('\n').enumerate();
    lines.map(|(index, line)| if broken.contains(&(index + 1)) { blank(line) } else { line.to_owned() }).collect()
}

/// Takes lines and problems from a tree that holds all that can be read.
fn read_tree(text: &str, parsed: &mut syntax::Parsed<'_>, registry: &mut LoadedRegistry) {
    explain_duplicates(text, &mut parsed.problems);
    let mut checker = Checker::new(REGISTRY_FILE, text, &REGISTRY, parsed);
    checker.check(&parsed.root);
    let mut problems = checker.problems;
    let lines = lines_of(parsed.root.get_ref(), &mut problems);
    if registry.problems.iter().any(|problem| problem.code == "unclosed_header") {
        // Without its header a line seems to belong elsewhere; the header is what is wrong.
        problems.retain(|problem| !matches!(problem.code, "unknown_key" | "missing_key"));
    }
    registry.problems.extend(problems);
    let found: HashSet<AgentId> = lines.iter().map(|line| line.id.clone()).collect();
    registry.lines.retain(|line| !found.contains(&line.id));
    registry.lines.extend(lines);
}

/// Of two lines with one key the first counts.
fn explain_duplicates(text: &str, problems: &mut [Problem]) {
    for problem in problems.iter_mut().filter(|problem| problem.code == syntax::DUPLICATE_KEY) {
        let written = problem.span.clone().and_then(|span| text.get(span)).unwrap_or_default();
        problem.message = format!("`{written}` stands twice; the first line counts");
        problem.help = Some("delete one of the two lines".to_owned());
    }
}

fn lines_of(root: &DeTable<'_>, problems: &mut [Problem]) -> Vec<RegistryLine> {
    let Some(agents) = View(root).table("agents") else { return Vec::new() };
    problems.sort_by_key(|problem| problem.span.as_ref().map(|span| span.start));
    let mut lines = Vec::new();
    for (key, node) in in_order(agents.0) {
        let Ok(id) = AgentId::new(key.get_ref()) else { continue };
        let file = node.get_ref().as_str().filter(|file| (DEFINITION_FILE.check)(file).is_ok());
        if file.is_none() {
            let place = key.span().start..node.span().end.max(key.span().end);
            name_agent(problems, &place, &id, node.get_ref());
        }
        lines.push(RegistryLine { id, file: file.map(str::to_owned), key: key.span(), value: node.span() });
    }
    lines
}

/// The problems of a line that names no file say whose line it is. A dot in a bare key makes a table.
fn name_agent(problems: &mut [Problem], place: &Range<usize>, id: &AgentId, value: &DeValue<'_>) {
    // They are in the order of the file; there may be thousands.
    let start = |problem: &Problem| problem.span.as_ref().map_or(0, |span| span.start);
    let first = problems.partition_point(|problem| start(problem) < place.start);
    for problem in problems[first..].iter_mut().take_while(|problem| start(problem) < place.end) {
        problem.agent = Some(id.to_string());
        if let (DeValue::Table(table), "wrong_type") = (value, problem.code) {
            let inner = table.keys().next().map_or("", |inner| inner.get_ref().as_ref());
            problem.help = Some(format!("a key with a dot in it needs quotation marks: \"{id}.{inner}\" = \"…\""));
        }
    }
}

//! Names of one definition looked up in the catalog. Makes tools (cheap, checks their settings), calls no factory:
//! `roster check` uses this too.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use roster_model::id::AgentId;
use roster_model::tool::SettingsError;

use super::catalog::{BoundModel, Catalog};
use crate::definition::{Definition, Positions, Problem, suggest};
use crate::memory::MemoryFactory;
use crate::tool::{ToolBox, Unbound};

/// A tool's time-out when the definition gives none.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(60);
/// A sub-agent is bounded by the turn's own deadline.
const AGENT_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// What is known of every registered agent before any is assembled: name and description for those that call it.
pub(super) type Roll = BTreeMap<AgentId, (String, String)>;

/// A definition whose names all stand for something.
pub(super) struct Resolved {
    /// Models in order.
    pub models: Vec<BoundModel>,
    /// Its tools.
    pub tools: ToolBox,
    /// The factory to call at registration.
    pub factory: Option<Arc<dyn MemoryFactory>>,
}

/// Looks up all names; every name that stands for nothing is a problem at its place.
///
/// # Errors
/// All problems found.
pub(super) fn resolve(
    definition: &Definition,
    positions: &Positions,
    catalog: &Catalog,
    roll: &Roll,
) -> Result<Resolved, Vec<Problem>> {
    let mut problems = Vec::new();
    let models = models(definition, positions, catalog, &mut problems);
    let factory = factory(definition, positions, catalog, &mut problems);
    let mut unbound = tools(definition, positions, catalog, &mut problems);
    unbound.extend(agents(definition, positions, roll, &mut problems));
    if !problems.is_empty() {
        return Err(problems);
    }
    let tools = ToolBox::bind(unbound, &catalog.schemas).map_err(|(tool, fault)| {
        let message = format!("the schema of tool `{tool}` cannot be used: {fault}");
        vec![positions.error("tool_schema", None, message)]
    })?;
    Ok(Resolved { models, tools, factory })
}

fn models(
    definition: &Definition,
    positions: &Positions,
    catalog: &Catalog,
    problems: &mut Vec<Problem>,
) -> Vec<BoundModel> {
    let mut bound = Vec::new();
    for (at, choice) in definition.model.iter().enumerate() {
        match catalog.models.resolve(choice) {
            Ok(model) => bound.push(model),
            Err(fault) => {
                let mut problem = positions.error(fault.code, positions.model.get(at).cloned(), fault.message);
                problem.help = fault.help;
                problems.push(problem);
            }
        }
    }
    bound
}

fn factory(
    definition: &Definition,
    positions: &Positions,
    catalog: &Catalog,
    problems: &mut Vec<Problem>,
) -> Option<Arc<dyn MemoryFactory>> {
    let name = &definition.memory.as_ref()?.factory;
    if let Some(factory) = catalog.factories.get(name) {
        return Some(Arc::clone(factory));
    }
    let span = positions.memory_factory.clone();
    let problem = if name.contains(':') {
        not_yet(positions, span, &format!("memory factory `{name}`"), "plugins")
    } else {
        let message = format!("unknown memory factory `{name}`");
        positions.error("unknown_factory", span, message).help(known(name, catalog.factories.keys(), "factories"))
    };
    problems.push(problem);
    None
}

fn tools(
    definition: &Definition,
    positions: &Positions,
    catalog: &Catalog,
    problems: &mut Vec<Problem>,
) -> Vec<Unbound> {
    let mut unbound = Vec::new();
    for (at, name) in definition.tools.iter().enumerate() {
        let span = positions.tools.get(at).cloned();
        let Some(maker) = catalog.tools.get(name) else {
            problems.push(unknown_tool(name, positions, span, catalog));
            continue;
        };
        let settings = definition.tool_settings.get(name).cloned().unwrap_or_default();
        match maker.make(&settings.own) {
            Ok(tool) => {
                let timeout = settings.timeout.unwrap_or(TOOL_TIMEOUT);
                unbound.push(Unbound::tool(tool, name, timeout, settings.concurrency));
            }
            Err(fault) => problems.push(bad_setting(name, positions, fault)),
        }
    }
    unbound
}

fn unknown_tool(name: &str, positions: &Positions, span: Option<std::ops::Range<usize>>, catalog: &Catalog) -> Problem {
    if name.starts_with("mcp:") {
        return not_yet(positions, span, &format!("tool `{name}`"), "MCP servers");
    }
    if name.contains(':') {
        return not_yet(positions, span, &format!("tool `{name}`"), "plugins");
    }
    let message = format!("unknown tool `{name}`");
    positions.error("unknown_tool", span, message).help(known(name, catalog.tools.keys(), "tools"))
}

fn bad_setting(tool: &str, positions: &Positions, fault: SettingsError) -> Problem {
    let span = positions.setting(tool, &fault.key);
    let problem = positions.error("tool_setting", span, format!("settings of tool `{tool}`: {}", fault.message));
    match fault.help {
        Some(help) => problem.help(help),
        None => problem,
    }
}

fn agents(definition: &Definition, positions: &Positions, roll: &Roll, problems: &mut Vec<Problem>) -> Vec<Unbound> {
    let mut unbound = Vec::new();
    for (at, id) in definition.agents.iter().enumerate() {
        if let Some((name, description)) = roll.get(id) {
            unbound.push(Unbound::agent(id, name, description, AGENT_TIMEOUT));
            continue;
        }
        let message = format!("agent `{id}` has no line in config/registry.toml");
        let names: Vec<_> = roll.keys().map(AgentId::as_str).collect();
        let span = positions.agents.get(at).cloned();
        let help = known(id.as_str(), names.iter(), "agents");
        problems.push(positions.error("unknown_agent", span, message).help(help));
    }
    unbound
}

fn not_yet(positions: &Positions, span: Option<std::ops::Range<usize>>, what: &str, feature: &str) -> Problem {
    positions
        .error("not_available_yet", span, format!("{what} cannot be used: this version of Roster has no {feature}"))
        .help("remove it, or use a built-in one")
}

/// "did you mean `x`?", else the list.
fn known<S: AsRef<str>>(name: &str, all: impl Iterator<Item = S>, noun: &str) -> String {
    let all: Vec<S> = all.collect();
    if let Some(near) = suggest(name, all.iter().map(AsRef::as_ref)) {
        return format!("did you mean `{near}`?");
    }
    let list: Vec<_> = all.iter().take(12).map(|known| format!("`{}`", known.as_ref())).collect();
    if list.is_empty() { format!("there are no {noun}") } else { format!("known {noun}: {}", list.join(", ")) }
}

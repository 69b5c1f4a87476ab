//! Names of one definition looked up in the catalog. Makes tools (cheap, checks their settings), calls no factory:
//! `roster check` uses this too.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use roster_model::embedder::Embedder;
use roster_model::id::AgentId;
use roster_model::processor::Processor;
use roster_model::tool::SettingsError;

use super::absent::PluginName;
use super::catalog::{BoundEmbedder, BoundModel, BoundProcessor, Catalog, NameFault};
use super::remote::{self, ServerTool};
use crate::definition::{Definition, OnProcessorError, Pattern, Positions, Problem, suggest};
use crate::memory::MemoryFactory;
use crate::memory::working::{WORKING_MEMORY_TOOL, description, input_schema};
use crate::tool::{Compiled, ToolBox, Unbound, Validator};

/// A tool's time-out when the definition gives none.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(60);
/// The embedder when the definition names none, unless the catalog's source knows better.
pub const DEFAULT_EMBEDDER: &str = "local";
/// Code of the problem that calls cannot wait for approval.
pub(super) const NOWHERE_TO_WAIT: &str = "approval_without_memory";
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
    /// Its processors by name, in order.
    pub processors: Vec<(String, Arc<dyn Processor>)>,
    /// The factory to call at registration.
    pub factory: Option<Arc<dyn MemoryFactory>>,
    /// Who makes vectors for recall, where it is configured.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The schema of its answers, where they have a form.
    pub output: Option<Compiled>,
    /// What somebody should look at, although the agent can be served.
    pub warnings: Vec<Problem>,
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
    let mut warnings = Vec::new();
    let mut unbound = tools(definition, positions, catalog, &mut problems, &mut warnings);
    unbound.extend(agents(definition, positions, roll, &mut problems));
    unbound.extend(working_memory(definition, positions, &mut problems));
    let processors = processors(definition, positions, catalog, &mut problems, &mut warnings);
    let embedder = embedder(definition, positions, catalog, &mut problems, &mut warnings);
    let output = output(definition, positions, catalog, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let tools = ToolBox::bind(unbound, &catalog.schemas).map_err(|(tool, fault)| {
        let message = format!("the schema of tool `{tool}` cannot be used: {fault}");
        vec![positions.error("tool_schema", None, message)]
    })?;
    Ok(Resolved { models, tools, processors, factory, embedder, output, warnings })
}

fn processors(
    definition: &Definition,
    positions: &Positions,
    catalog: &Catalog,
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) -> Vec<(String, Arc<dyn Processor>)> {
    let passes = definition.on_processor_error == OnProcessorError::Pass;
    let mut bound = Vec::new();
    for (at, name) in definition.processors.iter().enumerate() {
        let span = positions.processors.get(at).cloned();
        match catalog.processors.resolve(name) {
            Ok(BoundProcessor { processor, absent }) => {
                bound.push((name.clone(), processor));
                match absent {
                    // Its definition lets everything through that a processor cannot look at.
                    Some(fault) if passes => {
                        let help = "`on_processor_error = \"pass\"`: turns go on without it until the plugin is there";
                        warnings.push(positions.warning(fault.code, span, fault.message).help(help));
                    }
                    Some(fault) => problems.push(named(positions, span, fault)),
                    None => {}
                }
            }
            Err(fault) => problems.push(named(positions, span, fault)),
        }
    }
    bound
}

/// The problem of a name that stands for nothing.
fn named(positions: &Positions, span: Option<std::ops::Range<usize>>, fault: NameFault) -> Problem {
    let problem = positions.error(fault.code, span, fault.message);
    Problem { help: fault.help, ..problem }
}

/// The schema of the agent's answers. Providers take objects only.
fn output(
    definition: &Definition,
    positions: &Positions,
    catalog: &Catalog,
    problems: &mut Vec<Problem>,
) -> Option<Compiled> {
    let schema = definition.output_schema.as_ref()?;
    let compiled = match schema.get("type").and_then(serde_json::Value::as_str) {
        Some("object") => catalog.schemas.get(schema.clone()),
        _ => Err("it has no `type = \"object\"`".to_owned()),
    };
    compiled
        .map_err(|fault| {
            let message = format!("`output_schema` is no JSON Schema of an object: {fault}");
            problems.push(positions.error("bad_schema", positions.output_schema.clone(), message));
        })
        .ok()
}

/// Who makes vectors for the agent's recall.
fn embedder(
    definition: &Definition,
    positions: &Positions,
    catalog: &Catalog,
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) -> Option<Arc<dyn Embedder>> {
    let recall = definition.memory.as_ref()?.recall.as_ref()?;
    let bound = match &recall.embedder {
        Some(name) => catalog.embedders.resolve(name),
        None => catalog.embedders.unnamed(),
    };
    match bound {
        Ok(BoundEmbedder { embedder, notice }) => {
            if let Some(notice) = notice {
                let problem = positions.warning(notice.code, positions.embedder.clone(), notice.message);
                warnings.push(Problem { help: notice.help, ..problem });
            }
            Some(embedder)
        }
        Err(fault) => {
            problems.push(named(positions, positions.embedder.clone(), fault));
            None
        }
    }
}

/// The tool with which the model writes its working memory, where it may.
fn working_memory(definition: &Definition, positions: &Positions, problems: &mut Vec<Problem>) -> Option<Unbound> {
    let working = definition.memory.as_ref()?.working.as_ref()?;
    let schema = input_schema(&working.form);
    if let Err(fault) = Validator::new(&schema) {
        let message = format!("`memory.working_memory.schema` is no JSON Schema: {fault}");
        problems.push(positions.error("bad_schema", positions.working_schema.clone(), message));
        return None;
    }
    let tool = || Unbound::working_memory(WORKING_MEMORY_TOOL, description(&working.form), schema);
    (!working.read_only).then(tool)
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
            Err(fault) => problems.push(named(positions, positions.model.get(at).cloned(), fault)),
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
    let config = definition.memory.as_ref()?;
    let (name, span) = (&config.factory, || positions.memory_factory.clone());
    let factory = match catalog.factories.resolve(name) {
        Ok(factory) => factory,
        Err(fault) => {
            let mut problem = positions.error(fault.code, span(), fault.message);
            problem.help = fault.help;
            problems.push(problem);
            return None;
        }
    };
    let keeps = factory.keeps();
    if config.recall.is_some() && !keeps.recall {
        let message = format!("the memory of `{name}` keeps no index: it cannot have `[memory.semantic_recall]`");
        let help = "take that table out, or use `create_memory`, which keeps one";
        problems.push(positions.error("recall_unsupported", span(), message).help(help));
    }
    if !keeps.approvals {
        let asking = definition.tool_settings.iter().filter(|(_, settings)| settings.approval);
        problems.extend(asking.map(|(tool, _)| {
            let message = format!("calls of `{tool}` cannot wait for approval in the memory of `{name}`");
            let problem = positions.error("approval_unsupported", positions.setting(tool, "approval"), message);
            problem.help("use `create_memory`, whose turns wait, or take `approval` out")
        }));
    }
    Some(factory)
}

fn tools(
    definition: &Definition,
    positions: &Positions,
    catalog: &Catalog,
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<Problem>,
) -> Vec<Unbound> {
    if definition.memory.is_none() {
        let asking = definition.tool_settings.iter().filter(|(_, settings)| settings.approval);
        problems.extend(asking.map(|(name, _)| nowhere_to_wait(name, positions)));
    }
    let mut unbound = Vec::new();
    for (at, name) in definition.tools.iter().enumerate() {
        let span = positions.tools.get(at).cloned();
        if let Some(tool) = ServerTool::read(name) {
            let mut found = remote::Found { positions, catalog, unbound: &mut unbound, problems, warnings };
            found.bind(definition, tool, span);
            continue;
        }
        let Some(maker) = catalog.tools.get(name) else {
            if let Some(plugin) = PluginName::of(name) {
                let found = plugin.absent(positions, span, catalog);
                // The agent serves without a plugin's tool, and it joins when it comes.
                let to = if plugin.is_configured(catalog) { &mut *warnings } else { &mut *problems };
                to.extend(found);
                continue;
            }
            problems.push(unknown_tool(name, positions, span, catalog));
            continue;
        };
        let settings = definition.tool_settings.get(name).cloned().unwrap_or_default();
        match maker.make(&settings.own) {
            Ok(tool) => {
                let timeout = settings.timeout.unwrap_or(TOOL_TIMEOUT);
                let tool = Unbound::tool(tool, name, timeout, settings.concurrency);
                unbound.push(tool.with_approval(settings.approval));
            }
            Err(fault) => problems.push(bad_setting(name, positions, fault)),
        }
    }
    unbound
}

fn unknown_tool(name: &str, positions: &Positions, span: Option<std::ops::Range<usize>>, catalog: &Catalog) -> Problem {
    let message = format!("unknown tool `{name}`");
    positions.error("unknown_tool", span, message).help(known(name, catalog.tools.keys(), "tools"))
}

fn nowhere_to_wait(tool: &str, positions: &Positions) -> Problem {
    let message =
        format!("calls of `{tool}` can wait for approval only in a stored conversation, and the agent has no memory");
    let problem = positions.error(NOWHERE_TO_WAIT, positions.setting(tool, "approval"), message);
    problem.help("add `memory = \"create_memory\"`, or take `approval` out")
}

pub(super) fn bad_setting(tool: &str, positions: &Positions, fault: SettingsError) -> Problem {
    let span = positions.setting(tool, &fault.key);
    let problem = positions.error("tool_setting", span, format!("settings of tool `{tool}`: {}", fault.message));
    match fault.help {
        Some(help) => problem.help(help),
        None => problem,
    }
}

fn agents(definition: &Definition, positions: &Positions, roll: &Roll, problems: &mut Vec<Problem>) -> Vec<Unbound> {
    // In a fixed pattern the engine calls the stages; the model is offered `agents` only.
    let fixed = definition.orchestration.as_ref().is_some_and(|it| it.pattern != Pattern::Delegate);
    let mut spans = positions.callees();
    let mut unbound: Vec<Unbound> = Vec::new();
    for (at, id) in definition.callees().enumerate() {
        let span = spans.next().cloned();
        if let Some((name, description)) = roll.get(id) {
            let offered = at < definition.agents.len() || !fixed;
            if offered && !unbound.iter().any(|other| other.written == id.as_str()) {
                let name = definition.role_of(id).map_or_else(|| name.clone(), |role| format!("{name} ({role})"));
                unbound.push(Unbound::agent(id, &name, description, AGENT_TIMEOUT));
            }
            continue;
        }
        let message = format!("agent `{id}` has no line in config/registry.toml");
        let names: Vec<_> = roll.keys().map(AgentId::as_str).collect();
        let help = known(id.as_str(), names.iter(), "agents");
        problems.push(positions.error("unknown_agent", span, message).help(help));
    }
    unbound
}

/// "did you mean `x`?", else the list.
pub(super) fn known<S: AsRef<str>>(name: &str, all: impl Iterator<Item = S>, noun: &str) -> String {
    let all: Vec<S> = all.collect();
    if let Some(near) = suggest(name, all.iter().map(AsRef::as_ref)) {
        return format!("did you mean `{near}`?");
    }
    let list: Vec<_> = all.iter().take(12).map(|known| format!("`{}`", known.as_ref())).collect();
    if list.is_empty() { format!("there are no {noun}") } else { format!("known {noun}: {}", list.join(", ")) }
}

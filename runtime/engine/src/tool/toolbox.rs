//! The tools of one agent, fixed at registration.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use roster_model::id::AgentId;
use roster_model::provider::OfferedTool;
use roster_model::tool::Tool;
use serde_json::json;
use tokio::sync::Semaphore;

use super::names::{offered_name, plain_name};
use super::validate::{Schemas, Validator};

/// What stands behind a name.
#[derive(Clone)]
pub enum Target {
    /// A tool.
    Tool(Arc<dyn Tool>),
    /// Another agent, called with the one argument `prompt`.
    Agent(AgentId),
    /// The agent's own working memory, written with the one argument `memory`.
    WorkingMemory,
}

/// A tool bound to an agent.
pub struct BoundTool {
    /// The name as the definition writes it; of a sub-agent, its id.
    pub written: String,
    /// What the model is offered.
    pub offered: OfferedTool,
    /// What stands behind it.
    pub target: Target,
    /// Checks arguments.
    pub validator: Arc<Validator>,
    /// After this a call is given up.
    pub timeout: Duration,
    /// Calls at once.
    pub slots: Option<Arc<Semaphore>>,
    /// A person must approve each call.
    pub approval: bool,
}

/// After this a write of working memory is given up.
const WORKING_MEMORY_TIMEOUT: Duration = Duration::from_secs(20);

/// All tools of one agent.
#[derive(Default)]
pub struct ToolBox {
    tools: Vec<BoundTool>,
    by_offered: HashMap<String, usize>,
    offered: Arc<[OfferedTool]>,
    /// The same without the working-memory tool.
    stateless: Arc<[OfferedTool]>,
}

/// A tool before it has its name for the model.
pub struct Unbound {
    /// The name as written.
    pub written: String,
    /// The name before making it legal.
    pub plain: String,
    /// For the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: serde_json::Value,
    /// What stands behind it.
    pub target: Target,
    /// After this a call is given up.
    pub timeout: Duration,
    /// Calls at once.
    pub concurrency: Option<u32>,
    /// A person must approve each call.
    pub approval: bool,
}

impl Unbound {
    /// The same with a person asked before each call.
    pub(crate) fn with_approval(self, approval: bool) -> Self {
        Self { approval, ..self }
    }

    /// A tool.
    pub(crate) fn tool(tool: Arc<dyn Tool>, written: &str, timeout: Duration, concurrency: Option<u32>) -> Self {
        let spec = tool.spec();
        Self {
            written: written.to_owned(),
            plain: plain_name(written),
            description: spec.description.clone(),
            input_schema: spec.input_schema.clone(),
            target: Target::Tool(tool),
            timeout,
            concurrency,
            approval: false,
        }
    }

    /// A sub-agent, offered as `agent_<id>` with the one argument `prompt`.
    pub(crate) fn agent(id: &AgentId, name: &str, description: &str, timeout: Duration) -> Self {
        let about = if description.is_empty() { String::new() } else { format!(" {description}") };
        Self {
            written: id.as_str().to_owned(),
            plain: format!("agent_{id}"),
            description: format!("Asks the agent \"{name}\" and returns its answer.{about}"),
            input_schema: json!({
                "type": "object",
                "properties": {"prompt": {"type": "string", "description": "The whole task for the agent; it sees nothing else of this conversation."}},
                "required": ["prompt"],
                "additionalProperties": false,
            }),
            target: Target::Agent(id.clone()),
            timeout,
            concurrency: None,
            approval: false,
        }
    }
}

impl Unbound {
    /// The tool with which a model writes its working memory; keeps its name whatever the others are called.
    pub(crate) fn working_memory(name: &str, description: String, input_schema: serde_json::Value) -> Self {
        Self {
            written: name.to_owned(),
            plain: name.to_owned(),
            description,
            input_schema,
            target: Target::WorkingMemory,
            timeout: WORKING_MEMORY_TIMEOUT,
            concurrency: None,
            approval: false,
        }
    }
}

impl ToolBox {
    /// Names and binds tools. A tool whose schema cannot be compiled is an error naming it.
    ///
    /// # Errors
    /// The name as written, and what is wrong with the schema.
    pub fn bind(unbound: Vec<Unbound>, schemas: &Schemas) -> Result<Self, (String, String)> {
        let mut wanted: HashMap<String, usize> = HashMap::new();
        for tool in &unbound {
            *wanted.entry(offered_name(&tool.plain, &tool.written, false)).or_default() += 1;
        }
        let mut bound = Self::default();
        for tool in unbound {
            let own = matches!(tool.target, Target::WorkingMemory);
            let simple = offered_name(&tool.plain, &tool.written, false);
            let meets = wanted.get(&simple).is_some_and(|count| *count > 1);
            let name = if meets && !own { offered_name(&tool.plain, &tool.written, true) } else { simple };
            let (input_schema, validator) =
                schemas.get(tool.input_schema).map_err(|fault| (tool.written.clone(), fault))?;
            bound.by_offered.insert(name.clone(), bound.tools.len());
            bound.tools.push(BoundTool {
                written: tool.written,
                offered: OfferedTool { name, description: tool.description, input_schema },
                target: tool.target,
                validator,
                timeout: tool.timeout,
                approval: tool.approval,
                slots: tool.concurrency.map(|n| Arc::new(Semaphore::new(n.max(1) as usize))),
            });
        }
        let offered = |tool: &BoundTool| tool.offered.clone();
        bound.offered = bound.tools.iter().map(offered).collect();
        let stateless = bound.tools.iter().filter(|tool| !matches!(tool.target, Target::WorkingMemory));
        bound.stateless = stateless.map(offered).collect();
        Ok(bound)
    }

    /// What the model is offered, in the order written.
    #[must_use]
    pub fn offered(&self) -> Arc<[OfferedTool]> {
        Arc::clone(&self.offered)
    }

    /// What the model is offered in a turn without memory.
    #[must_use]
    pub fn offered_without_memory(&self) -> Arc<[OfferedTool]> {
        Arc::clone(&self.stateless)
    }

    /// The tool behind a name the model used.
    #[must_use]
    pub fn find(&self, offered: &str) -> Option<&BoundTool> {
        self.by_offered.get(offered).map(|at| &self.tools[*at])
    }

    /// All of them, in the order written.
    pub fn iter(&self) -> impl Iterator<Item = &BoundTool> {
        self.tools.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(ids: &[&str]) -> ToolBox {
        let unbound = ids.iter().map(|id| {
            let id = AgentId::new(id).expect("legal");
            Unbound::agent(&id, id.as_str(), "", Duration::from_secs(1))
        });
        ToolBox::bind(unbound.collect(), &Schemas::default()).map_err(|fault| fault.1).expect("binds")
    }

    #[test]
    fn similar_agents_get_unique_legal_names_that_map_back() {
        let long = "x".repeat(64);
        let ids = ["billing.eu", "billing_eu", "billing-eu", long.as_str()];
        let tools = agents(&ids);
        let names: std::collections::HashSet<_> = tools.iter().map(|tool| tool.offered.name.clone()).collect();
        assert_eq!(names.len(), 4);
        for (tool, id) in tools.iter().zip(ids) {
            assert!(tool.offered.name.len() <= 64);
            assert_eq!(tools.find(&tool.offered.name).map(|found| found.written.as_str()), Some(id));
        }
        assert_eq!(tools.iter().nth(1).map(|tool| tool.offered.name.as_str()), Some("agent_billing_eu"));
    }
}

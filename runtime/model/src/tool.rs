//! Tools: what a model may call.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::BoxFuture;
use crate::id::{AgentId, ThreadKey, TurnId};

/// What a tool is, as its maker describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The name as definitions write it: `get_time`, `weather:get_forecast`.
    pub name: String,
    /// For the model: what it does and when to use it.
    pub description: String,
    /// JSON Schema of the arguments, an object schema.
    pub input_schema: Value,
}

/// For whom and within what a tool runs.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The calling agent.
    pub agent: AgentId,
    /// The turn.
    pub turn: TurnId,
    /// The thread, when the turn has one.
    pub key: Option<ThreadKey>,
    /// The call's id.
    pub call_id: String,
}

/// What went wrong in a tool, told to the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// Machine code: `unreachable`, `invalid_arguments`, `timeout`.
    pub code: &'static str,
    /// What to tell the model. No secret, no path of ours.
    pub message: String,
}

/// A tool ready to run. Dropping the future cancels the call.
pub trait Tool: Send + Sync + 'static {
    /// What it is.
    fn spec(&self) -> &ToolSpec;
    /// Runs it. The arguments were checked against the schema before.
    fn call(&self, arguments: Map<String, Value>, context: ToolContext) -> BoxFuture<'_, Result<Value, ToolError>>;
}

/// Why a tool refuses its settings in a definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SettingsError {
    /// The key at fault; empty for the whole table.
    pub key: String,
    /// What is wrong with it.
    pub message: String,
    /// What to do, when there is something to say.
    pub help: Option<String>,
}

/// Makes a tool for one agent. Called at assembly, once per registration.
pub trait ToolMaker: Send + Sync + 'static {
    /// Makes the tool with the agent's own settings (the keys of `[tool_settings."name"]` that are the tool's own).
    ///
    /// # Errors
    /// [`SettingsError`] names the key and what is wrong.
    fn make(&self, settings: &Map<String, Value>) -> Result<Arc<dyn Tool>, SettingsError>;
}

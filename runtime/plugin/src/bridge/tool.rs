//! `tool/1` as a [`Tool`].

use std::sync::Arc;
use std::time::Duration;

use jsonschema::Validator;
use roster_abi::contract::{CallContext, Contribution, kind};
use roster_model::BoxFuture;
use roster_model::tool::{SettingsError, Tool, ToolContext, ToolError, ToolMaker, ToolSpec};
use serde_json::{Map, Value, json};

use crate::call::{CallError, Payload};
use crate::plugin::{Ask, Plugin};

/// A tool of a plugin.
pub struct PluginTool {
    plugin: Arc<Plugin>,
    component: String,
    spec: ToolSpec,
    output: Option<Validator>,
    idempotent: bool,
    timeout: Option<Duration>,
}

/// Makes the tools of a plugin that serve now, by the names definitions use.
#[must_use]
pub fn tools(plugin: &Arc<Plugin>) -> Vec<(String, Arc<dyn ToolMaker>)> {
    let Some(generation) = plugin.generation() else { return Vec::new() };
    let all = generation.description.contributes.iter();
    all.filter(|one| one.kind == kind::TOOL && one.contract == "tool/1")
        .map(|one| {
            let tool = Arc::new(PluginTool::new(plugin, one));
            (tool.spec.name.clone(), Arc::new(Maker(tool)) as Arc<dyn ToolMaker>)
        })
        .collect()
}

struct Maker(Arc<PluginTool>);

impl ToolMaker for Maker {
    fn make(&self, settings: &Map<String, Value>) -> Result<Arc<dyn Tool>, SettingsError> {
        match settings.keys().next() {
            None => Ok(Arc::clone(&self.0) as Arc<dyn Tool>),
            Some(key) => Err(SettingsError {
                key: key.clone(),
                message: "a plugin's tool has no settings of its own".to_owned(),
                help: Some(format!(
                    "what the plugin takes stands under [plugins.{}.config] in config/runtime.toml",
                    self.0.plugin.key()
                )),
            }),
        }
    }
}

impl PluginTool {
    fn new(plugin: &Arc<Plugin>, one: &Contribution) -> Self {
        let input_schema = one.input_schema.clone().unwrap_or_else(|| json!({ "type": "object" }));
        Self {
            plugin: Arc::clone(plugin),
            component: one.id.clone(),
            spec: ToolSpec {
                name: format!("{}:{}", plugin.key(), one.id),
                description: one.description.clone(),
                input_schema,
            },
            // It was compiled once when the plugin was loaded.
            output: one.output_schema.as_ref().and_then(|schema| jsonschema::validator_for(schema).ok()),
            idempotent: one.idempotent,
            timeout: one.timeout_ms.map(Duration::from_millis),
        }
    }

    async fn invoke(&self, arguments: Map<String, Value>, context: ToolContext) -> Result<Value, CallError> {
        let context = CallContext {
            run: Some(context.turn.to_string()),
            agent: Some(context.agent.to_string()),
            thread: context.key.as_ref().map(|key| key.thread.to_string()),
            resource: context.key.as_ref().map(|key| key.resource.to_string()),
            traceparent: None,
            tool_call: Some(context.call_id),
        };
        let ask = Ask {
            component: &self.component,
            method: "invoke",
            input: Payload::json(&arguments),
            context: &context,
            chunks: false,
            timeout: self.timeout,
        };
        let answer = self.plugin.ask(ask, self.idempotent).await?;
        // What a call fails with is counted; what its answer is worth only shows here.
        self.read(&answer).inspect_err(|error| self.plugin.counters.error(&error.code))
    }

    fn read(&self, answer: &Payload) -> Result<Value, CallError> {
        let value: Value = answer.read()?;
        if let Some(error) = self.output.as_ref().and_then(|output| output.iter_errors(&value).next()) {
            let message = format!("the output of `{}` is not what it declares: {}", self.spec.name, error.masked());
            return Err(CallError::host("plugin_bad_output", message, false));
        }
        Ok(value)
    }
}

impl Tool for PluginTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: Map<String, Value>, context: ToolContext) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            self.invoke(arguments, context).await.map_err(|error| {
                let code = match error.code.as_str() {
                    "plugin_crashed" => "plugin_crashed",
                    "plugin_timeout" => "timeout",
                    "plugin_bad_output" => "plugin_bad_output",
                    "plugin_restarted" => "plugin_restarted",
                    "plugin_unavailable" | "plugin_busy" => "unavailable",
                    "invalid" => "invalid_arguments",
                    _ => "tool_failed",
                };
                ToolError { code, message: error.message }
            })
        })
    }
}

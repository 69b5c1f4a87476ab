//! Tools that a request brings, in OpenAI's form.

use std::sync::Arc;

use http::StatusCode;
use roster_engine::registry::Agent;
use roster_engine::turn::{self, ClientTools, ResultsRefused, Services, TurnRequest, TurnStream};
use roster_model::message::ToolResult;
use roster_model::provider::{OfferedTool, ToolChoice};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::http::error::ApiError;

/// Tools of one request.
const MOST_TOOLS: usize = 128;

/// `{"type": "function", "function": {…}}`.
#[derive(Deserialize)]
pub(super) struct WireTool {
    #[serde(rename = "type")]
    kind: String,
    function: Option<WireFunction>,
}

#[derive(Deserialize)]
struct WireFunction {
    name: String,
    description: Option<String>,
    parameters: Option<Map<String, Value>>,
}

/// Reads the list.
///
/// # Errors
/// 400 naming the tool at fault.
pub(super) fn read(tools: Option<Vec<WireTool>>, agent: &Agent) -> Result<ClientTools, ApiError> {
    let tools = tools.unwrap_or_default();
    if tools.len() > MOST_TOOLS {
        let message = format!("`tools` holds {} tools; at most {MOST_TOOLS} are taken", tools.len());
        return Err(ApiError::invalid(message).param("tools"));
    }
    let mut offered = Vec::with_capacity(tools.len());
    for (at, tool) in tools.into_iter().enumerate() {
        let refuse = |text: &str| ApiError::invalid(format!("`tools.{at}`: {text}")).param(format!("tools.{at}"));
        let function = tool.function.filter(|_| tool.kind == "function");
        let function = function.ok_or_else(|| refuse("must be of type `function`, with a `function`"))?;
        let schema = function.parameters.map_or_else(|| json!({"type": "object", "properties": {}}), Value::Object);
        offered.push(OfferedTool {
            name: function.name,
            description: function.description.unwrap_or_default(),
            input_schema: Arc::new(schema),
        });
    }
    ClientTools::new(offered, &agent.tools)
        .map_err(|(at, fault)| ApiError::invalid(format!("`tools.{at}`: {fault}")).param(format!("tools.{at}")))
}

/// Whether the model may, must or must not call tools: a word, or `{"type": "function", "function": {"name"}}`.
///
/// # Errors
/// 400.
pub(super) fn choice(
    choice: Option<&Value>,
    agent: &Agent,
    tools: &ClientTools,
) -> Result<Option<ToolChoice>, ApiError> {
    let refuse =
        |text: String| ApiError::new(StatusCode::BAD_REQUEST, "unsupported_parameter", text).param("tool_choice");
    let Some(choice) = choice.filter(|choice| !choice.is_null()) else { return Ok(None) };
    match (choice.as_str(), choice.pointer("/function/name").and_then(Value::as_str)) {
        (Some("auto"), _) => Ok(Some(ToolChoice::Auto)),
        (Some("none"), _) => Ok(Some(ToolChoice::None)),
        (Some("required"), _) => Ok(Some(ToolChoice::Required)),
        (None, Some(name)) if tools.has(name) || agent.tools.find(name).is_some() => {
            Ok(Some(ToolChoice::Named(name.to_owned())))
        }
        (None, Some(_)) => Err(refuse("`tool_choice` names a tool that is not there".to_owned())),
        _ => Err(refuse("`tool_choice` must be `none`, `auto`, `required`, or name a function".to_owned())),
    }
}

/// Begins the turn, or goes on with the one that waits for these results.
///
/// # Errors
/// Why not.
pub(super) async fn start(
    services: &Arc<Services>,
    request: TurnRequest,
    results: Vec<ToolResult>,
) -> Result<TurnStream, ApiError> {
    if results.is_empty() || !request.stored || request.agent.memory.is_none() {
        return Ok(turn::start(services, request)?);
    }
    turn::bring_results(services, request, results).await.map_err(refused)
}

fn refused(refused: ResultsRefused) -> ApiError {
    let conflict = |code, message| ApiError::new(StatusCode::CONFLICT, code, message);
    match refused {
        ResultsRefused::Turn(refused) => refused.into(),
        ResultsRefused::Failed(failure) => failure.into(),
        ResultsRefused::NotAwaited => {
            conflict("results_not_awaited", "the conversation waits for no results of tools; send a user message")
        }
        ResultsRefused::OtherAgent(agent) => {
            let message = format!("the conversation waits for these results with agent `{agent}`; name it as `model`");
            ApiError::new(StatusCode::CONFLICT, "results_not_awaited", message).param("model")
        }
        ResultsRefused::Missing(ids) => {
            ApiError::invalid(format!("these calls have no result: {}", ids.join(", "))).param("messages")
        }
        ResultsRefused::Unknown(id) => {
            let shown: String = id.chars().take(80).collect();
            ApiError::invalid(format!("the conversation has no open call `{shown}`")).param("messages")
        }
    }
}

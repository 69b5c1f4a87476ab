//! The request's messages, folded: results of tools become parts of the assistant message that called them, and what
//! the assistant said after them joins that message, as in a stored turn.

use roster_engine::tool::parse_arguments;
use roster_engine::turn::{Input, InputMessage};
use roster_model::message::{Part, Role, ToolCall, ToolResult};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::content::Content;
use super::{check_count, check_question};
use crate::http::error::ApiError;

/// Calls of one message.
const MOST_CALLS: usize = 128;

#[derive(Deserialize)]
pub(super) struct WireMessage {
    role: String,
    #[serde(default)]
    content: Content,
    #[serde(default)]
    tool_calls: Option<Vec<WireCall>>,
    tool_call_id: Option<String>,
}

#[derive(Deserialize)]
struct WireCall {
    id: String,
    function: WireFunction,
}

#[derive(Deserialize)]
struct WireFunction {
    name: String,
    #[serde(default)]
    arguments: String,
}

/// Reads the list, and apart from it the results it ends with. `keeps`: the conversation is stored, so that results may
/// come alone.
///
/// # Errors
/// 400 naming the message at fault.
pub(super) fn fold(messages: Vec<WireMessage>, keeps: bool) -> Result<(Input, Vec<ToolResult>), ApiError> {
    check_count(messages.len())?;
    let newest = messages.iter().rev().take_while(|message| message.role == "tool").count();
    let mut folded: Vec<InputMessage> = Vec::with_capacity(messages.len());
    for (number, message) in messages.into_iter().enumerate() {
        let at = format!("messages.{number}");
        match message.role.as_str() {
            "system" | "developer" => push(&mut folded, Role::System, message.content, &at)?,
            "user" => push(&mut folded, Role::User, message.content, &at)?,
            "assistant" => assistant(&mut folded, message, &at)?,
            "tool" => tool(&mut folded, message, &at)?,
            other => {
                let text = format!("`{at}.role` is `{other}`; known are system, developer, user, assistant and tool");
                return Err(ApiError::invalid(text).param(format!("{at}.role")));
            }
        }
    }
    let results = newest_results(&folded, newest);
    // A conversation that is kept goes on with results alone; its question is stored.
    if results.is_empty() || !keeps {
        check_question(&folded)?;
    }
    folded.retain(|message| !message.parts.is_empty());
    Ok((Input { messages: folded }, results))
}

/// The results that the list ends with.
fn newest_results(folded: &[InputMessage], count: usize) -> Vec<ToolResult> {
    let parts = folded.last().map(|message| message.parts.as_slice()).unwrap_or_default();
    let newest = parts.iter().skip(parts.len().saturating_sub(count));
    let results = newest.filter_map(|part| match part {
        Part::ToolResult(result) => Some(result.clone()),
        _ => None,
    });
    if count == 0 { Vec::new() } else { results.collect() }
}

fn push(folded: &mut Vec<InputMessage>, role: Role, content: Content, at: &str) -> Result<(), ApiError> {
    folded.push(InputMessage { role, parts: content.into_parts(at)? });
    Ok(())
}

fn assistant(folded: &mut Vec<InputMessage>, message: WireMessage, at: &str) -> Result<(), ApiError> {
    let mut parts = message.content.into_parts(at)?;
    let calls = message.tool_calls.unwrap_or_default();
    if calls.len() > MOST_CALLS {
        let text = format!("`{at}.tool_calls` holds {} calls; at most {MOST_CALLS} are taken", calls.len());
        return Err(ApiError::invalid(text).param(format!("{at}.tool_calls")));
    }
    parts.extend(calls.into_iter().map(|call| Part::ToolCall(call.read())));
    match folded.last_mut() {
        Some(InputMessage { role: Role::Assistant, parts: before })
            if matches!(before.last(), Some(Part::ToolResult(_))) =>
        {
            before.extend(parts);
        }
        _ => folded.push(InputMessage { role: Role::Assistant, parts }),
    }
    Ok(())
}

impl WireCall {
    fn read(self) -> ToolCall {
        let (id, name, text) = (self.id, self.function.name, self.function.arguments);
        match parse_arguments(&text) {
            Ok(arguments) => ToolCall { id, name, arguments, malformed: None },
            Err(_) => ToolCall { id, name, arguments: Map::new(), malformed: Some(text) },
        }
    }
}

/// The name of the newest call of this id, unless it has its result. Only the newest step is looked at: results follow
/// their calls, and a step has a bounded number of them.
fn open_call(parts: &[Part], id: &str) -> Option<String> {
    for part in parts.iter().rev().take(2 * MOST_CALLS) {
        match part {
            Part::ToolCall(call) if call.id == id => return Some(call.name.clone()),
            Part::ToolResult(result) if result.call_id == id => return None,
            _ => {}
        }
    }
    None
}

fn tool(folded: &mut [InputMessage], message: WireMessage, at: &str) -> Result<(), ApiError> {
    let refuse = |text: &str| ApiError::invalid(text).param(format!("{at}.tool_call_id"));
    let Some(id) = message.tool_call_id else {
        return Err(refuse("a message of role `tool` needs `tool_call_id`"));
    };
    let Some(InputMessage { role: Role::Assistant, parts }) = folded.last_mut() else {
        return Err(refuse("a message of role `tool` must follow the assistant message that called it"));
    };
    let Some(name) = open_call(parts, &id) else {
        return Err(refuse("`tool_call_id` names no open call of the assistant message before it"));
    };
    let words = message.content.into_parts(at)?.into_iter().filter_map(|part| match part {
        Part::Text { text } => Some(text),
        _ => None,
    });
    let output = Value::String(words.collect());
    parts.push(Part::ToolResult(ToolResult { call_id: id, name, output, is_error: false, duration_ms: 0 }));
    Ok(())
}

//! The forms of `/api/conversations`.

use std::collections::HashMap;

use roster_model::id::{MessageId, ThreadId};
use roster_model::message::{self, MessageStatus, Part, Role, ToolResult};
use roster_model::storage::Thread;
use roster_model::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Serialize)]
pub(super) struct List<'a> {
    pub(super) conversations: Vec<Conversation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Conversation<'a> {
    id: &'a ThreadId,
    title: &'a str,
    /// What a client left under this name in the thread's metadata; empty for most.
    description: &'a str,
    updated_at: Timestamp,
    message_count: u64,
}

impl<'a> From<&'a Thread> for Conversation<'a> {
    fn from(thread: &'a Thread) -> Self {
        let description = thread.metadata.as_ref().and_then(|metadata| metadata.get("description")?.as_str());
        Self {
            id: &thread.key.thread,
            title: &thread.title,
            description: description.unwrap_or_default(),
            updated_at: thread.updated_at,
            message_count: thread.message_count,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Transcript<'a> {
    pub(super) id: &'a ThreadId,
    pub(super) messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message<'a> {
    id: &'a MessageId,
    role: Role,
    content: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    thinking: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<MessageStatus>,
    created_at: Timestamp,
}

/// A call without a result was interrupted, or still runs.
#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    name: &'a str,
    arguments: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Value>,
    /// Milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<u64>,
}

impl<'a> From<&'a message::Message> for Message<'a> {
    fn from(message: &'a message::Message) -> Self {
        let results: HashMap<&str, &ToolResult> = message.parts.iter().filter_map(result).collect();
        let mut thinking = String::new();
        let mut tool_calls = Vec::new();
        for part in &message.parts {
            match part {
                Part::Reasoning { text, .. } => thinking.push_str(text),
                Part::ToolCall(call) => tool_calls.push(Call::new(call, results.get(call.id.as_str()).copied())),
                Part::Text { .. } | Part::ToolResult(_) | Part::File { .. } | Part::Error { .. } => {}
            }
        }
        Self {
            id: &message.id,
            role: message.role,
            content: message.text(),
            thinking,
            tool_calls,
            status: Some(message.status).filter(|status| *status != MessageStatus::Complete),
            created_at: message.created_at,
        }
    }
}

fn result(part: &Part) -> Option<(&str, &ToolResult)> {
    match part {
        Part::ToolResult(result) => Some((result.call_id.as_str(), result)),
        _ => None,
    }
}

impl<'a> Call<'a> {
    fn new(call: &'a message::ToolCall, result: Option<&'a ToolResult>) -> Self {
        Self {
            id: &call.id,
            name: &call.name,
            arguments: &call.arguments,
            result: result.filter(|result| !result.is_error).map(|result| &result.output),
            error: result.filter(|result| result.is_error).map(|result| &result.output),
            duration: result.map(|result| result.duration_ms),
        }
    }
}

//! Threads and messages in Mastra's form.

use std::collections::HashMap;

use roster_model::id::{MessageId, ResourceId, ThreadId};
use roster_model::message::{FileData, Message, MessageStatus, Part, Role, ToolCall, ToolResult};
use roster_model::storage::Thread;
use roster_model::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireThread<'a> {
    id: &'a ThreadId,
    resource_id: &'a ResourceId,
    title: &'a str,
    created_at: Timestamp,
    updated_at: Timestamp,
    metadata: Option<&'a Map<String, Value>>,
}

impl<'a> WireThread<'a> {
    pub(super) fn new(thread: &'a Thread, shown: &'a ResourceId) -> Self {
        Self {
            id: &thread.key.thread,
            resource_id: shown,
            title: &thread.title,
            created_at: thread.created_at,
            updated_at: thread.updated_at,
            metadata: thread.metadata.as_ref(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadList<'a> {
    pub(super) threads: Vec<WireThread<'a>>,
    pub(super) total: u64,
    pub(super) page: u64,
    pub(super) per_page: u64,
    pub(super) has_more: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageList<'a> {
    pub(super) messages: Vec<WireMessage<'a>>,
    pub(super) total: u64,
    pub(super) page: u64,
    pub(super) per_page: u64,
    pub(super) has_more: bool,
    pub(super) ui_messages: Option<()>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireMessage<'a> {
    id: &'a MessageId,
    content: WireContent<'a>,
    role: Role,
    created_at: Timestamp,
    thread_id: &'a ThreadId,
    resource_id: &'a ResourceId,
}

#[derive(Serialize)]
struct WireContent<'a> {
    format: u32,
    parts: Vec<WirePart<'a>>,
    #[serde(skip_serializing_if = "String::is_empty")]
    content: String,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum WirePart<'a> {
    Text { text: &'a str, created_at: i64 },
    Reasoning { reasoning: &'a str, details: Vec<Detail<'a>>, created_at: i64 },
    ToolInvocation { tool_invocation: Invocation<'a>, created_at: i64 },
    StepStart { created_at: i64 },
    File { data: &'a str, mime_type: &'a str, created_at: i64 },
    Error { error: WireError<'a>, created_at: i64 },
}

#[derive(Serialize)]
struct Detail<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation<'a> {
    state: &'static str,
    tool_call_id: &'a str,
    tool_name: &'a str,
    args: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
}

#[derive(Serialize)]
struct WireError<'a> {
    name: &'a str,
    message: &'a str,
}

impl<'a> WireMessage<'a> {
    pub(super) fn new(message: &'a Message, thread: &'a ThreadId, shown: &'a ResourceId) -> Self {
        let mut metadata = message.metadata.clone();
        if message.status != MessageStatus::Complete {
            metadata.insert("status".to_owned(), message.status.as_str().into());
        }
        Self {
            id: &message.id,
            content: WireContent { format: 2, parts: parts(message), content: message.text(), metadata },
            role: message.role,
            created_at: message.created_at,
            thread_id: thread,
            resource_id: shown,
        }
    }
}

/// A call and its result are one part, where the call stands; a step that follows results is marked.
fn parts(message: &Message) -> Vec<WirePart<'_>> {
    let created_at = message.created_at.millis();
    let results: HashMap<&str, &ToolResult> = message.parts.iter().filter_map(result).collect();
    let mut parts = Vec::with_capacity(message.parts.len());
    let mut after_results = false;
    for part in &message.parts {
        if let Part::ToolResult(_) = part {
            after_results = true;
            continue;
        }
        if std::mem::take(&mut after_results) {
            parts.push(WirePart::StepStart { created_at });
        }
        parts.push(one(part, &results, created_at));
    }
    parts
}

fn result(part: &Part) -> Option<(&str, &ToolResult)> {
    match part {
        Part::ToolResult(result) => Some((result.call_id.as_str(), result)),
        _ => None,
    }
}

fn one<'a>(part: &'a Part, results: &HashMap<&str, &'a ToolResult>, created_at: i64) -> WirePart<'a> {
    match part {
        Part::Text { text } => WirePart::Text { text, created_at },
        Part::Reasoning { text, .. } => {
            WirePart::Reasoning { reasoning: text, details: vec![Detail { kind: "text", text }], created_at }
        }
        Part::ToolCall(call) => {
            let tool_invocation = invocation(call, results.get(call.id.as_str()).copied());
            WirePart::ToolInvocation { tool_invocation, created_at }
        }
        Part::File { media_type, data, .. } => {
            let (FileData::Url(data) | FileData::Base64(data)) = data;
            WirePart::File { data, mime_type: media_type, created_at }
        }
        Part::Error { code, message } => WirePart::Error { error: WireError { name: code, message }, created_at },
        // Never asked for: a result is told with its call.
        Part::ToolResult(_) => WirePart::StepStart { created_at },
    }
}

fn invocation<'a>(call: &'a ToolCall, result: Option<&'a ToolResult>) -> Invocation<'a> {
    let output = result.map(|result| match result.is_error {
        true => json!({"error": true, "message": result.output}),
        false => result.output.clone(),
    });
    Invocation {
        state: if output.is_some() { "result" } else { "call" },
        tool_call_id: &call.id,
        tool_name: &call.name,
        args: &call.arguments,
        result: output,
    }
}

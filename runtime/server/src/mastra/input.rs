//! Messages as clients of the Mastra REST write them: a text, a list of parts, or the stored form (format 2).

use roster_model::id::MessageId;
use roster_model::message::{FileData, Message, MessageStatus, Part, Role, ToolCall, ToolResult};
use roster_model::time::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::request::bad;
use crate::app::App;
use crate::http::error::ApiError;

/// A message to be saved.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Saved {
    id: Option<String>,
    role: String,
    content: Value,
    pub(super) thread_id: Option<String>,
    pub(super) resource_id: Option<String>,
    created_at: Option<Timestamp>,
}

impl Saved {
    /// As it is stored; `at` is its place in the request, `messages.3`.
    ///
    /// # Errors
    /// 400 naming the field.
    pub(super) fn read(self, app: &App, at: &str) -> Result<Message, ApiError> {
        let id = match self.id.as_deref() {
            None | Some("") => MessageId::fresh(app.services.ids.as_ref()),
            Some(text) => MessageId::new(text).map_err(|error| bad(&format!("{at}.id"), &error.to_string()))?,
        };
        let Some(role) = Role::parse(&self.role) else {
            return Err(bad(&format!("{at}.role"), "must be `user`, `assistant` or `system`"));
        };
        let (parts, metadata) = content(self.content, &format!("{at}.content"))?;
        let calls = |part: &Part| matches!(part, Part::ToolCall(_) | Part::ToolResult(_));
        if role != Role::Assistant && parts.iter().any(calls) {
            return Err(bad(&format!("{at}.content"), "only a message of the assistant can hold calls of tools"));
        }
        Ok(Message {
            id,
            role,
            parts,
            created_at: self.created_at.unwrap_or_else(|| app.services.clock.now()),
            status: MessageStatus::Complete,
            origin: None,
            metadata,
        })
    }
}

fn content(content: Value, at: &str) -> Result<(Vec<Part>, Map<String, Value>), ApiError> {
    match content {
        Value::String(text) => Ok((vec![Part::text(text)], Map::new())),
        Value::Array(list) => Ok((parts(list, at)?, Map::new())),
        Value::Object(mut form) => {
            let metadata = match form.remove("metadata") {
                Some(Value::Object(metadata)) => metadata,
                _ => Map::new(),
            };
            match (form.remove("parts"), form.remove("content")) {
                (Some(Value::Array(list)), _) => Ok((parts(list, &format!("{at}.parts"))?, metadata)),
                (None, Some(Value::String(text))) => Ok((vec![Part::text(text)], metadata)),
                _ => Err(bad(&format!("{at}.parts"), "must be a list of parts")),
            }
        }
        _ => Err(bad(at, "must be a text, a list of parts, or an object with `parts`")),
    }
}

fn parts(list: Vec<Value>, at: &str) -> Result<Vec<Part>, ApiError> {
    let mut read = Vec::with_capacity(list.len());
    for (number, value) in list.into_iter().enumerate() {
        let at = format!("{at}.{number}");
        let part: WirePart = serde_json::from_value(value)
            .map_err(|_| bad(&at, "must be an object with `type` and the fields of that type"))?;
        part.read(&at, &mut read)?;
    }
    Ok(read)
}

/// A part; which fields it needs follows from its type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePart {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    reasoning: Option<String>,
    tool_invocation: Option<Invocation>,
    data: Option<String>,
    image: Option<String>,
    #[serde(alias = "mediaType")]
    mime_type: Option<String>,
    filename: Option<String>,
    error: Option<WireError>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    state: Option<String>,
    tool_call_id: String,
    tool_name: String,
    args: Option<Map<String, Value>>,
    result: Option<Value>,
}

#[derive(Deserialize)]
struct WireError {
    name: Option<String>,
    message: String,
}

impl WirePart {
    fn read(self, at: &str, into: &mut Vec<Part>) -> Result<(), ApiError> {
        let lacks = |field: &str| bad(&format!("{at}.{field}"), "is missing");
        match self.kind.as_str() {
            "text" => into.push(Part::text(self.text.ok_or_else(|| lacks("text"))?)),
            "reasoning" => {
                let text = self.reasoning.or(self.text).ok_or_else(|| lacks("reasoning"))?;
                into.push(Part::Reasoning { text, opaque: None });
            }
            "tool-invocation" => self.tool_invocation.ok_or_else(|| lacks("toolInvocation"))?.read(into),
            "file" | "image" => {
                let data = self.data.or(self.image).ok_or_else(|| lacks("data"))?;
                let otherwise = if self.kind == "image" { "image/*" } else { "application/octet-stream" };
                let media_type = self.mime_type.unwrap_or_else(|| otherwise.to_owned());
                let is_address = ["data:", "http:", "https:"].iter().any(|scheme| data.starts_with(scheme));
                let data = if is_address { FileData::Url(data) } else { FileData::Base64(data) };
                into.push(Part::File { media_type, data, name: self.filename });
            }
            "error" => {
                let WireError { name, message } = self.error.ok_or_else(|| lacks("error"))?;
                into.push(Part::Error { code: name.unwrap_or_else(|| "error".to_owned()), message });
            }
            // Where a step begins follows from the results before it.
            "step-start" => {}
            other => return Err(bad(&format!("{at}.type"), &format!("a part of type `{other}` is not known"))),
        }
        Ok(())
    }
}

impl Invocation {
    fn read(self, into: &mut Vec<Part>) {
        let (id, name) = (self.tool_call_id, self.tool_name);
        into.push(Part::ToolCall(ToolCall {
            id: id.clone(),
            name: name.clone(),
            arguments: self.args.unwrap_or_default(),
            malformed: None,
        }));
        if self.state.as_deref() == Some("result") {
            let output = self.result.unwrap_or_default();
            into.push(Part::ToolResult(ToolResult { call_id: id, name, output, is_error: false, duration_ms: 0 }));
        }
    }
}

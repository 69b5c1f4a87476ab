//! The content of a message row: format 2 (and the near-by 3), or a text or list of the oldest form. What is not
//! known is kept in the message's metadata, under [`UNREAD_PARTS`] and [`UNREAD_CONTENT`].

use roster_model::message::{FileData, Part, Role, ToolCall, ToolResult};
use serde_json::{Map, Value};

/// Parts that are of no known type, as they were.
const UNREAD_PARTS: &str = "unreadParts";
/// Fields beside the parts that have no counterpart, as they were.
const UNREAD_CONTENT: &str = "unreadContent";

/// What a row says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Content {
    pub(super) parts: Vec<Part>,
    pub(super) metadata: Map<String, Value>,
    /// Whether something of it was not understood, and stands in the metadata.
    pub(super) unread: bool,
}

/// Reads a row's text. `modern`: the row says that it is of format 2, so that a text that is no JSON is damaged.
///
/// # Errors
/// Why it cannot be taken over.
pub(super) fn read(text: &str, role: Role, modern: bool) -> Result<Content, String> {
    let value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) if modern => return Err(format!("its content is no JSON: {error}")),
        Err(_) => Value::Null,
    };
    let mut reader = Reader { role, parts: Vec::new(), unread: Vec::new() };
    let mut metadata = Map::new();
    match value {
        Value::Object(form) if modern || form.contains_key("parts") => metadata = reader.form(form)?,
        Value::Array(list) if is_list_of_parts(&list) => reader.all(&list),
        _ if modern => return Err("its content is no object with `parts`".to_owned()),
        _ => reader.parts.push(Part::text(text)),
    }
    let unread = !reader.unread.is_empty() || metadata.contains_key(UNREAD_CONTENT);
    if !reader.unread.is_empty() {
        metadata.insert(UNREAD_PARTS.to_owned(), Value::Array(reader.unread));
    }
    Ok(Content { parts: reader.parts, metadata, unread })
}

fn is_list_of_parts(list: &[Value]) -> bool {
    !list.is_empty() && list.iter().all(|part| part["type"].is_string())
}

struct Reader {
    role: Role,
    parts: Vec<Part>,
    unread: Vec<Value>,
}

impl Reader {
    /// Reads an object of format 2; gives the metadata.
    fn form(&mut self, mut form: Map<String, Value>) -> Result<Map<String, Value>, String> {
        match form.remove("format") {
            None => {}
            Some(format) if format == 2 || format == 3 => {}
            Some(format) => return Err(format!("its content is of format {format}, which is not known here")),
        }
        // `reasoning` repeats what stands in the parts.
        let (parts, words, _) = (form.remove("parts"), form.remove("content"), form.remove("reasoning"));
        let invocations = list(form.remove("toolInvocations"));
        let attachments = list(form.remove("experimental_attachments"));
        match parts {
            Some(Value::Array(parts)) => self.all(&parts),
            None | Some(Value::Null) => {}
            Some(_) => return Err("`parts` of its content is no list".to_owned()),
        }
        if !self.parts.iter().any(|part| matches!(part, Part::ToolCall(_))) {
            invocations.iter().for_each(|invocation| self.or_unread(invocation, Self::invocation));
        }
        if let Some(Value::String(words)) = words
            && !words.is_empty()
            && !self.parts.iter().any(|part| matches!(part, Part::Text { .. }))
        {
            self.parts.push(Part::Text { text: words });
        }
        attachments.iter().for_each(|attachment| self.or_unread(attachment, Self::file));
        let mut metadata = match form.remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            None | Some(Value::Null) => Map::new(),
            Some(other) => {
                form.insert("metadata".to_owned(), other);
                Map::new()
            }
        };
        form.retain(|_, value| !is_empty(value));
        if !form.is_empty() {
            metadata.insert(UNREAD_CONTENT.to_owned(), Value::Object(form));
        }
        Ok(metadata)
    }

    fn all(&mut self, parts: &[Value]) {
        parts.iter().for_each(|part| self.or_unread(part, Self::part));
    }

    /// Reads a part, or keeps it as it is.
    fn or_unread(&mut self, part: &Value, read: impl FnOnce(&mut Self, &Value) -> Option<()>) {
        if read(self, part).is_none() {
            self.unread.push(part.clone());
        }
    }

    fn part(&mut self, part: &Value) -> Option<()> {
        let text = |field: &str| part[field].as_str();
        match part["type"].as_str()? {
            "text" => self.parts.push(Part::text(text("text")?)),
            "reasoning" => {
                let words = text("reasoning").or_else(|| text("text")).filter(|words| !words.is_empty());
                let words = words.map_or_else(|| details(&part["details"]), str::to_owned);
                if !words.is_empty() {
                    self.parts.push(Part::Reasoning { text: words, opaque: None });
                } else if !is_empty(&part["details"]) {
                    return None;
                }
            }
            "tool-invocation" => self.invocation(&part["toolInvocation"])?,
            "tool-call" => self.call(part, &part["args"])?,
            "tool-result" => self.result(part, &part["result"], part["isError"] == true)?,
            "file" | "image" => self.file(part)?,
            "error" => {
                let code = part["error"]["name"].as_str().unwrap_or("error").to_owned();
                self.parts.push(Part::Error { code, message: part["error"]["message"].as_str()?.to_owned() });
            }
            // Where a step begins follows from the results before it.
            "step-start" => {}
            "dynamic-tool" => self.typed(part, part["toolName"].as_str()?)?,
            other => self.typed(part, other.strip_prefix("tool-")?)?,
        }
        Some(())
    }

    /// A call with its result, if it has one yet.
    fn invocation(&mut self, invocation: &Value) -> Option<()> {
        self.call(invocation, &invocation["args"])?;
        match invocation["state"].as_str() {
            Some("result") => self.result(invocation, &invocation["result"], false),
            Some("output-error") => self.result(invocation, &invocation["errorText"], true),
            _ => Some(()),
        }
    }

    /// The same as a part of a type of its own (format 3).
    fn typed(&mut self, part: &Value, name: &str) -> Option<()> {
        let mut named = part.clone();
        named["toolName"] = name.into();
        self.call(&named, &part["input"])?;
        match part["state"].as_str() {
            Some("output-available") => self.result(&named, &part["output"], false),
            Some("output-error") => self.result(&named, &part["errorText"], true),
            _ => Some(()),
        }
    }

    fn call(&mut self, named: &Value, arguments: &Value) -> Option<()> {
        let (id, name) = (named["toolCallId"].as_str()?.to_owned(), named["toolName"].as_str()?.to_owned());
        let (arguments, malformed) = match arguments {
            Value::Object(arguments) => (arguments.clone(), None),
            Value::Null => (Map::new(), None),
            other => (Map::new(), Some(other.as_str().map_or_else(|| other.to_string(), str::to_owned))),
        };
        self.assistants(Part::ToolCall(ToolCall { id, name, arguments, malformed }))
    }

    fn result(&mut self, named: &Value, output: &Value, is_error: bool) -> Option<()> {
        let (call_id, name) = (named["toolCallId"].as_str()?.to_owned(), named["toolName"].as_str()?.to_owned());
        // How a tool that failed is stored.
        let failed = output["error"] == true && output["message"].is_string();
        let output = if failed { output["message"].clone() } else { output.clone() };
        let is_error = is_error || failed;
        self.assistants(Part::ToolResult(ToolResult { call_id, name, output, is_error, duration_ms: 0 }))
    }

    /// Only a message of the assistant holds calls and results.
    fn assistants(&mut self, part: Part) -> Option<()> {
        (self.role == Role::Assistant).then(|| self.parts.push(part))
    }

    fn file(&mut self, part: &Value) -> Option<()> {
        let text = |fields: &[&str]| fields.iter().find_map(|field| part[*field].as_str());
        let data = text(&["data", "image", "url"])?;
        let otherwise = if part["type"] == "image" { "image/*" } else { "application/octet-stream" };
        let media_type = text(&["mimeType", "mediaType", "contentType"]).unwrap_or(otherwise).to_owned();
        let is_address = ["data:", "http:", "https:"].iter().any(|scheme| data.starts_with(scheme));
        let data = if is_address { FileData::Url(data.to_owned()) } else { FileData::Base64(data.to_owned()) };
        self.parts.push(Part::File { media_type, data, name: text(&["filename", "name"]).map(str::to_owned) });
        Some(())
    }
}

fn list(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// The words of reasoning where they stand in pieces.
fn details(details: &Value) -> String {
    details.as_array().into_iter().flatten().filter_map(|detail| detail["text"].as_str()).collect()
}

#[cfg(test)]
mod tests;

//! A model call as a cassette keeps it: everything the model is given, in one form, without what differs from run to
//! run (ids of calls, how long tools took).

use std::collections::HashMap;

use roster_model::message::{FileData, ToolCall, ToolResult};
use roster_model::provider::{Completion, ModelSettings, PromptMessage, ToolChoice, UserPart};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The call in one form: the same call is always the same JSON.
pub(super) fn normal(provider: &str, completion: &Completion) -> Value {
    let mut ids = Ids::default();
    let messages: Vec<Value> = completion.messages.iter().map(|message| ids.message(message)).collect();
    let tools: Vec<Value> = completion
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": *tool.input_schema}))
        .collect();
    let mut request = json!({
        "model": format!("{provider}/{}", completion.model),
        "messages": messages,
        "tools": tools,
        "settings": settings(&completion.settings),
    });
    if let Some(schema) = &completion.output_schema {
        request["output_schema"] = Value::clone(schema);
    }
    request.sort_all_objects();
    request
}

/// The SHA-256 of a call in its one form, in hex.
pub(super) fn fingerprint(request: &Value) -> String {
    hex(request.to_string().as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The calls' ids by the order in which they come.
#[derive(Default)]
struct Ids(HashMap<String, usize>);

impl Ids {
    fn of(&mut self, id: &str) -> String {
        let next = self.0.len() + 1;
        format!("call_{}", self.0.entry(id.to_owned()).or_insert(next))
    }

    fn message(&mut self, message: &PromptMessage) -> Value {
        match message {
            PromptMessage::System(text) => json!({"system": text}),
            PromptMessage::User(parts) => json!({"user": parts.iter().map(user_part).collect::<Vec<_>>()}),
            PromptMessage::Assistant { text, reasoning, calls } => {
                let calls: Vec<Value> = calls.iter().map(|call| self.call(call)).collect();
                json!({"assistant": text, "reasoning": reasoning, "calls": calls})
            }
            PromptMessage::Tool(results) => {
                json!({"results": results.iter().map(|result| self.result(result)).collect::<Vec<_>>()})
            }
        }
    }

    fn call(&mut self, call: &ToolCall) -> Value {
        let id = self.of(&call.id);
        json!({"id": id, "name": call.name, "arguments": call.arguments, "malformed": call.malformed})
    }

    fn result(&mut self, result: &ToolResult) -> Value {
        let id = self.of(&result.call_id);
        json!({"id": id, "name": result.name, "output": result.output, "is_error": result.is_error})
    }
}

fn user_part(part: &UserPart) -> Value {
    match part {
        UserPart::Text(text) => json!(text),
        UserPart::File { media_type, data: FileData::Url(url) } => json!({"media_type": media_type, "url": url}),
        // Bytes would make the cassette as large as the files.
        UserPart::File { media_type, data: FileData::Base64(bytes) } => {
            json!({"media_type": media_type, "sha256": hex(bytes.as_bytes())})
        }
    }
}

/// Those that decide what is answered; not how long or how often is tried.
fn settings(settings: &ModelSettings) -> Map<String, Value> {
    let choice = settings.tool_choice.as_ref().map(|choice| match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({"name": name}),
    });
    let all = [
        ("temperature", json!(settings.temperature)),
        ("top_p", json!(settings.top_p)),
        ("top_k", json!(settings.top_k)),
        ("max_output_tokens", json!(settings.max_output_tokens)),
        ("stop", json!(settings.stop)),
        ("seed", json!(settings.seed)),
        ("presence_penalty", json!(settings.presence_penalty)),
        ("frequency_penalty", json!(settings.frequency_penalty)),
        ("reasoning_effort", json!(settings.reasoning_effort)),
        ("tool_choice", json!(choice)),
        ("provider_options", json!(settings.provider_options)),
    ];
    let given = |value: &Value| match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    };
    all.into_iter().filter(|(_, value)| given(value)).map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Where two calls begin to differ.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    /// The place: `messages[1].user[0]`.
    pub(super) place: String,
    /// What was recorded; `None`: nothing stood there.
    pub(super) recorded: Option<Value>,
    /// What is asked now.
    pub(super) now: Option<Value>,
}

/// The first difference, if there is one.
pub(super) fn difference(recorded: &Value, now: &Value) -> Option<Difference> {
    differ(String::new(), Some(recorded), Some(now))
}

fn differ(place: String, recorded: Option<&Value>, now: Option<&Value>) -> Option<Difference> {
    if recorded == now {
        return None;
    }
    match (recorded, now) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let added = after.keys().filter(|key| !before.contains_key(*key));
            before.keys().chain(added).find_map(|key| {
                let below = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                differ(below, before.get(key), after.get(key))
            })
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => (0..before.len().max(after.len()))
            .find_map(|at| differ(format!("{place}[{at}]"), before.get(at), after.get(at))),
        _ => Some(Difference { place, recorded: recorded.cloned(), now: now.cloned() }),
    }
}

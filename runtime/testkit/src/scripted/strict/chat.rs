//! Where providers of chat completions refuse a request.

use serde_json::Value;

/// The first reason for which a strict provider would refuse this chat request; `None` when it would take it.
///
/// Checked: roles, that the first message after the instructions is the user's, that every tool call has a legal name,
/// arguments that are a JSON object and an id of its own, that every call has its result directly after it and every
/// result its call, and that no assistant message is empty.
#[must_use]
pub fn strict_fault(body: Option<&Value>) -> Option<String> {
    let Some(body) = body.filter(|body| body.is_object()) else {
        return Some("the body is not a JSON object".to_owned());
    };
    check(body).err()
}

fn check(body: &Value) -> Result<(), String> {
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err("you must provide a model parameter".to_owned());
    }
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    if messages.is_empty() {
        return Err("'messages' must hold at least one message".to_owned());
    }
    check_tools(&body["tools"])?;
    check_first(messages)?;
    let mut expected = Expected::default();
    for (number, message) in messages.iter().enumerate() {
        check_message(message, &mut expected).map_err(|fault| format!("messages[{number}]: {fault}"))?;
    }
    expected.none_left()
}

fn check_tools(tools: &Value) -> Result<(), String> {
    let Some(tools) = tools.as_array() else { return Ok(()) };
    if tools.is_empty() {
        return Err("'tools' must not be empty".to_owned());
    }
    for (number, tool) in tools.iter().enumerate() {
        check_name(&tool["function"]["name"]).map_err(|fault| format!("tools[{number}]: {fault}"))?;
        if !tool["function"]["parameters"].is_object() {
            return Err(format!("tools[{number}]: parameters are not a schema object"));
        }
    }
    Ok(())
}

fn check_first(messages: &[Value]) -> Result<(), String> {
    let system = |message: &&Value| message["role"] == "system" || message["role"] == "developer";
    match messages.iter().find(|message| !system(message)) {
        Some(first) if first["role"] != "user" => Err("the first message after the system's must be the user's".into()),
        None => Err("there is no message but the system's".to_owned()),
        Some(_) => Ok(()),
    }
}

/// Ids of calls whose results must come next.
#[derive(Default)]
struct Expected {
    open: Vec<String>,
    seen: Vec<String>,
}

impl Expected {
    fn none_left(&self) -> Result<(), String> {
        if self.open.is_empty() {
            return Ok(());
        }
        Err(format!("tool calls without a tool message directly after them: {}", self.open.join(", ")))
    }
}

fn check_message(message: &Value, expected: &mut Expected) -> Result<(), String> {
    let role = message["role"].as_str().unwrap_or_default();
    if role != "tool" {
        expected.none_left()?;
    }
    match role {
        "system" | "developer" | "user" => check_content(&message["content"]),
        "assistant" => check_assistant(message, expected),
        "tool" => check_result(message, expected),
        other => Err(format!("unknown role '{other}'")),
    }
}

fn check_content(content: &Value) -> Result<(), String> {
    match content {
        Value::String(_) => Ok(()),
        Value::Array(parts) if !parts.is_empty() && parts.iter().all(|part| part["type"].is_string()) => Ok(()),
        _ => Err("content must be a string or a list of parts".to_owned()),
    }
}

fn check_assistant(message: &Value, expected: &mut Expected) -> Result<(), String> {
    let calls = match &message["tool_calls"] {
        Value::Null => &[][..],
        Value::Array(calls) if calls.is_empty() => return Err("tool_calls must not be empty".to_owned()),
        Value::Array(calls) => calls.as_slice(),
        _ => return Err("tool_calls must be a list".to_owned()),
    };
    let says_something = match &message["content"] {
        Value::String(text) => !text.is_empty(),
        Value::Array(parts) => !parts.is_empty(),
        _ => false,
    };
    if calls.is_empty() && !says_something {
        return Err("an assistant message needs content or tool_calls".to_owned());
    }
    calls.iter().try_for_each(|call| check_call(call, expected))
}

fn check_call(call: &Value, expected: &mut Expected) -> Result<(), String> {
    let id = call["id"].as_str().filter(|id| !id.is_empty()).ok_or("a tool call has no id")?;
    if expected.seen.iter().any(|seen| seen == id) {
        return Err(format!("duplicate tool call id '{id}'"));
    }
    if call["type"] != "function" {
        return Err(format!("tool call '{id}' has no type 'function'"));
    }
    check_name(&call["function"]["name"])?;
    let arguments = call["function"]["arguments"].as_str().ok_or("arguments must be a string")?;
    if serde_json::from_str::<serde_json::Map<String, Value>>(arguments).is_err() {
        return Err(format!("the arguments of '{id}' are not the JSON text of an object"));
    }
    expected.seen.push(id.to_owned());
    expected.open.push(id.to_owned());
    Ok(())
}

fn check_result(message: &Value, expected: &mut Expected) -> Result<(), String> {
    let id = message["tool_call_id"].as_str().unwrap_or_default();
    let Some(place) = expected.open.iter().position(|open| open == id) else {
        return Err(format!("tool message '{id}' does not answer a preceding tool call"));
    };
    expected.open.remove(place);
    check_content(&message["content"])
}

fn check_name(name: &Value) -> Result<(), String> {
    let name = name.as_str().unwrap_or_default();
    let legal = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if legal && (1..=64).contains(&name.len()) {
        return Ok(());
    }
    Err(format!("'{name}' does not match '^[a-zA-Z0-9_-]{{1,64}}$'"))
}

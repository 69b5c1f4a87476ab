//! Where Anthropic refuses a request.

use std::collections::HashSet;

use serde_json::Value;

use super::{known, list, named};
use crate::scripted::answer::SIGNATURE;

/// Fields of a request.
const FIELDS: [&str; 17] = [
    "model",
    "messages",
    "max_tokens",
    "system",
    "stream",
    "tools",
    "tool_choice",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "metadata",
    "thinking",
    "output_config",
    "service_tier",
    "cache_control",
    "container",
];

/// # Errors
/// The first fault.
pub(super) fn check(body: &Value) -> Result<(), String> {
    known(body, &FIELDS, "")?;
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err("model: Field required".to_owned());
    }
    let most = body["max_tokens"].as_u64().filter(|most| *most > 0).ok_or("max_tokens: Field required")?;
    check_thinking(body, most)?;
    check_tools(body)?;
    for block in list(&body["system"]) {
        not_blank(&block["text"], "system: text content blocks must be non-empty")?;
    }
    check_messages(list(&body["messages"]))?;
    closed(&body["output_config"]["format"]["schema"])
}

fn check_thinking(body: &Value, most: u64) -> Result<(), String> {
    let kind = body["thinking"]["type"].as_str();
    if !matches!(kind, Some("enabled" | "adaptive")) {
        return Ok(());
    }
    if kind == Some("enabled") {
        let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
        if budget < 1024 {
            return Err("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024".to_owned());
        }
        if budget >= most {
            return Err("`max_tokens` must be greater than `thinking.budget_tokens`".to_owned());
        }
    }
    if body["temperature"].as_f64().is_some_and(|temperature| temperature < 1.0) || body.get("top_k").is_some() {
        return Err("`temperature` may only be set to 1 and `top_k` not at all when thinking is enabled".to_owned());
    }
    if matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool")) {
        return Err("Thinking may not be enabled when tool_choice forces tool use".to_owned());
    }
    Ok(())
}

fn check_tools(body: &Value) -> Result<(), String> {
    let mut names = HashSet::new();
    for (number, tool) in list(&body["tools"]).iter().enumerate() {
        known(tool, &["name", "description", "input_schema", "cache_control", "type", "strict"], "tools: ")?;
        let name = named(&tool["name"]).map_err(|fault| format!("tools.{number}.name: {fault}"))?;
        if !names.insert(name) {
            return Err("tools: Tool names must be unique".to_owned());
        }
        if tool["input_schema"]["type"] != "object" {
            return Err(format!("tools.{number}.input_schema.type: Input should be 'object'"));
        }
    }
    if names.is_empty() && body.get("tool_choice").is_some() {
        return Err("tool_choice may only be specified while providing tools".to_owned());
    }
    Ok(())
}

fn check_messages(messages: &[Value]) -> Result<(), String> {
    if messages.is_empty() {
        return Err("messages: at least one message is required".to_owned());
    }
    let mut open: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    for (number, message) in messages.iter().enumerate() {
        let place = |fault: String| format!("messages.{number}: {fault}");
        known(message, &["role", "content"], "messages: ")?;
        let expected = if number % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != expected {
            return Err(place(format!("roles must alternate and begin with \"user\", expected \"{expected}\"")));
        }
        let blocks = list(&message["content"]);
        if blocks.is_empty() {
            return Err(place("all messages must have non-empty content".to_owned()));
        }
        if expected == "user" {
            check_user(blocks, &mut open).map_err(place)?;
        } else {
            open = check_assistant(blocks, &mut seen).map_err(place)?;
        }
    }
    if messages.last().is_some_and(|last| last["role"] == "assistant") || !open.is_empty() {
        return Err("the conversation must end with a user message, and with a result for each call".to_owned());
    }
    Ok(())
}

fn check_user(blocks: &[Value], open: &mut Vec<&str>) -> Result<(), String> {
    let mut other = false;
    for block in blocks {
        match block["type"].as_str().unwrap_or_default() {
            "tool_result" => {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                let place = open.iter().position(|open| *open == id);
                let place = place.ok_or_else(|| format!("unexpected `tool_use_id`: {id}"))?;
                if other {
                    return Err("`tool_result` blocks must come first".to_owned());
                }
                open.remove(place);
                known(block, &["type", "tool_use_id", "content", "is_error", "cache_control"], "tool_result: ")?;
            }
            "text" => not_blank(&block["text"], "text content blocks must be non-empty")?,
            "image" | "document" if block["source"]["type"].is_string() => {}
            kind => return Err(format!("Input tag '{kind}' is not one of the expected tags")),
        }
        other |= block["type"] != "tool_result";
    }
    if open.is_empty() { Ok(()) } else { Err(format!("`tool_use` ids without `tool_result` blocks: {open:?}")) }
}

/// The ids of the calls.
fn check_assistant<'a>(blocks: &'a [Value], seen: &mut HashSet<&'a str>) -> Result<Vec<&'a str>, String> {
    let mut calls = Vec::new();
    for block in blocks {
        match block["type"].as_str().unwrap_or_default() {
            "text" => not_blank(&block["text"], "text content blocks must be non-empty")?,
            "thinking" if block["signature"] != SIGNATURE => {
                return Err("Invalid `signature` in `thinking` block".to_owned());
            }
            "thinking" if block["thinking"].is_string() => {}
            "redacted_thinking" if block["data"].is_string() => {}
            "tool_use" => {
                named(&block["name"])?;
                let id = block["id"].as_str().unwrap_or_default();
                if named(&block["id"]).is_err() || !seen.insert(id) {
                    return Err(format!("`tool_use` ids must be unique and legal: {id}"));
                }
                if !block["input"].is_object() {
                    return Err("tool_use.input: Input should be a valid dictionary".to_owned());
                }
                calls.push(id);
            }
            kind => return Err(format!("Input tag '{kind}' is not one of the expected tags")),
        }
    }
    if blocks.last().is_some_and(|block| block["type"].as_str().is_some_and(|kind| kind.ends_with("thinking"))) {
        return Err("The final block in an assistant message cannot be `thinking`".to_owned());
    }
    Ok(calls)
}

fn not_blank(text: &Value, fault: &str) -> Result<(), String> {
    if text.as_str().is_some_and(|text| !text.trim().is_empty()) { Ok(()) } else { Err(fault.to_owned()) }
}

fn closed(schema: &Value) -> Result<(), String> {
    match schema {
        Value::Object(map)
            if schema["type"] == "object" && map.get("additionalProperties") != Some(&Value::Bool(false)) =>
        {
            Err("output_config.format.schema: 'additionalProperties' must be explicitly set to false".to_owned())
        }
        Value::Object(map) => map.values().try_for_each(closed),
        Value::Array(all) => all.iter().try_for_each(closed),
        _ => Ok(()),
    }
}

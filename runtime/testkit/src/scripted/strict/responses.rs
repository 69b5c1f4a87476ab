//! Where OpenAI's responses refuse a request.

use std::collections::HashSet;

use serde_json::Value;

use super::{known, list, named};
use crate::scripted::answer::ENCRYPTED;

const FIELDS: [&str; 21] = [
    "model",
    "input",
    "instructions",
    "stream",
    "store",
    "include",
    "tools",
    "tool_choice",
    "temperature",
    "top_p",
    "max_output_tokens",
    "reasoning",
    "text",
    "user",
    "metadata",
    "parallel_tool_calls",
    "truncation",
    "service_tier",
    "previous_response_id",
    "prompt_cache_key",
    "safety_identifier",
];

/// # Errors
/// The first fault.
pub(super) fn check(body: &Value) -> Result<(), String> {
    known(body, &FIELDS, "Unknown parameter: ")?;
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err("Missing required parameter: 'model'.".to_owned());
    }
    if body["max_output_tokens"].as_u64().is_some_and(|most| most < 16) {
        return Err("Invalid 'max_output_tokens': Expected a value >= 16".to_owned());
    }
    for tool in list(&body["tools"]) {
        named(&tool["name"]).map_err(|fault| format!("Invalid 'tools': {fault}"))?;
        if tool["type"] != "function" || !tool["parameters"].is_object() || !tool["strict"].is_boolean() {
            return Err("Invalid 'tools': type, parameters and strict are required".to_owned());
        }
    }
    let format = &body["text"]["format"];
    if format["type"] == "json_schema" && !(format["name"].is_string() && format["schema"].is_object()) {
        return Err("Missing required parameter: 'text.format.name'.".to_owned());
    }
    let input = list(&body["input"]);
    if input.is_empty() {
        return Err("Missing required parameter: 'input'.".to_owned());
    }
    check_input(input)
}

fn check_input(input: &[Value]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    for (number, item) in input.iter().enumerate() {
        let id = item["call_id"].as_str().unwrap_or_default();
        match item["type"].as_str().unwrap_or("message") {
            "message" => check_message(item).map_err(|fault| format!("input[{number}]: {fault}"))?,
            "reasoning" => check_reasoning(item, input.get(number + 1))?,
            "function_call" => {
                named(&item["name"])?;
                let arguments = item["arguments"].as_str().unwrap_or_default();
                if serde_json::from_str::<serde_json::Map<String, Value>>(arguments).is_err() {
                    return Err(format!("input[{number}].arguments: no JSON text of an object"));
                }
                if id.is_empty() || id.len() > 64 || !seen.insert(id) {
                    return Err(format!("input[{number}].call_id: must be unique, at most 64 long"));
                }
                open.push(id);
            }
            "function_call_output" => {
                let place = open.iter().position(|open| *open == id);
                open.remove(
                    place.ok_or_else(|| format!("No tool call found for function call output with call_id {id}."))?,
                );
                if !item["output"].is_string() {
                    return Err(format!("input[{number}].output: must be a string"));
                }
            }
            kind => return Err(format!("Invalid value: '{kind}'.")),
        }
    }
    open.first().map_or(Ok(()), |id| Err(format!("No tool output found for function call {id}.")))
}

fn check_message(item: &Value) -> Result<(), String> {
    let kinds: &[&str] = match item["role"].as_str().unwrap_or_default() {
        "system" | "developer" | "user" => &["input_text", "input_image", "input_file"],
        "assistant" => &["output_text", "refusal"],
        role => return Err(format!("Invalid role '{role}'")),
    };
    match &item["content"] {
        Value::String(text) if !text.is_empty() => Ok(()),
        Value::Array(parts) if !parts.is_empty() => {
            let strange = parts.iter().find(|part| !kinds.iter().any(|kind| part["type"] == *kind));
            strange.map_or(Ok(()), |part| Err(format!("Invalid value: {}", part["type"])))
        }
        _ => Err("content must be a string or a list of parts".to_owned()),
    }
}

/// Nothing is stored at the provider, so that reasoning must come whole, with what it led to after it.
fn check_reasoning(item: &Value, next: Option<&Value>) -> Result<(), String> {
    let id = item["id"].as_str().unwrap_or_default();
    if item["encrypted_content"] != ENCRYPTED {
        return Err(format!("The encrypted content for item {id} could not be verified."));
    }
    let follows = next.is_some_and(|next| {
        next["role"] == "assistant" || matches!(next["type"].as_str(), Some("function_call" | "reasoning"))
    });
    if follows && item["summary"].is_array() {
        return Ok(());
    }
    Err(format!("Item '{id}' of type 'reasoning' was provided without its required following item."))
}

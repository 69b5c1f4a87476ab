//! A completion written as the body of a request.

use roster_model::message::{ToolCall, ToolResult};
use roster_model::provider::{Completion, OfferedTool, PromptMessage, ProviderError, ToolChoice, UserPart};
use serde_json::{Map, Value, json};

use super::NAME;
use crate::body::{as_text, put, written};
use crate::files::{Place, placed};
use crate::schema::is_strict;
use crate::thought::{Said, in_order};

/// Options never replace these: the turn alone decides them.
const KEPT: [&str; 4] = ["model", "input", "stream", "tools"];
/// Options are joined with these.
const JOINED: [&str; 2] = ["text", "reasoning"];

/// Writes the body.
///
/// # Errors
/// `BadRequest` for a file that cannot be carried.
pub(super) fn encode(completion: &Completion, stream: bool) -> Result<Vec<u8>, ProviderError> {
    let Completion { model, messages, tools, output_schema, settings, .. } = completion;
    let mut body = Map::new();
    put(&mut body, "model", Some(model.as_str()));
    put(&mut body, "input", Some(input(messages)?));
    put(&mut body, "stream", Some(stream));
    put(&mut body, "store", Some(false));
    let effort = settings.reasoning_effort.as_deref();
    if effort.is_some() || is_reasoning(model) {
        put(&mut body, "include", Some(json!(["reasoning.encrypted_content"])));
    }
    if !tools.is_empty() {
        put(&mut body, "tools", Some(tools.iter().map(tool).collect::<Vec<_>>()));
        put(&mut body, "tool_choice", settings.tool_choice.as_ref().map(choice));
    }
    put(&mut body, "temperature", settings.temperature);
    put(&mut body, "top_p", settings.top_p);
    put(&mut body, "max_output_tokens", settings.max_output_tokens);
    put(&mut body, "reasoning", effort.map(|effort| json!({"effort": effort})));
    put(&mut body, "text", output_schema.as_deref().map(format));
    let kept = if tools.is_empty() { &KEPT[..3] } else { &KEPT[..] };
    written(body, settings, kept, &JOINED)
}

/// Whether a model of this name reasons: others refuse to be asked for encrypted reasoning. `o3-mini`, `gpt-5.1`; not
/// `gpt-4o` nor `gpt-5-chat-latest`.
fn is_reasoning(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let number = |rest: &str| rest.split(['-', '.']).next().and_then(|number| number.parse::<u32>().ok());
    let of_series = name.strip_prefix('o').and_then(number).is_some();
    let of_age = name.strip_prefix("gpt-").and_then(number).is_some_and(|age| age >= 5);
    of_series || (of_age && !name.contains("-chat"))
}

fn format(schema: &Value) -> Value {
    json!({"format": {"type": "json_schema", "name": "answer", "strict": is_strict(schema), "schema": schema}})
}

fn tool(tool: &OfferedTool) -> Value {
    let mut wire = Map::new();
    put(&mut wire, "type", Some("function"));
    put(&mut wire, "name", Some(tool.name.as_str()));
    put(&mut wire, "description", (!tool.description.is_empty()).then_some(tool.description.as_str()));
    put(&mut wire, "parameters", Some(Value::clone(&tool.input_schema)));
    // Left out it would be true, and schemas with optional arguments would be refused.
    put(&mut wire, "strict", Some(false));
    Value::Object(wire)
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({"type": "function", "name": name}),
    }
}

fn input(messages: &[PromptMessage]) -> Result<Vec<Value>, ProviderError> {
    let mut items = Vec::new();
    for message in messages {
        match message {
            PromptMessage::System(words) => items.push(json!({"role": "system", "content": words})),
            PromptMessage::User(parts) => {
                let content: Vec<Value> = parts.iter().map(part).collect::<Result<_, _>>()?;
                items.push(json!({"role": "user", "content": content}));
            }
            PromptMessage::Assistant { text, reasoning, calls } => {
                items.extend(said(in_order(NAME, text, reasoning, calls)));
            }
            PromptMessage::Tool(results) => items.extend(results.iter().map(result)),
        }
    }
    Ok(items)
}

fn said(mut said: Vec<Said<'_>>) -> impl Iterator<Item = Value> {
    // Reasoning that led to nothing is refused.
    while matches!(said.last(), Some(Said::Thought { .. })) {
        said.pop();
    }
    said.into_iter().map(|said| match said {
        Said::Thought { data, .. } => data.clone(),
        Said::Text(words) => json!({"role": "assistant", "content": [{"type": "output_text", "text": words}]}),
        Said::Call(call) => function_call(call),
    })
}

fn function_call(call: &ToolCall) -> Value {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
}

fn result(result: &ToolResult) -> Value {
    json!({"type": "function_call_output", "call_id": result.call_id, "output": as_text(&result.output)})
}

fn part(part: &UserPart) -> Result<Value, ProviderError> {
    let (media_type, data) = match part {
        UserPart::Text(words) => return Ok(json!({"type": "input_text", "text": words})),
        UserPart::File { media_type, data } => (media_type, data),
    };
    let (media_type, place) = placed(media_type, data)?;
    let is_image = media_type.starts_with("image/");
    let inline = |bytes: &str| format!("data:{media_type};base64,{bytes}");
    Ok(match place {
        Place::Base64(bytes) if is_image => json!({"type": "input_image", "image_url": inline(bytes)}),
        Place::Address(url) if is_image => json!({"type": "input_image", "image_url": url}),
        Place::Base64(bytes) => {
            let kind = media_type.rsplit('/').next().unwrap_or_default().split('+').next().unwrap_or_default();
            json!({"type": "input_file", "filename": format!("file.{kind}"), "file_data": inline(bytes)})
        }
        Place::Address(url) => json!({"type": "input_file", "file_url": url}),
    })
}

//! A completion written as the body of a request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roster_model::message::ToolResult;
use roster_model::provider::{
    Completion, ModelSettings, OfferedTool, PromptMessage, ProviderError, ProviderErrorKind, ToolChoice, UserPart,
};
use serde_json::{Map, Value, json};

use super::NAME;
use super::thinking::{Thinking, asked, version};
use crate::body::{as_text, put, written};
use crate::files::{Place, placed, refused};
use crate::schema::{instruction, is_closed};
use crate::thought::{Said, in_order};

/// Options never replace these: the turn alone decides them.
const KEPT: [&str; 5] = ["model", "messages", "stream", "system", "tools"];
/// Options are joined with these.
const JOINED: [&str; 1] = ["output_config"];

/// Writes the body.
///
/// # Errors
/// `BadRequest` for a file that this dialect cannot carry.
pub(super) fn encode(completion: &Completion, stream: bool) -> Result<Vec<u8>, ProviderError> {
    let Completion { model, messages, tools, settings, .. } = completion;
    let max_tokens = settings.max_output_tokens.unwrap_or_else(|| default_max_tokens(model));
    let thinking = asked(completion, max_tokens);
    let mut body = Map::new();
    put(&mut body, "model", Some(model.as_str()));
    put(&mut body, "max_tokens", Some(max_tokens));
    put(&mut body, "stream", stream.then_some(true));
    let mut system: Vec<Value> = messages.iter().filter_map(system_block).collect();
    let output = output_config(completion, thinking, &mut system);
    put(&mut body, "system", (!system.is_empty()).then_some(system));
    put(&mut body, "messages", Some(conversation(messages)?));
    if !tools.is_empty() {
        put(&mut body, "tools", Some(tools.iter().map(tool).collect::<Vec<_>>()));
        put(&mut body, "tool_choice", settings.tool_choice.as_ref().map(choice));
    }
    sampling(&mut body, settings, thinking);
    put(&mut body, "output_config", output);
    let kept = if tools.is_empty() { &KEPT[..4] } else { &KEPT[..] };
    written(body, settings, kept, &JOINED)
}

/// The provider wants a number; this is what the models of each age can write.
fn default_max_tokens(model: &str) -> u32 {
    match (model.starts_with("claude"), version(model)) {
        (true, (3, 5)) => 8192,
        (true, (0..=3, 0..=4)) => 4096,
        (true, _) => 32_000,
        (false, _) => 8192,
    }
}

/// A model that thinks samples by itself and refuses to be told how.
fn sampling(body: &mut Map<String, Value>, settings: &ModelSettings, thinking: Thinking<'_>) {
    put(body, "stop_sequences", (!settings.stop.is_empty()).then(|| settings.stop.clone()));
    match thinking {
        Thinking::Unasked => {
            put(body, "temperature", settings.temperature);
            put(body, "top_p", settings.top_p);
            put(body, "top_k", settings.top_k);
        }
        Thinking::Effort(_) => put(body, "thinking", Some(json!({"type": "adaptive"}))),
        Thinking::Budget(tokens) => {
            put(body, "thinking", Some(json!({"type": "enabled", "budget_tokens": tokens})));
        }
    }
}

/// Effort and the form of the answer. A schema that the provider would refuse is told to the model in words.
fn output_config(completion: &Completion, thinking: Thinking<'_>, system: &mut Vec<Value>) -> Option<Value> {
    let mut config = Map::new();
    if let Thinking::Effort(effort) = thinking {
        put(&mut config, "effort", Some(effort));
    }
    if let Some(schema) = completion.output_schema.as_deref() {
        if is_closed(schema) && version(&completion.model) >= (4, 5) {
            put(&mut config, "format", Some(json!({"type": "json_schema", "schema": schema})));
        } else {
            system.push(text(&instruction(schema)));
        }
    }
    (!config.is_empty()).then_some(Value::Object(config))
}

fn system_block(message: &PromptMessage) -> Option<Value> {
    if let PromptMessage::System(words) = message { Some(text(words)) } else { None }
}

fn text(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

fn tool(tool: &OfferedTool) -> Value {
    let mut wire = Map::new();
    put(&mut wire, "name", Some(tool.name.as_str()));
    put(&mut wire, "description", (!tool.description.is_empty()).then_some(tool.description.as_str()));
    put(&mut wire, "input_schema", Some(Value::clone(&tool.input_schema)));
    Value::Object(wire)
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({"type": "auto"}),
        ToolChoice::None => json!({"type": "none"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::Named(name) => json!({"type": "tool", "name": name}),
    }
}

/// The messages, results of tools and what a person says after them in one: roles take turns.
fn conversation(messages: &[PromptMessage]) -> Result<Vec<Value>, ProviderError> {
    let mut all: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            PromptMessage::System(_) => continue,
            PromptMessage::User(parts) => ("user", parts.iter().map(block).collect::<Result<_, _>>()?),
            PromptMessage::Tool(results) => ("user", results.iter().map(result).collect()),
            PromptMessage::Assistant { text, reasoning, calls } => {
                ("assistant", said(in_order(NAME, text, reasoning, calls)))
            }
        };
        match all.last_mut() {
            Some((last, there)) if *last == role => there.extend(blocks),
            _ => all.push((role, blocks)),
        }
    }
    Ok(all.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect())
}

fn said(mut said: Vec<Said<'_>>) -> Vec<Value> {
    // Thinking that led to nothing may not stand last.
    while matches!(said.last(), Some(Said::Thought { .. })) {
        said.pop();
    }
    said.iter().filter_map(said_block).collect()
}

fn said_block(said: &Said<'_>) -> Option<Value> {
    match said {
        Said::Text(words) => Some(text(words)),
        Said::Call(call) => {
            Some(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}))
        }
        Said::Thought { text, data } => match (data.get("signature"), data.get("redacted")) {
            (Some(signature), _) => Some(json!({"type": "thinking", "thinking": text, "signature": signature})),
            (None, Some(redacted)) => Some(json!({"type": "redacted_thinking", "data": redacted})),
            (None, None) => None,
        },
    }
}

fn result(result: &ToolResult) -> Value {
    let mut wire = Map::new();
    put(&mut wire, "type", Some("tool_result"));
    put(&mut wire, "tool_use_id", Some(result.call_id.as_str()));
    put(&mut wire, "content", Some(as_text(&result.output)));
    put(&mut wire, "is_error", result.is_error.then_some(true));
    Value::Object(wire)
}

fn block(part: &UserPart) -> Result<Value, ProviderError> {
    let (media_type, data) = match part {
        UserPart::Text(words) => return Ok(text(words)),
        UserPart::File { media_type, data } => (media_type, data),
    };
    let (media_type, place) = placed(media_type, data)?;
    let kind = match media_type {
        _ if media_type.starts_with("image/") => "image",
        "application/pdf" => "document",
        "application/json" => return document_of_text(media_type, place),
        _ if media_type.starts_with("text/") => return document_of_text(media_type, place),
        _ => return Err(refused(media_type)),
    };
    let source = match place {
        Place::Base64(bytes) => json!({"type": "base64", "media_type": media_type, "data": bytes}),
        Place::Address(url) => json!({"type": "url", "url": url}),
    };
    Ok(json!({"type": kind, "source": source}))
}

/// Texts go as texts, whatever their kind.
fn document_of_text(media_type: &str, place: Place<'_>) -> Result<Value, ProviderError> {
    let Place::Base64(bytes) = place else {
        let message = format!("a file of type `{media_type}` cannot be sent by its address; send its bytes");
        return Err(ProviderError::new(ProviderErrorKind::BadRequest, message));
    };
    let words = STANDARD.decode(bytes).ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| {
        let message = format!("a file of type `{media_type}` is no base64 of UTF-8 text");
        ProviderError::new(ProviderErrorKind::BadRequest, message)
    })?;
    Ok(json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": words}}))
}

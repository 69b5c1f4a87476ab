//! A completion written as the body of a request.

use roster_model::message::{ToolCall, ToolResult};
use roster_model::provider::{
    Completion, ModelSettings, OfferedTool, PromptMessage, ProviderError, ToolChoice, UserPart,
};
use serde_json::{Map, Value, json};

use super::NAME;
use crate::body::{put, written};
use crate::files::{Place, placed};
use crate::schema::instruction;
use crate::thought::{Said, in_order};

/// Options never replace these: the turn alone decides them.
const KEPT: [&str; 3] = ["contents", "systemInstruction", "tools"];
/// Options are joined with these.
const JOINED: [&str; 2] = ["generationConfig", "toolConfig"];
/// What a call is signed with that another provider made: newer models refuse a call of the turn without a signature, and
/// the provider names this word for such calls.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// Writes the body.
///
/// # Errors
/// `BadRequest` for a file that cannot be carried.
pub(super) fn encode(completion: &Completion) -> Result<Vec<u8>, ProviderError> {
    let Completion { model, messages, tools, settings, .. } = completion;
    let mut body = Map::new();
    let mut system: Vec<Value> = messages.iter().filter_map(system_part).collect();
    let generation = generation(completion, &mut system);
    put(&mut body, "systemInstruction", (!system.is_empty()).then(|| json!({"parts": system})));
    put(&mut body, "contents", Some(contents(messages, major(model) >= 3)?));
    if !tools.is_empty() {
        let declarations: Vec<Value> = tools.iter().map(tool).collect();
        put(&mut body, "tools", Some(json!([{"functionDeclarations": declarations}])));
        put(&mut body, "toolConfig", settings.tool_choice.as_ref().map(choice));
    }
    put(&mut body, "generationConfig", (!generation.is_empty()).then_some(generation));
    let kept = if tools.is_empty() { &KEPT[..2] } else { &KEPT[..] };
    written(body, settings, kept, &JOINED)
}

/// The number of a model's age: `gemini-2.5-flash` is 2. A name without one belongs to the newest.
fn major(model: &str) -> u32 {
    let name = model.rsplit('/').next().unwrap_or(model);
    name.split(['-', '.']).find_map(|part| part.parse().ok()).unwrap_or(u32::MAX)
}

/// Sampling, thinking and the form of the answer. Older models cannot have both tools and a form; they are told in words.
fn generation(completion: &Completion, system: &mut Vec<Value>) -> Map<String, Value> {
    let settings = &completion.settings;
    let mut config = Map::new();
    put(&mut config, "temperature", settings.temperature);
    put(&mut config, "topP", settings.top_p);
    put(&mut config, "topK", settings.top_k);
    put(&mut config, "maxOutputTokens", settings.max_output_tokens);
    put(&mut config, "stopSequences", (!settings.stop.is_empty()).then(|| settings.stop.clone()));
    put(&mut config, "seed", settings.seed);
    put(&mut config, "presencePenalty", settings.presence_penalty);
    put(&mut config, "frequencyPenalty", settings.frequency_penalty);
    put(&mut config, "thinkingConfig", thinking(settings, &completion.model));
    if let Some(schema) = completion.output_schema.as_deref() {
        if completion.tools.is_empty() || major(&completion.model) >= 3 {
            put(&mut config, "responseMimeType", Some("application/json"));
            put(&mut config, "responseJsonSchema", Some(schema.clone()));
        } else {
            system.push(text(&instruction(schema)));
        }
    }
    config
}

/// Newer models are told a level, older ones a budget of tokens; never both.
fn thinking(settings: &ModelSettings, model: &str) -> Option<Value> {
    let effort = settings.reasoning_effort.as_deref()?;
    if major(model) >= 3 {
        let level = if effort == "none" { "minimal" } else { effort };
        return Some(json!({"thinkingLevel": level, "includeThoughts": effort != "none"}));
    }
    let budget = match effort {
        "none" => 0,
        "minimal" => 512,
        "low" => 2048,
        "medium" => 8192,
        _ => 24_576,
    };
    Some(json!({"thinkingBudget": budget, "includeThoughts": budget > 0}))
}

fn system_part(message: &PromptMessage) -> Option<Value> {
    if let PromptMessage::System(words) = message { Some(text(words)) } else { None }
}

fn text(words: &str) -> Value {
    json!({"text": words})
}

fn tool(tool: &OfferedTool) -> Value {
    let mut wire = Map::new();
    put(&mut wire, "name", Some(tool.name.as_str()));
    put(&mut wire, "description", (!tool.description.is_empty()).then_some(tool.description.as_str()));
    put(&mut wire, "parametersJsonSchema", Some(Value::clone(&tool.input_schema)));
    Value::Object(wire)
}

fn choice(choice: &ToolChoice) -> Value {
    let config = match choice {
        ToolChoice::Auto => json!({"mode": "AUTO"}),
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Named(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
    };
    json!({"functionCallingConfig": config})
}

/// The messages, results of tools and what a person says after them in one: roles take turns.
fn contents(messages: &[PromptMessage], must_sign: bool) -> Result<Vec<Value>, ProviderError> {
    let mut all: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, parts) = match message {
            PromptMessage::System(_) => continue,
            PromptMessage::User(parts) => ("user", parts.iter().map(part).collect::<Result<_, _>>()?),
            PromptMessage::Tool(results) => ("user", results.iter().map(result).collect()),
            PromptMessage::Assistant { text, reasoning, calls } => {
                ("model", said(&in_order(NAME, text, reasoning, calls), must_sign))
            }
        };
        match all.last_mut() {
            Some((last, there)) if *last == role => there.extend(parts),
            _ => all.push((role, parts)),
        }
    }
    Ok(all.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect())
}

/// Signatures go back on the part they came with: a call's stands before it, a text's after it.
fn said(said: &[Said<'_>], must_sign: bool) -> Vec<Value> {
    let mut parts: Vec<Value> = Vec::new();
    let mut of_call: Option<&Value> = None;
    let mut is_first = true;
    for said in said {
        match said {
            Said::Text(words) => parts.push(text(words)),
            Said::Thought { data, .. } if data["of"] == "call" => of_call = data.get("signature"),
            Said::Thought { data, .. } => match (parts.last_mut(), data.get("signature")) {
                (Some(last), Some(signature)) if last.get("text").is_some() => {
                    last["thoughtSignature"] = signature.clone();
                }
                (_, Some(signature)) => parts.push(json!({"text": "", "thoughtSignature": signature})),
                (_, None) => {}
            },
            Said::Call(call) => {
                let unsigned = (is_first && must_sign).then(|| Value::from(UNSIGNED));
                let mut part = function_call(call);
                if let Some(signature) = of_call.take().cloned().or(unsigned) {
                    part["thoughtSignature"] = signature;
                }
                is_first = false;
                parts.push(part);
            }
        }
    }
    parts
}

fn function_call(call: &ToolCall) -> Value {
    json!({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}})
}

fn result(result: &ToolResult) -> Value {
    let response = match &result.output {
        Value::Object(_) if !result.is_error => result.output.clone(),
        output => json!({ if result.is_error { "error" } else { "output" }: output }),
    };
    json!({"functionResponse": {"id": result.call_id, "name": result.name, "response": response}})
}

fn part(part: &UserPart) -> Result<Value, ProviderError> {
    let (media_type, data) = match part {
        UserPart::Text(words) => return Ok(text(words)),
        UserPart::File { media_type, data } => (media_type, data),
    };
    Ok(match placed(media_type, data)? {
        (media_type, Place::Base64(bytes)) => json!({"inlineData": {"mimeType": media_type, "data": bytes}}),
        (media_type, Place::Address(url)) => json!({"fileData": {"mimeType": media_type, "fileUri": url}}),
    })
}

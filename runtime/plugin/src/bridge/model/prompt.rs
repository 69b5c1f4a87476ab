//! What a model is told, in the words of the contract.

use roster_abi::contract::{Offered, Prompt, Settings};
use roster_model::message::FileData;
use roster_model::provider::{ModelSettings, OfferedTool, PromptMessage, ToolChoice, UserPart};
use serde_json::{Value, json};

pub(super) fn message(message: &PromptMessage) -> Prompt {
    match message {
        PromptMessage::System(text) => Prompt::System { text: text.clone() },
        PromptMessage::User(parts) => Prompt::User { parts: parts.iter().map(part).collect() },
        PromptMessage::Assistant { text, reasoning, calls } => Prompt::Assistant {
            text: text.clone(),
            reasoning: reasoning
                .iter()
                .map(|(text, opaque)| match opaque {
                    Some(opaque) => json!({ "text": text, "opaque": opaque }),
                    None => json!({ "text": text }),
                })
                .collect(),
            calls: calls
                .iter()
                .map(|call| json!({ "id": call.id, "name": call.name, "arguments": call.arguments }))
                .collect(),
        },
        PromptMessage::Tool(results) => Prompt::Tool {
            results: results
                .iter()
                .map(|result| {
                    let mut value = json!({ "call_id": result.call_id, "name": result.name, "output": result.output });
                    if result.is_error {
                        value["is_error"] = json!(true);
                    }
                    value
                })
                .collect(),
        },
    }
}

fn part(part: &UserPart) -> Value {
    match part {
        UserPart::Text(text) => json!({ "type": "text", "text": text }),
        UserPart::File { media_type, data } => {
            let data = match data {
                FileData::Url(url) => json!({ "url": url }),
                FileData::Base64(bytes) => json!({ "base64": bytes }),
            };
            json!({ "type": "file", "media_type": media_type, "data": data })
        }
    }
}

pub(super) fn tool(tool: &OfferedTool) -> Offered {
    Offered {
        name: tool.name.clone(),
        description: tool.description.clone(),
        input_schema: (*tool.input_schema).clone(),
    }
}

pub(super) fn settings(settings: &ModelSettings) -> Settings {
    Settings {
        temperature: settings.temperature,
        top_p: settings.top_p,
        top_k: settings.top_k,
        max_output_tokens: settings.max_output_tokens,
        stop: settings.stop.clone(),
        seed: settings.seed,
        presence_penalty: settings.presence_penalty,
        frequency_penalty: settings.frequency_penalty,
        reasoning_effort: settings.reasoning_effort.clone(),
        tool_choice: match &settings.tool_choice {
            None => Value::Null,
            Some(ToolChoice::Auto) => json!("auto"),
            Some(ToolChoice::None) => json!("none"),
            Some(ToolChoice::Required) => json!("required"),
            Some(ToolChoice::Named(name)) => json!({ "name": name }),
        },
        provider_options: settings.provider_options.clone(),
    }
}

//! A completion written as the body of a request.

use std::borrow::Cow;

use roster_model::message::{FileData, ToolCall, ToolResult};
use roster_model::provider::{
    Completion, ModelSettings, OfferedTool, PromptMessage, ProviderError, ProviderErrorKind, ToolChoice, UserPart,
};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::schema::is_strict;

/// Options never replace these: the turn alone decides them.
const PROTECTED: [&str; 4] = ["model", "messages", "stream", "tools"];

/// Writes the body.
///
/// # Errors
/// `BadRequest` for a file that this dialect cannot carry.
pub(super) fn encode(completion: &Completion, stream: bool) -> Result<Vec<u8>, ProviderError> {
    let messages = completion.messages.iter().try_fold(Vec::new(), |mut all, message| {
        push(&mut all, message)?;
        Ok::<_, ProviderError>(all)
    })?;
    serde_json::to_vec(&Body { completion, messages, stream }).map_err(|error| {
        ProviderError::new(ProviderErrorKind::BadRequest, format!("the request cannot be written: {error}"))
    })
}

struct Body<'a> {
    completion: &'a Completion,
    messages: Vec<Message<'a>>,
    stream: bool,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Completion { model, tools, output_schema, settings, .. } = self.completion;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", model)?;
        map.serialize_entry("messages", &self.messages)?;
        map.serialize_entry("stream", &self.stream)?;
        if !tools.is_empty() {
            map.serialize_entry("tools", &Tools(tools))?;
        }
        let mut entries = Entries { map: &mut map, settings };
        entries.put("response_format", output_schema.as_deref().map(response_format))?;
        settings_entries(&mut entries, self.stream, !tools.is_empty())?;
        for (name, value) in &settings.provider_options {
            // Without tools of the turn's own, a server-side tool may be passed through.
            if !PROTECTED.contains(&name.as_str()) || (name == "tools" && tools.is_empty()) {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

/// Writes settings, except those that an option of the same name replaces: a name must not stand twice.
struct Entries<'a, M> {
    map: &'a mut M,
    settings: &'a ModelSettings,
}

impl<M: SerializeMap> Entries<'_, M> {
    fn put<T: Serialize>(&mut self, name: &'static str, value: Option<T>) -> Result<(), M::Error> {
        match value {
            Some(value) if !self.settings.provider_options.contains_key(name) => self.map.serialize_entry(name, &value),
            _ => Ok(()),
        }
    }
}

fn settings_entries<M: SerializeMap>(
    entries: &mut Entries<'_, M>,
    stream: bool,
    has_tools: bool,
) -> Result<(), M::Error> {
    let settings = entries.settings;
    entries.put("stream_options", stream.then_some(StreamOptions { include_usage: true }))?;
    entries.put("tool_choice", settings.tool_choice.as_ref().filter(|_| has_tools).map(choice))?;
    entries.put("temperature", settings.temperature)?;
    entries.put("top_p", settings.top_p)?;
    entries.put("top_k", settings.top_k)?;
    if !settings.provider_options.contains_key("max_completion_tokens") {
        entries.put("max_tokens", settings.max_output_tokens)?;
    }
    entries.put("stop", Some(&settings.stop).filter(|stop| !stop.is_empty()))?;
    entries.put("seed", settings.seed)?;
    entries.put("presence_penalty", settings.presence_penalty)?;
    entries.put("frequency_penalty", settings.frequency_penalty)?;
    entries.put("reasoning_effort", settings.reasoning_effort.as_ref())
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    r#type: &'static str,
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'static str,
    strict: bool,
    schema: &'a Value,
}

fn response_format(schema: &Value) -> ResponseFormat<'_> {
    let json_schema = JsonSchema { name: "answer", strict: is_strict(schema), schema };
    ResponseFormat { r#type: "json_schema", json_schema }
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

struct Tools<'a>(&'a [OfferedTool]);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|tool| Tool {
            kind: "function",
            function: ToolFunction { name: &tool.name, description: &tool.description, parameters: &tool.input_schema },
        }))
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: ToolFunction<'a>,
}

#[derive(Serialize)]
struct ToolFunction<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    Named { r#type: &'static str, function: Name<'a> },
}

#[derive(Serialize)]
struct Name<'a> {
    name: &'a str,
}

fn choice(choice: &ToolChoice) -> Choice<'_> {
    match choice {
        ToolChoice::Auto => Choice::Word("auto"),
        ToolChoice::None => Choice::Word("none"),
        ToolChoice::Required => Choice::Word("required"),
        ToolChoice::Named(name) => Choice::Named { r#type: "function", function: Name { name } },
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
    InputAudio { input_audio: Audio<'a> },
    File { file: File<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: Cow<'a, str>,
}

#[derive(Serialize)]
struct Audio<'a> {
    data: &'a str,
    format: &'a str,
}

#[derive(Serialize)]
struct File<'a> {
    filename: String,
    file_data: Cow<'a, str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CallFunction<'a>,
}

#[derive(Serialize)]
struct CallFunction<'a> {
    name: &'a str,
    arguments: String,
}

fn push<'a>(all: &mut Vec<Message<'a>>, message: &'a PromptMessage) -> Result<(), ProviderError> {
    match message {
        PromptMessage::System(text) => all.push(Message::System { content: text }),
        PromptMessage::User(parts) => all.push(Message::User { content: content(parts)? }),
        // Thinking is not sent back: no server of this dialect needs it, and some refuse it.
        PromptMessage::Assistant { text, calls, .. } => {
            let content = (!text.is_empty() || calls.is_empty()).then_some(text.as_str());
            all.push(Message::Assistant { content, tool_calls: calls.iter().map(call).collect() });
        }
        PromptMessage::Tool(results) => all.extend(results.iter().map(result)),
    }
    Ok(())
}

fn content(parts: &[UserPart]) -> Result<Content<'_>, ProviderError> {
    let texts: Option<Vec<&str>> = parts.iter().map(text_only).collect();
    match texts.as_deref() {
        Some([text]) => Ok(Content::Text(Cow::Borrowed(text))),
        Some(texts) => Ok(Content::Text(Cow::Owned(texts.join("\n")))),
        None => Ok(Content::Parts(parts.iter().map(content_part).collect::<Result<_, _>>()?)),
    }
}

fn text_only(part: &UserPart) -> Option<&str> {
    match part {
        UserPart::Text(text) => Some(text),
        UserPart::File { .. } => None,
    }
}

fn content_part(part: &UserPart) -> Result<ContentPart<'_>, ProviderError> {
    let (media_type, data) = match part {
        UserPart::Text(text) => return Ok(ContentPart::Text { text }),
        UserPart::File { media_type, data } => (media_type.as_str(), data),
    };
    let (family, kind) = media_type.split_once('/').unwrap_or((media_type, ""));
    match (family, data) {
        ("image", data) => Ok(ContentPart::ImageUrl { image_url: ImageUrl { url: address(media_type, data) } }),
        ("audio", FileData::Base64(data)) => {
            Ok(ContentPart::InputAudio { input_audio: Audio { data, format: audio_format(kind) } })
        }
        (_, FileData::Url(url)) if !url.starts_with("data:") => {
            let message = format!("a file of type `{media_type}` cannot be sent by its address; send its bytes");
            Err(ProviderError::new(ProviderErrorKind::BadRequest, message))
        }
        (_, data) => {
            let filename = format!("file.{}", kind.split(['+', ';']).next().unwrap_or_default());
            Ok(ContentPart::File { file: File { filename, file_data: address(media_type, data) } })
        }
    }
}

fn address<'a>(media_type: &str, data: &'a FileData) -> Cow<'a, str> {
    match data {
        FileData::Url(url) => Cow::Borrowed(url),
        FileData::Base64(bytes) => Cow::Owned(format!("data:{media_type};base64,{bytes}")),
    }
}

fn audio_format(kind: &str) -> &str {
    match kind {
        "mpeg" => "mp3",
        "x-wav" | "wave" | "vnd.wave" => "wav",
        other => other,
    }
}

fn call(call: &ToolCall) -> Call<'_> {
    // A map of JSON values is always writable; a call that could not be read was stored with no arguments.
    let arguments = serde_json::to_string(&call.arguments).unwrap_or_else(|_| "{}".to_owned());
    Call { id: &call.id, r#type: "function", function: CallFunction { name: &call.name, arguments } }
}

fn result(result: &ToolResult) -> Message<'_> {
    let content = match &result.output {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        other => Cow::Owned(other.to_string()),
    };
    Message::Tool { tool_call_id: &result.call_id, content }
}

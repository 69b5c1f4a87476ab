//! Messages and their parts: what people, models and tools say.
//!
//! One turn is two rows: the user's message and one assistant message that holds every step's text, reasoning, tool
//! calls and results as parts, in the order they happened. A step begins where something other than a
//! [`Part::ToolResult`] follows one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::{AgentId, MessageId, TurnId};
use crate::time::Timestamp;

/// Who speaks. Tool results are parts of the assistant's message, never rows of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The operator or the developer; stored only when a REST client saves such a row, never fed as history.
    System,
    /// The person or program that asks.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The word stored and sent.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }

    /// The reverse of [`Role::as_str`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "system" => Some(Self::System),
            "user" => Some(Self::User),
            "assistant" => Some(Self::Assistant),
            _ => None,
        }
    }
}

/// How far a message got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageStatus {
    /// Whole.
    Complete,
    /// Its turn is under way, or died with its process (see `ConversationStore::begin_turn`).
    Running,
    /// The client left, the turn was cancelled, or the process died.
    Interrupted,
    /// The provider, a tool loop or the store failed.
    Failed,
    /// It waits for a person to approve or decline calls of tools.
    Suspended,
    /// It waits for its client to bring the results of tools that the client runs.
    Awaiting,
}

impl MessageStatus {
    /// The word stored and sent.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Suspended => "suspended",
            Self::Awaiting => "awaiting",
        }
    }

    /// The reverse of [`MessageStatus::as_str`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "complete" => Some(Self::Complete),
            "running" => Some(Self::Running),
            "interrupted" => Some(Self::Interrupted),
            "failed" => Some(Self::Failed),
            "suspended" => Some(Self::Suspended),
            "awaiting" => Some(Self::Awaiting),
            _ => None,
        }
    }

    /// Whether nothing more will be said in it.
    #[must_use]
    pub fn is_ended(self) -> bool {
        self != Self::Running && !self.is_waiting()
    }

    /// Whether calls of tools wait for somebody outside.
    #[must_use]
    pub fn is_waiting(self) -> bool {
        matches!(self, Self::Suspended | Self::Awaiting)
    }
}

/// A call of a tool, as the model asked for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in the thread; pairs the call with its result.
    pub id: String,
    /// The name the model was offered.
    pub name: String,
    /// The arguments; empty when the model sent none or something that is no JSON object.
    pub arguments: Map<String, Value>,
    /// What the model wrote when it was no JSON object; such a call is never run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
}

/// What came of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call's id.
    pub call_id: String,
    /// The name the model was offered.
    pub name: String,
    /// The result, or for a failure the message the model is given.
    pub output: Value,
    /// True when the tool failed, was refused or never ran to its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

/// Where a file's bytes are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileData {
    /// An address the provider fetches, or a `data:` address.
    Url(String),
    /// The bytes in base64.
    Base64(String),
}

/// A piece of a message. JSON by nature; the form stored is this one (see [`STORED_FORM`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Part {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// The model's thinking, where the provider shows it.
    Reasoning {
        /// The words.
        text: String,
        /// What the provider wants back unchanged (a signature, an encrypted item).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Value>,
    },
    /// A tool call.
    ToolCall(ToolCall),
    /// A tool's answer.
    ToolResult(ToolResult),
    /// An image or another file.
    File {
        /// Its media type, `image/png`.
        media_type: String,
        /// Its bytes or address.
        data: FileData,
        /// Its name, where the client gave one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Why the turn failed; for people, never fed to a model.
    Error {
        /// Machine code.
        code: String,
        /// Message for people.
        message: String,
    },
}

impl Part {
    /// Words.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// Which definition made an assistant message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The agent.
    pub agent: AgentId,
    /// The registry generation the turn began with; counted per process run.
    pub generation: u64,
    /// The fingerprint of the definition's content; identifies the version for ever.
    pub fingerprint: String,
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Unique in its thread.
    pub id: MessageId,
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<Part>,
    /// When, for display.
    pub created_at: Timestamp,
    /// How far it got.
    pub status: MessageStatus,
    /// Which definition made it; only on assistant messages made by a turn.
    pub origin: Option<Origin>,
    /// What clients attached; empty for most.
    pub metadata: Map<String, Value>,
}

impl Message {
    /// The words of all text parts, joined.
    #[must_use]
    pub fn text(&self) -> String {
        let mut all = String::new();
        for part in &self.parts {
            if let Part::Text { text } = part {
                all.push_str(text);
            }
        }
        all
    }
}

/// A message's place in its thread: 1, 2, 3 …, given by the store, never reused. The only order of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Seq(pub u64);

/// A message as the store holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// Its place in the thread.
    pub seq: Seq,
    /// The turn it belongs to; absent for rows saved by REST.
    pub turn: Option<TurnId>,
    /// The message.
    pub message: Message,
}

/// The number of the form [`encode_parts`] writes.
pub const STORED_FORM: u32 = 1;

#[derive(Serialize)]
struct EncodedRef<'a> {
    v: u32,
    parts: &'a [Part],
}

#[derive(Deserialize)]
struct Encoded {
    v: u32,
    parts: Vec<Part>,
}

/// Why stored parts cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoredFormError {
    /// Written by a newer runtime.
    #[error("message parts are in form {found}, this runtime reads up to {STORED_FORM}")]
    Newer {
        /// The form found.
        found: u32,
    },
    /// No legal JSON of the form.
    #[error("message parts cannot be read")]
    Unreadable(#[from] serde_json::Error),
}

/// Parts as the text a store keeps.
///
/// # Errors
/// Only if a JSON value inside cannot be written, which serde_json's own values always can.
pub fn encode_parts(parts: &[Part]) -> Result<String, serde_json::Error> {
    serde_json::to_string(&EncodedRef { v: STORED_FORM, parts })
}

/// The reverse of [`encode_parts`].
///
/// # Errors
/// [`StoredFormError`] for a newer form or unreadable text.
pub fn decode_parts(text: &str) -> Result<Vec<Part>, StoredFormError> {
    #[derive(Deserialize)]
    struct Version {
        v: u32,
    }
    match serde_json::from_str::<Encoded>(text) {
        Ok(encoded) if encoded.v <= STORED_FORM => Ok(encoded.parts),
        Ok(encoded) => Err(StoredFormError::Newer { found: encoded.v }),
        Err(error) => match serde_json::from_str::<Version>(text) {
            Ok(version) if version.v > STORED_FORM => Err(StoredFormError::Newer { found: version.v }),
            _ => Err(error.into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_survive_the_stored_form() {
        let parts = vec![
            Part::text("漢字 \"quoted\""),
            Part::Reasoning { text: "hm".into(), opaque: Some(serde_json::json!({"sig": "x"})) },
            Part::ToolCall(ToolCall {
                id: "c1".into(),
                name: "pay".into(),
                arguments: Map::new(),
                malformed: Some("{\"amount\": 5".into()),
            }),
            Part::ToolResult(ToolResult {
                call_id: "c1".into(),
                name: "pay".into(),
                output: Value::String("no".into()),
                is_error: true,
                duration_ms: 3,
            }),
        ];
        let text = encode_parts(&parts).expect("encodes");
        assert_eq!(decode_parts(&text).expect("decodes"), parts);
    }

    #[test]
    fn a_newer_form_is_named() {
        let error = decode_parts(r#"{"v":9,"parts":[{"type":"hologram"}]}"#).expect_err("newer");
        assert!(matches!(error, StoredFormError::Newer { found: 9 }));
        assert!(matches!(decode_parts("{"), Err(StoredFormError::Unreadable(_))));
    }
}

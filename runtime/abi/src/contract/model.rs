//! `model/1`: `generate`, [`Generate`] → [`Ended`]; the answer comes as CHUNK events, each a [`Delta`].
//!
//! Codes of faults the runtime understands: `provider_key_missing`, `provider_unreachable`, `provider_timeout`,
//! `provider_auth`, `provider_rate_limited`, `provider_overloaded`, `provider_not_found`, `provider_bad_request`,
//! `context_length_exceeded`, `content_filter`; any other is `provider_error`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Input of `generate`. The model is the component.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Generate {
    /// What is said so far; always legal: each call has one result, right after it.
    pub messages: Vec<Prompt>,
    /// Tools offered.
    #[serde(default)]
    pub tools: Vec<Offered>,
    /// Settings.
    #[serde(default)]
    pub settings: Settings,
}

/// A message as a model is given it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Prompt {
    /// Instructions.
    System {
        /// The words.
        text: String,
    },
    /// What the person said.
    User {
        /// Parts: `{"type":"text","text"}` or `{"type":"file","media_type","data":{"url"|"base64"}}`.
        parts: Vec<Value>,
    },
    /// What the model said in one step.
    Assistant {
        /// Words; empty when it only called tools.
        #[serde(default)]
        text: String,
        /// Thinking: `{"text", "opaque"?}`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reasoning: Vec<Value>,
        /// Calls: `{"id","name","arguments"}`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Value>,
    },
    /// Results of the calls before: `{"call_id","name","output","is_error"?}`.
    Tool {
        /// In the order of the calls.
        results: Vec<Value>,
    },
}

/// A tool as the model is offered it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Offered {
    /// `[A-Za-z0-9_-]`, at most 64.
    pub name: String,
    /// For the model.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
}

/// Settings; absent: as the model likes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Randomness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Candidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Most tokens to write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Texts that end the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// For repeatable sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Against topics already there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// Against words already there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// `low`, `medium`, `high`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// `"auto"`, `"none"`, `"required"` or `{"name":…}`.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub tool_choice: Value,
    /// Passed through.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub provider_options: Map<String, Value>,
}

/// A piece of the answer: a CHUNK event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Delta {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// Thinking.
    Reasoning {
        /// The words.
        text: String,
    },
    /// What the model wants back with the thinking so far, unchanged.
    ReasoningOpaque {
        /// Anything.
        value: Value,
    },
    /// A tool call begins.
    ToolCall {
        /// 0, 1, 2 … in the order the calls begin.
        index: usize,
        /// The model's id, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The name offered.
        name: String,
    },
    /// A piece of a call's arguments.
    ToolArguments {
        /// Of the call.
        index: usize,
        /// JSON text, cut anywhere.
        text: String,
    },
}

/// Output of `generate`: the end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// `stop`, `length`, `tool-calls` or `content-filter`.
    pub finish_reason: String,
    /// Tokens.
    #[serde(default)]
    pub usage: Usage,
    /// The model that answered, where it has a finer name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Tokens; absent: not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Of the prompt, cached ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Of the answer, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// From a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    /// For reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
}

//! The answer of `describe`, and the shapes every contract shares.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Kinds of contributions.
pub mod kind {
    /// `tool/1`: `invoke`, arguments → result.
    pub const TOOL: &str = "tool";
    /// `memory/1`.
    pub const MEMORY_FACTORY: &str = "memory_factory";
    /// `model/1`.
    pub const MODEL_PROVIDER: &str = "model_provider";
    /// `embedder/1`.
    pub const EMBEDDER: &str = "embedder";
    /// `processor/1`.
    pub const PROCESSOR: &str = "processor";
    /// `observability/1`.
    pub const OBSERVABILITY: &str = "observability";
}

/// What a plugin contributes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// JSON Schema of the configuration; `null`: anything.
    #[serde(default)]
    pub config_schema: Value,
    /// The components.
    #[serde(default)]
    pub contributes: Vec<Contribution>,
}

/// One component. Which of the optional fields mean something depends on the kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Contribution {
    /// One of [`kind`]; another is listed and not used.
    pub kind: String,
    /// `tool/1`.
    pub contract: String,
    /// The name a definition uses after the colon: letters, digits, `_`, `-`, `.`.
    pub id: String,
    /// For people and models.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Tool: JSON Schema of the arguments, an object schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// Tool: JSON Schema of the result; results are checked against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Memory factory: JSON Schema of `[memory] config`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_schema: Option<Value>,
    /// It emits chunks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub streaming: bool,
    /// A call may be made a second time without harm.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
    /// The component's own deadline in milliseconds; the smaller of this and the operator's holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Embedder: length of a vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<usize>,
    /// Embedder: most texts of one call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_batch: Option<usize>,
    /// Embedder: names model and version; vectors of equal spaces can be compared. Default: plugin id and component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// Processor: which of `input`, `chunk`, `output` it wants; the others are not called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
}

/// Why a call, `create` or `health` failed: the payload beside a status below 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// Machine code: `city_unknown`.
    pub code: String,
    /// For people, and for a tool also for the model: no secret.
    pub message: String,
    /// The same call may succeed a moment later.
    #[serde(default)]
    pub retryable: bool,
    /// Anything more.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

/// A PROGRESS event.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fraction: Option<f64>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

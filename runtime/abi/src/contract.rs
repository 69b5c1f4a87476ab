//! What the JSON inside calls says: one agreement per kind of contribution, `tool/1` and so on.
//!
//! Within `x/1` only optional fields are added and unknown fields are ignored by both sides; anything else is `x/2`,
//! offered beside it. Every call's input is one JSON object (the struct named after the method), its output another.

mod describe;
mod embedder;
mod memory;
mod model;
mod observability;
mod processor;
mod service;

pub use describe::{Contribution, Description, Fault, Progress, kind};
pub use embedder::Embed;
pub use memory::{
    Append, Closed, Created, Deleted, Direction, Erased, Messages, NewThread, Of, Open, Opened, Order, Page, Row, Rows,
    Save, Seqs, SetWorking, Tail, Thread, Threads, UpdateThread, Versioned, Working,
};
pub use model::{Delta, Ended, Generate, Offered, Prompt, Settings, Usage};
pub use observability::{Export, Span};
pub use processor::{Abort, Chunk, ChunkOut, Messages as ProcessorMessages, Processed};
pub use service::{Fetch, Fetched, KvKey, KvKeys, KvList, KvPut, KvValue, MetricAdd, Secret, SecretGet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a call is part of: `arp_call.context`. Everything is optional: not every call belongs to a turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallContext {
    /// The turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The thread's owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// W3C trace context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// The id of the model's tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<String>,
}

/// A message. Its parts are the runtime's own stored parts, JSON objects with a `type`: `text` with `text`,
/// `tool-call`, `tool-result`, `file` and more; a plugin passes on unchanged what it does not know.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Unique in its thread.
    #[serde(default)]
    pub id: String,
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// What is said, in order.
    pub parts: Vec<Value>,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    #[serde(default)]
    pub created_at: i64,
    /// `complete` (or absent), `running`, `interrupted`, `failed`, `suspended` or `awaiting`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Which definition made it: `agent`, `generation`, `fingerprint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Value>,
    /// What clients attached.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

//! `processor/1`: what is said on its way to the model and back.
//!
//! `input`: [`Messages`] → [`Processed`], what is about to be fed; the changed messages are fed instead. `chunk`:
//! [`Chunk`] → [`ChunkOut`], a piece of the answer on its way to the client. `output`: [`Messages`] → [`Processed`],
//! the whole answer before it is stored. A processor that fails ends the turn unless its definition says
//! `on_error = "pass"`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Message;

/// Input of `input` and `output`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Messages {
    /// In order.
    pub messages: Vec<Message>,
}

/// Output of `input` and `output`: the messages as they shall be (as many, in the same order), or an end of the turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Processed {
    /// The messages; absent: as they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Message>>,
    /// Ends the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort: Option<Abort>,
}

/// Why a turn is ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Abort {
    /// For the client.
    pub reason: String,
}

/// Input of `chunk`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// `{"type":"text","text":…}`; of the last call of a text the empty text.
    pub part: Value,
    /// What the call before gave back; `null` at the beginning. So the plugin keeps nothing between calls.
    #[serde(default)]
    pub state: Value,
    /// The text ends here: nothing may be held back any more.
    #[serde(default)]
    pub last: bool,
}

/// Output of `chunk`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChunkOut {
    /// What goes on to the client; `null`: nothing yet.
    #[serde(default)]
    pub part: Value,
    /// Given back with the next chunk.
    #[serde(default)]
    pub state: Value,
    /// Ends the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort: Option<Abort>,
}

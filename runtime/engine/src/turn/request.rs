//! What a door asks for.

use std::sync::Arc;

use roster_model::id::ThreadKey;
use roster_model::message::{Part, Role};
use roster_model::provider::ModelSettings;

use super::client::ClientTools;
use crate::registry::{Agent, Snapshot};

/// A message of the client's own list.
#[derive(Debug, Clone, PartialEq)]
pub struct InputMessage {
    /// Who speaks.
    pub role: Role,
    /// What is said; results of client tools stand as parts of the assistant message that called them.
    pub parts: Vec<Part>,
}

/// What is asked, oldest first. With memory only the newest user message counts (an empty thread is seeded with the
/// rest); without, it is the whole history.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Input {
    /// The messages.
    pub messages: Vec<InputMessage>,
}

/// A turn to run.
#[derive(Clone)]
pub struct TurnRequest {
    /// Who is asked.
    pub agent: Arc<Agent>,
    /// The registry the request found; kept to the end, also by sub-agents.
    pub snapshot: Arc<Snapshot>,
    /// Owner and thread, both decided by the door.
    pub key: ThreadKey,
    /// Whether the identity or the request named the owner. False: the owner is a default that everybody shares who
    /// names none, so neither recall nor working memory leaves the thread, whatever the definition says.
    pub owner_named: bool,
    /// False: nothing is read or stored, whatever the agent's memory (a request that names no conversation on a door
    /// whose clients send their whole history).
    pub stored: bool,
    /// What is asked.
    pub input: Input,
    /// Tools of the client's own.
    pub tools: ClientTools,
    /// Settings of the request; each one given wins over the definition's.
    pub settings: ModelSettings,
}

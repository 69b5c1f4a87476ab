//! Processors: what is said, on its way to the model and back.

use serde_json::Value;

use crate::BoxFuture;
use crate::id::{AgentId, ThreadKey, TurnId};
use crate::message::{Part, Role};

/// What a processor wants to see; the rest passes it by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hooks {
    /// What is about to be fed.
    pub input: bool,
    /// The words of the answer, piece by piece.
    pub chunk: bool,
    /// The whole answer before it is stored.
    pub output: bool,
}

/// On which way the messages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// To the model.
    Input,
    /// To the store.
    Output,
}

/// What of a message a processor may change. It gives back as many rows, with the same roles.
pub type Row = (Role, Vec<Part>);

/// For whom and within what it runs.
#[derive(Debug, Clone)]
pub struct ProcessorContext {
    /// The agent.
    pub agent: AgentId,
    /// The turn.
    pub turn: TurnId,
    /// Owner and thread.
    pub key: ThreadKey,
}

/// A piece of the answer's words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Piece {
    /// The words; with `last` often none.
    pub text: String,
    /// What the processor gave back with the piece before; `null` with the first one.
    pub state: Value,
    /// The text ends here: nothing may be held back any more.
    pub last: bool,
}

/// What a processor made of a piece.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Passed {
    /// What goes on to the client.
    pub text: String,
    /// What it wants back with the next piece: what it holds back stands in it.
    pub state: Value,
}

/// Why a processor gave nothing back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProcessorError {
    /// It ends the turn on purpose; the reason is for the client.
    #[error("{0}")]
    Blocked(String),
    /// It failed; the message is for the log and the operator.
    #[error("{0}")]
    Failed(String),
}

/// A processor ready to run. Dropping a future cancels the call.
pub trait Processor: Send + Sync + 'static {
    /// What it wants to see. May change while it lives: asked anew for every turn.
    fn hooks(&self) -> Hooks;
    /// The messages as they shall be: fed instead of the ones given, or stored instead of them.
    fn messages(
        &self,
        stage: Stage,
        rows: Vec<Row>,
        context: ProcessorContext,
    ) -> BoxFuture<'_, Result<Vec<Row>, ProcessorError>>;
    /// A piece of the answer as it shall be.
    fn piece(&self, piece: Piece, context: ProcessorContext) -> BoxFuture<'_, Result<Passed, ProcessorError>>;
}

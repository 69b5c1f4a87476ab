//! What the door asks of the runtime behind it.

use std::pin::Pin;

use futures_util::Stream;
use roster_model::id::{AgentId, ResourceId};

/// An agent that may be asked through this door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedAgent {
    /// Its id: the tool's name.
    pub id: AgentId,
    /// Its name for people.
    pub name: String,
    /// For the model that chooses: what it does.
    pub description: String,
}

/// Who asks, as the listener found out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// Who it is; `None` where nobody is asked for a token. A session belongs to who began it.
    pub subject: Option<String>,
    /// The owner of their conversations; `None`: the agent's own.
    pub resource: Option<ResourceId>,
}

/// A question to an agent.
#[derive(Debug, Clone)]
pub struct Question {
    /// Who is asked.
    pub agent: AgentId,
    /// What.
    pub prompt: String,
    /// The conversation to go on with; `None`: a fresh one.
    pub conversation: Option<String>,
    /// Who asks.
    pub caller: Caller,
}

/// What happens while an agent answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// A piece of the answer.
    Words(String),
    /// A tool is called.
    Tool(String),
    /// It is over; the last.
    Ended(Ended),
}

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The answer is whole.
    Whole {
        /// `stop`, `length`, …
        reason: &'static str,
        /// The conversation that may be gone on with; `None` for an agent without memory.
        conversation: Option<String>,
    },
    /// It failed.
    Failed {
        /// Machine code.
        code: &'static str,
        /// For people.
        message: String,
    },
}

/// Why a question is not asked at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Machine code.
    pub code: &'static str,
    /// For people.
    pub message: String,
}

/// What happens, in order. Dropped, the turn is told that who asked has left.
pub type Happenings = Pin<Box<dyn Stream<Item = Happening> + Send>>;

/// The agents behind the door. Made by whoever assembles the runtime.
pub trait Agents: Send + Sync + 'static {
    /// The agents of the allow-list that can be asked now, in registry order.
    fn offered(&self) -> Vec<OfferedAgent>;

    /// Asks one of them.
    ///
    /// # Errors
    /// [`Refusal`] when it cannot be asked.
    fn ask(&self, question: Question) -> Result<Happenings, Refusal>;
}

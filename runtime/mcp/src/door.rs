//! The door through which programs that speak MCP ask agents: each agent is a tool.
//!
//! [`Door::answer`] takes one HTTP request that was let in already, with who asks; the session, the framing and the
//! versions of the protocol are the library's. Reading order: [`agents`] (what is asked of the runtime), [`answering`],
//! [`handler`], [`call`].

mod agents;
mod answering;
mod call;
mod handler;

pub use agents::{Agents, Caller, Ended, Happening, Happenings, OfferedAgent, Question, Refusal};
pub use answering::{Body, Door};

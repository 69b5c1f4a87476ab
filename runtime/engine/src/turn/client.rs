//! The client's own tools: offered beside the agent's; a call of one ends the turn and goes out, and the next request
//! brings the result.
//!
//! In a stored conversation the turn's row waits with its open calls, and goes on with the results. Where nothing is
//! stored the client sends calls and results with its history.

use std::collections::HashSet;
use std::sync::Arc;

use roster_model::id::AgentId;
use roster_model::message::{MessageStatus, ToolCall, ToolResult};
use roster_model::provider::OfferedTool;
use roster_model::suspension::{NO_RESULT, SuspendedTurn, open_calls};
use serde_json::Value;

use crate::definition::orchestration::ORCHESTRATE;

use super::answer::Answer;
use super::event::Failure;
use super::request::TurnRequest;
use super::run::{Resumption, Turn, resume_with};
use super::services::{Services, TurnRefused, TurnStream};
use crate::tool::ToolBox;

/// Tools of one request.
#[derive(Debug, Clone, Default)]
pub struct ClientTools(Arc<[OfferedTool]>);

/// Longest name of a tool.
const LONGEST_NAME: usize = 64;

impl ClientTools {
    /// Checks the names: legal for every provider, each once, none of the agent's own.
    ///
    /// # Errors
    /// What is wrong, and the place in the list.
    pub fn new(tools: Vec<OfferedTool>, agents: &ToolBox) -> Result<Self, (usize, String)> {
        let mut seen = HashSet::new();
        for (at, tool) in tools.iter().enumerate() {
            let name = &tool.name;
            let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(legal) {
                let letters = "letters, digits, `_` and `-`";
                return Err((at, format!("the name of a tool must be 1 to {LONGEST_NAME} {letters}")));
            }
            if !seen.insert(name.clone()) {
                return Err((at, format!("the tool `{name}` comes twice")));
            }
            if name == ORCHESTRATE {
                return Err((at, format!("`{name}` is a name of the runtime's own; give your tool another")));
            }
            if agents.find(name).is_some() {
                return Err((at, format!("the agent has a tool `{name}` of its own; give yours another name")));
            }
        }
        Ok(Self(tools.into()))
    }

    /// Whether this is one of them.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|tool| tool.name == name)
    }

    /// The agent's tools and these.
    pub(super) fn beside(&self, agents: Arc<[OfferedTool]>) -> Arc<[OfferedTool]> {
        if self.0.is_empty() { agents } else { agents.iter().chain(self.0.iter()).cloned().collect() }
    }
}

/// Why results were not taken.
#[derive(Debug, Clone)]
pub enum ResultsRefused {
    /// The turn was not begun.
    Turn(TurnRefused),
    /// The store failed.
    Failed(Failure),
    /// The conversation waits for no results.
    NotAwaited,
    /// Another agent waits for them.
    OtherAgent(AgentId),
    /// These calls have no result among them.
    Missing(Vec<String>),
    /// There is no open call of this id.
    Unknown(String),
}

/// Goes on with the turn that waits in the request's thread, with the results of its calls.
///
/// # Errors
/// [`ResultsRefused`]: nothing was changed.
pub async fn bring_results(
    services: &Arc<Services>,
    request: TurnRequest,
    results: Vec<ToolResult>,
) -> Result<TurnStream, ResultsRefused> {
    let Some(memory) = request.agent.memory.as_ref().filter(|_| request.stored) else {
        return Err(ResultsRefused::NotAwaited);
    };
    let newest = memory.store.tail(&request.key, 1, None).await;
    let newest = newest.map_err(|error| ResultsRefused::Failed(Failure::from(&error)))?.pop();
    let row = newest.filter(|row| row.message.status == MessageStatus::Awaiting).ok_or(ResultsRefused::NotAwaited)?;
    let turn = row.turn.clone().ok_or(ResultsRefused::NotAwaited)?;
    if let Some(origin) = row.message.origin.as_ref().filter(|origin| origin.agent != request.agent.definition.id) {
        return Err(ResultsRefused::OtherAgent(origin.agent.clone()));
    }
    let open: Vec<&str> = open_calls(&row.message.parts).into_iter().map(|call| call.id.as_str()).collect();
    if let Some(unknown) = results.iter().find(|result| !open.contains(&result.call_id.as_str())) {
        return Err(ResultsRefused::Unknown(unknown.call_id.clone()));
    }
    let missing = open.iter().filter(|id| !results.iter().any(|result| result.call_id == **id));
    let missing: Vec<String> = missing.map(|id| (*id).to_owned()).collect();
    if !missing.is_empty() {
        return Err(ResultsRefused::Missing(missing));
    }
    let waiting = SuspendedTurn { key: request.key.clone(), turn, row };
    resume_with(services, request, &waiting, Resumption::Results(results)).map_err(ResultsRefused::Turn)
}

const ANOTHER_WAITS: &str =
    "not called: another call of this step waits for a person's approval. Call it again after that, if it is needed";

impl Turn {
    /// Whether the client runs this tool.
    pub(super) fn is_clients(&self, call: &ToolCall) -> bool {
        self.request.tools.has(&call.name)
    }

    /// Answers calls of the client's tools that cannot go out now.
    ///
    /// # Errors
    /// The store's failure.
    pub(super) async fn hold_back(&self, calls: &[ToolCall], answer: &mut Answer) -> Result<(), Failure> {
        self.refuse(calls, ANOTHER_WAITS, "held_back", answer).await
    }

    /// Puts the client's results to their calls.
    ///
    /// # Errors
    /// The store's failure.
    pub(super) async fn take_results(&self, results: &[ToolResult], answer: &mut Answer) -> Result<(), Failure> {
        let open: Vec<ToolCall> = open_calls(&answer.parts).into_iter().cloned().collect();
        for call in open {
            let found = results.iter().find(|result| result.call_id == call.id);
            let result = found.map(|result| ToolResult { name: call.name.clone(), ..result.clone() });
            answer.result(result.unwrap_or_else(|| ToolResult {
                call_id: call.id.clone(),
                name: call.name.clone(),
                output: Value::from(NO_RESULT),
                is_error: true,
                duration_ms: 0,
            }));
        }
        self.save_running(answer).await
    }
}

//! One agent asks another.
//!
//! The one that is asked runs under a thread of its own below the caller's, with its own memory, on a task of its own:
//! when the caller is cancelled or gives up, it still stores what it said and gives its thread back.

use std::sync::Arc;
use std::time::Duration;

use roster_model::BoxFuture;
use roster_model::id::{AgentId, MessageId, ThreadId, ThreadKey, TurnId};
use roster_model::message::{Part, Role};
use roster_model::provider::{ModelSettings, Usage};
use roster_model::tool::ToolError;
use tokio::time::Instant;
use tokio_util::sync::DropGuard;

use super::client::ClientTools;
use super::event::{Failure, FailureKind};
use super::lease::give_back;
use super::orchestrate::{Lineage, MAX_DEPTH};
use super::request::{Input, InputMessage, TurnRequest};
use super::run::{Done, Turn};
use crate::trace::TraceContext;

/// A question to another agent that came to nothing.
pub(super) struct Unanswered {
    /// What the caller's model or person is told.
    pub(super) error: ToolError,
    /// What it was in the turn of the one asked; `None` when it was not asked at all.
    pub(super) failure: Option<Failure>,
}

impl Unanswered {
    fn refused(code: &'static str, message: String) -> Self {
        Self { error: ToolError { code, message }, failure: None }
    }

    /// Tokens used all the same.
    pub(super) fn usage(&self) -> Usage {
        self.failure.as_ref().map(|failure| failure.usage).unwrap_or_default()
    }
}

/// Asks `id` and waits for its last words, at most `limit` and never past the caller's own deadline.
///
/// # Errors
/// [`Unanswered`]: it may not be asked, is not there, or failed.
pub(super) async fn ask(
    turn: &Turn,
    id: &AgentId,
    prompt: &str,
    limit: Option<Duration>,
    trace: &TraceContext,
) -> Result<Done, Unanswered> {
    let request = request(turn, id, prompt)?;
    let mut lineage = turn.lineage.clone();
    lineage.agents.push(id.clone());
    lineage.parent = Some(turn.request.key.thread.clone());
    let (child, _cancelled_with_the_caller) = Turn::below(turn, request, lineage, trace.clone(), limit);
    let lease = child.lease();
    let outcome = match turn.services.tracker.spawn(boxed(child)).await {
        Ok(outcome) => outcome,
        Err(_crashed) => {
            tracing::error!(agent = %id, "the turn of a sub-agent crashed; only this turn ended");
            give_back(lease).await;
            Err(Failure::new(FailureKind::Internal, "internal", "the turn crashed"))
        }
    };
    outcome.map_err(|failure| {
        let failure = within_limit(turn, failure, limit);
        let message = format!("agent `{id}` failed: {}", failure.message);
        Unanswered { error: ToolError { code: "agent_failed", message }, failure: Some(failure) }
    })
}

/// A turn that ran into the limit of its stage, while its caller still has time, says so.
fn within_limit(turn: &Turn, failure: Failure, limit: Option<Duration>) -> Failure {
    let Some(limit) = limit.filter(|_| failure.kind == FailureKind::Timeout && turn.has_time()) else { return failure };
    Failure { code: "stage_timeout", message: format!("it took longer than {} s", limit.as_secs_f64()), ..failure }
}

impl Turn {
    /// A sub-agent's turn below `parent`: never past its deadline, cancelled with it or when the guard is dropped.
    fn below(
        parent: &Self,
        request: TurnRequest,
        lineage: Lineage,
        trace: TraceContext,
        limit: Option<Duration>,
    ) -> (Self, DropGuard) {
        let cancel = parent.cancel.child_token();
        let own =
            limit.map(|limit| (Instant::now() + limit, limit)).filter(|(deadline, _)| *deadline < parent.deadline);
        let (deadline, timeout) = own.unwrap_or((parent.deadline, parent.timeout));
        let turn = Self {
            services: Arc::clone(&parent.services),
            id: TurnId::fresh(parent.services.ids.as_ref()),
            message: MessageId::fresh(parent.services.ids.as_ref()),
            resumption: None,
            events: None,
            cancel: cancel.clone(),
            deadline,
            timeout,
            tool_result: parent.tool_result,
            began: Instant::now(),
            request,
            lineage,
            trace,
        };
        (turn, cancel.drop_guard())
    }

    /// Whether its own time is not over yet.
    fn has_time(&self) -> bool {
        Instant::now() < self.deadline
    }
}

/// The turn as one future of a known type: a turn may contain turns.
fn boxed(child: Turn) -> BoxFuture<'static, Result<Done, Failure>> {
    Box::pin(child.run())
}

fn request(turn: &Turn, id: &AgentId, prompt: &str) -> Result<TurnRequest, Unanswered> {
    if turn.lineage.agents.contains(id) {
        let message = format!("agent `{id}` is already at work on this request and cannot be asked again");
        return Err(Unanswered::refused("agent_cycle", message));
    }
    if turn.lineage.agents.len() > MAX_DEPTH {
        let message = format!("agent `{id}` was not asked: agents may call each other {MAX_DEPTH} deep");
        return Err(Unanswered::refused("agent_depth", message));
    }
    let Some(agent) = turn.request.snapshot.agent(id) else {
        let message = format!("agent `{id}` is not available at the moment");
        return Err(Unanswered::refused("agent_unavailable", message));
    };
    Ok(TurnRequest {
        agent: Arc::clone(agent),
        snapshot: Arc::clone(&turn.request.snapshot),
        key: ThreadKey {
            resource: turn.request.key.resource.clone(),
            thread: ThreadId::fresh(turn.services.ids.as_ref()),
        },
        owner_named: turn.request.owner_named,
        stored: turn.request.stored,
        input: Input { messages: vec![InputMessage { role: Role::User, parts: vec![Part::text(prompt)] }] },
        tools: ClientTools::default(),
        settings: ModelSettings::default(),
    })
}

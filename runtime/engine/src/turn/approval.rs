//! A person's say: calls that wait for it, and how a turn goes on from there.
//!
//! A call of a tool with `approval = "always"` ends the turn as suspended; its row holds the call without a result, and
//! nothing else is kept. Only a stored turn that a request began can wait: behind a sub-agent's turn stands a model, not
//! a person, and a turn that stores nothing has nowhere to wait. There such a call is refused, and its model is told.

use std::sync::Arc;

use roster_model::housekeeping::SessionStore;
use roster_model::id::ResourceId;
use roster_model::message::{Message, MessageStatus, Part, Role, Seq, ToolCall, ToolResult};
use roster_model::storage::{Begun, SaveAnswer, StoreError, StoreErrorKind};
use roster_model::suspension::{SuspendedTurn, open_calls};
use serde_json::Value;

use super::answer::Answer;
use super::context::Context;
use super::event::{Failure, FailureKind, FinishReason, TurnEvent};
use super::orchestrate::run_calls;
use super::run::{Resumption, Turn};
use super::services::Services;
use crate::memory::Memory;
use crate::trace::TraceContext;

/// What a person decided about a turn that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// About which call; `None`: about all that wait.
    pub call: Option<String>,
    /// Run it, or tell the model that it was declined.
    pub approved: bool,
    /// Why, for the model.
    pub reason: Option<String>,
}

/// What came of declining calls of a turn whose agent does not go on with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Declined {
    /// Of the calls that were declined now.
    pub results: Vec<ToolResult>,
    /// Whether other calls still wait.
    pub waits: bool,
}

/// Declines calls of a turn that its agent cannot go on with: it does not serve, or has no memory any more. The results
/// are stored, and no model is asked; whoever goes on with the conversation is told. A task of its own: a client that
/// leaves meanwhile does not leave the thread taken.
///
/// # Errors
/// `turn_not_found`, `turn_not_suspended` and `call_decided` when nothing waits; the store's failure.
pub async fn decline_for_good(
    services: &Arc<Services>,
    store: Arc<dyn SessionStore>,
    waiting: SuspendedTurn,
    verdict: Verdict,
) -> Result<Declined, Failure> {
    let tracker = &services.tracker;
    let services = Arc::clone(services);
    let declined = tracker.spawn(async move { decline(&services, store.as_ref(), &waiting, &verdict).await });
    let crashed = |_| Failure::new(FailureKind::Internal, "internal", "declining the call crashed");
    declined.await.map_err(crashed)?
}

async fn decline(
    services: &Services,
    store: &dyn SessionStore,
    waiting: &SuspendedTurn,
    verdict: &Verdict,
) -> Result<Declined, Failure> {
    let held = services.locks.acquire(&waiting.key).await;
    let resumed = store.resume_turn(&waiting.key.resource, &waiting.turn).await;
    let mut message = resumed.map_err(|error| not_resumed(&error, false))?.turn.row.message;
    let decided = verdict.of(&message.parts);
    let results: Vec<ToolResult> = decided.iter().map(|call| refused(call, &verdict.why())).collect();
    message.parts.extend(results.iter().cloned().map(Part::ToolResult));
    let waits = !open_calls(&message.parts).is_empty();
    message.status = if waits { MessageStatus::Suspended } else { MessageStatus::Interrupted };
    let save = SaveAnswer { key: waiting.key.clone(), turn: waiting.turn.clone(), message: Some(message), last: true };
    if let Err(error) = store.save_answer(save).await {
        tracing::error!(turn = %waiting.turn, kind = ?error.kind, %error, "a declined call could not be saved");
        let (key, turn) = (waiting.key.clone(), waiting.turn.clone());
        // The thread must not be lost with it.
        store.save_answer(SaveAnswer { key, turn, message: None, last: true }).await.ok();
        return Err(Failure::from(&error));
    }
    drop(held);
    if results.is_empty() { Err(call_decided()) } else { Ok(Declined { results, waits }) }
}

/// Somebody decided about this call in the moment between.
fn call_decided() -> Failure {
    let kind = FailureKind::Store(StoreErrorKind::Conflict);
    Failure::new(kind, "call_decided", "this call does not wait any more")
}

impl Verdict {
    /// The calls among these parts that it is about.
    fn of(&self, parts: &[Part]) -> Vec<ToolCall> {
        let open = open_calls(parts).into_iter();
        open.filter(|call| self.call.as_ref().is_none_or(|id| *id == call.id)).cloned().collect()
    }

    /// What a model is told of calls that were declined.
    fn why(&self) -> String {
        let declined = "A person declined this call, and it was not run.";
        match self.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty()) {
            Some(reason) => format!("{declined} Their reason: {reason}"),
            None => declined.to_owned(),
        }
    }
}

/// A call's result when it was not run.
fn refused(call: &ToolCall, why: &str) -> ToolResult {
    ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        output: Value::String(why.to_owned()),
        is_error: true,
        duration_ms: 0,
    }
}

/// Why a turn that waits was not taken up; `results`: it was for results of the client's own tools.
fn not_resumed(error: &StoreError, results: bool) -> Failure {
    let (code, message) = match error.kind {
        StoreErrorKind::NotFound => ("turn_not_found", "no turn of this id waits for approval"),
        StoreErrorKind::Conflict if results => (
            "results_not_awaited",
            "the turn does not wait for these results any more: they came before, or something newer did",
        ),
        StoreErrorKind::Conflict => ("turn_not_suspended", "the turn does not wait for approval any more"),
        _ => return Failure::from(error),
    };
    Failure::new(FailureKind::Store(error.kind), code, message)
}

const NOBODY_TO_ASK: &str = "this tool needs a person's approval, and nobody can be asked here: \
    the request has no stored conversation, or another agent made it. The call was not run";

impl Turn {
    /// Whether this call waits for a person. One whose arguments do not fit is not worth asking about.
    pub(super) fn must_ask(&self, call: &ToolCall) -> bool {
        self.can_ask() && self.needs_approval(call)
    }

    fn can_ask(&self) -> bool {
        self.remembers() && self.lineage.parent.is_none()
    }

    fn needs_approval(&self, call: &ToolCall) -> bool {
        let bound = self.request.agent.tools.find(&call.name);
        let fits = |call: &ToolCall| call.malformed.is_none();
        bound.is_some_and(|bound| bound.approval && fits(call) && bound.validator.check(&call.arguments).is_ok())
    }

    /// Runs the calls of a step that may run at once; gives why the turn ends when others wait, for a person or for the
    /// client.
    ///
    /// # Errors
    /// The store's failure.
    pub(super) async fn call_tools(
        &self,
        context: &Context,
        calls: Vec<ToolCall>,
        answer: &mut Answer,
        trace: &TraceContext,
    ) -> Result<Option<FinishReason>, Failure> {
        let (clients, calls): (Vec<_>, Vec<_>) = calls.into_iter().partition(|call| self.is_clients(call));
        let (guarded, free): (Vec<_>, Vec<_>) = calls.into_iter().partition(|call| self.needs_approval(call));
        run_calls(self, context, &free, answer, trace).await?;
        if !guarded.is_empty() && self.can_ask() {
            self.hold_back(&clients, answer).await?;
            return Ok(Some(FinishReason::Suspended));
        }
        self.refuse(&guarded, NOBODY_TO_ASK, "approval_unavailable", answer).await?;
        Ok((!clients.is_empty()).then_some(FinishReason::ClientCalls))
    }

    /// Answers calls without running them.
    pub(super) async fn refuse(
        &self,
        calls: &[ToolCall],
        why: &str,
        code: &'static str,
        answer: &mut Answer,
    ) -> Result<(), Failure> {
        for call in calls {
            let result = refused(call, why);
            let known = self.request.agent.tools.find(&call.name).map_or("unknown", |bound| bound.written.as_str());
            self.services.metrics.tool_call(known, code);
            answer.result(result.clone());
            self.save_running(answer).await?;
            self.emit(TurnEvent::ToolFinished(result)).await;
        }
        Ok(())
    }

    /// Takes the thread again and reads what is fed, as when the turn began.
    ///
    /// # Errors
    /// `turn_not_suspended` when somebody was faster; the store's failure, which ends the turn.
    pub(super) async fn reopen(&self) -> Result<(Context, Answer), Failure> {
        let Some(memory) = self.memory() else {
            return Err(Failure::new(FailureKind::Internal, "internal", "the agent has no memory any more"));
        };
        let resource: &ResourceId = &self.request.key.resource;
        // Not given up half-way: from here on this turn has to close what it took.
        let resumed = memory.store.resume_turn(resource, &self.id).await.map_err(|error| self.not_resumed(&error))?;
        let first = resumed.question.unwrap_or(resumed.turn.row.seq);
        let message = resumed.turn.row.message;
        if self.comes_too_late(&message.parts) {
            let message = Message { status: MessageStatus::Suspended, ..message };
            self.save_last(Some(message)).await?;
            return Err(call_decided());
        }
        let parts = message.parts;
        let read = self.within(async {
            let read = self.read_again(memory, first).await;
            read.map_err(|error| self.store_failed(&error))
        });
        let failure = match read.await {
            Ok((context, answer)) => return Ok((context, answer.resumed(parts))),
            Err(failure) => failure,
        };
        let answer = Answer::after(std::iter::empty(), true, self.cap()).resumed(parts);
        match self.close(Err(failure), answer).await {
            Err(failure) => Err(failure),
            Ok(_) => Err(Failure::new(FailureKind::Internal, "internal", "a failed turn ended well")),
        }
    }

    /// Whether the call that a person decided about was decided about before.
    fn comes_too_late(&self, parts: &[Part]) -> bool {
        matches!(&self.resumption, Some(Resumption::Verdict(verdict)) if verdict.of(parts).is_empty())
    }

    async fn read_again(&self, memory: &Memory, first: Seq) -> Result<(Context, Answer), StoreError> {
        let found = memory.store.around(&self.request.key, first, 0, 0).await?;
        let question = found.into_iter().map(|row| row.message).find(|message| message.role == Role::User);
        let question = question.unwrap_or_else(|| self.row(Role::User, Vec::new(), MessageStatus::Complete));
        let settings = self.settings();
        self.remembering(memory, settings, question, Vec::new(), &Begun { first, seeded: false }).await
    }

    fn not_resumed(&self, error: &StoreError) -> Failure {
        match error.kind {
            StoreErrorKind::NotFound | StoreErrorKind::Conflict => {
                not_resumed(error, matches!(self.resumption, Some(Resumption::Results(_))))
            }
            _ => self.store_failed(error),
        }
    }

    /// Does what the person decided; true when other calls still wait.
    ///
    /// # Errors
    /// The store's failure.
    pub(super) async fn decide(
        &self,
        verdict: &Verdict,
        context: &Context,
        answer: &mut Answer,
        trace: &TraceContext,
    ) -> Result<bool, Failure> {
        let decided = verdict.of(&answer.parts);
        if verdict.approved {
            run_calls(self, context, &decided, answer, trace).await?;
        } else {
            self.refuse(&decided, &verdict.why(), "declined", answer).await?;
        }
        let rest: Vec<ToolCall> = open_calls(&answer.parts).into_iter().cloned().collect();
        for call in &rest {
            let (id, name, arguments) = (call.id.clone(), call.name.clone(), call.arguments.clone());
            self.emit(TurnEvent::ToolCalled { id, name, arguments, approval: true }).await;
        }
        Ok(!rest.is_empty())
    }
}

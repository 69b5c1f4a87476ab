//! The walk of a turn.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use roster_model::id::{MessageId, TurnId};
use roster_model::message::{Role, ToolResult};
use roster_model::provider::{StopReason, Usage};
use roster_model::suspension::SuspendedTurn;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::answer::Answer;
use super::approval::Verdict;
use super::context::Context;
use super::event::{Failure, FailureKind, FinishReason, TurnEvent};
use super::lease;
use super::lock::Held;
use super::orchestrate::{self, Lineage};
use super::process;
use super::request::TurnRequest;
use super::running::Place;
use super::services::{Limits, Services, TurnRefused, TurnStream};
use super::step;
use crate::definition::OnDisconnect;
use crate::memory::Memory;
use crate::memory::transcript::ResultCap;
use crate::trace::{OpenSpan, TraceContext, TurnOutcome};

/// Events waiting for a slow client; a fuller queue makes the turn wait.
const QUEUE: usize = 64;

/// How long a client that does not read may keep the last event waiting.
const LAST_WORD: Duration = Duration::from_secs(30);

/// A turn under way.
pub(super) struct Turn {
    pub(super) services: Arc<Services>,
    pub(super) request: TurnRequest,
    pub(super) lineage: Lineage,
    pub(super) id: TurnId,
    pub(super) message: MessageId,
    /// What the turn goes on with, instead of beginning.
    pub(super) resumption: Option<Resumption>,
    /// Where events go; a sub-agent's go nowhere.
    pub(super) events: Option<mpsc::Sender<TurnEvent>>,
    pub(super) cancel: CancellationToken,
    pub(super) deadline: Instant,
    pub(super) timeout: Duration,
    /// Bytes of a tool's result that a model is fed, as it was when the request came.
    pub(super) tool_result: usize,
    pub(super) began: Instant,
    /// Where this turn stands in its trace: below the calling agent's tool span, or at the top.
    pub(super) trace: TraceContext,
}

/// What a turn that waited goes on with.
pub(super) enum Resumption {
    /// A person's decision.
    Verdict(Verdict),
    /// Results of the client's own tools.
    Results(Vec<ToolResult>),
}

/// A turn that came to its end.
pub(super) struct Done {
    pub(super) reason: FinishReason,
    pub(super) usage: Usage,
    /// The words of the last step.
    pub(super) text: String,
    /// The model that answered last, `provider/model`.
    pub(super) model: Option<String>,
}

/// Begins a turn on the tracker and gives its receiving end.
///
/// # Errors
/// [`TurnRefused`]: nothing was read, stored or asked.
pub fn start(services: &Arc<Services>, request: TurnRequest) -> Result<TurnStream, TurnRefused> {
    if services.draining.is_cancelled() {
        return Err(TurnRefused::Draining);
    }
    if !request.input.messages.iter().any(|message| message.role == Role::User) {
        return Err(TurnRefused::NoQuestion);
    }
    let (id, message) = (TurnId::fresh(services.ids.as_ref()), MessageId::fresh(services.ids.as_ref()));
    launch(services, request, (id, message), None)
}

/// Goes on with a turn that waits for a person, who decided.
///
/// # Errors
/// [`TurnRefused`]: nothing was changed.
pub fn resume(
    services: &Arc<Services>,
    request: TurnRequest,
    waiting: &SuspendedTurn,
    verdict: Verdict,
) -> Result<TurnStream, TurnRefused> {
    resume_with(services, request, waiting, Resumption::Verdict(verdict))
}

/// Goes on with a turn that waits.
pub(super) fn resume_with(
    services: &Arc<Services>,
    request: TurnRequest,
    waiting: &SuspendedTurn,
    resumption: Resumption,
) -> Result<TurnStream, TurnRefused> {
    if services.draining.is_cancelled() {
        return Err(TurnRefused::Draining);
    }
    launch(services, request, (waiting.turn.clone(), waiting.row.message.id.clone()), Some(resumption))
}

fn launch(
    services: &Arc<Services>,
    request: TurnRequest,
    (id, message): (TurnId, MessageId),
    resumption: Option<Resumption>,
) -> Result<TurnStream, TurnRefused> {
    let cancel = CancellationToken::new();
    let place = services.place(&request.key, &cancel).ok_or(TurnRefused::Busy)?;
    let Limits { turn_timeout: timeout, tool_result, .. } = services.limits();
    let (sender, events) = mpsc::channel(QUEUE);
    let finishes_anyway = request.agent.definition.on_disconnect == OnDisconnect::Finish;
    let turn = Turn {
        services: Arc::clone(services),
        lineage: Lineage::root(&request.agent.definition.id),
        id,
        message,
        resumption,
        events: Some(sender),
        cancel: cancel.clone(),
        deadline: Instant::now() + timeout,
        timeout,
        tool_result,
        began: Instant::now(),
        trace: services.trace(),
        request,
    };
    let stream = TurnStream {
        turn: turn.id.clone(),
        key: turn.request.key.clone(),
        message: turn.message.clone(),
        events,
        _guard: (!finishes_anyway).then(|| cancel.drop_guard()),
    };
    services.tracker.spawn(async move {
        turn.run_and_tell(place).await;
    });
    Ok(stream)
}

// === impl Turn ===

impl Turn {
    /// Tells the client. A client that left is no failure here: cancelling is the token's business.
    pub(super) async fn emit(&self, event: TurnEvent) {
        if let Some(events) = &self.events {
            let _ = events.send(event).await;
        }
    }

    /// The one place where memory is matched.
    pub(super) fn memory(&self) -> Option<&Memory> {
        self.request.agent.memory.as_ref().filter(|_| self.request.stored)
    }

    /// Whether this turn reads and writes a thread.
    pub(super) fn remembers(&self) -> bool {
        self.memory().is_some()
    }

    /// How much of a tool's result its model is fed.
    pub(super) fn cap(&self) -> ResultCap {
        ResultCap::new(self.tool_result, self.remembers())
    }

    async fn run_and_tell(self, place: Place) {
        let events = self.events.clone();
        let (agent, turn) = (self.request.agent.definition.id.to_string(), self.id.to_string());
        let lease = self.lease();
        let last = match AssertUnwindSafe(self.run()).catch_unwind().await {
            Ok(Ok(done)) => TurnEvent::Finished { reason: done.reason, usage: done.usage },
            Ok(Err(failure)) => {
                if failure.is_news() {
                    tracing::warn!(agent, turn, code = failure.code, message = failure.message, "turn failed");
                }
                TurnEvent::Failed(failure)
            }
            Err(_panic) => {
                lease::give_back(lease).await;
                tracing::error!("a turn crashed; only this turn ended");
                TurnEvent::Failed(Failure::new(FailureKind::Internal, "internal", "the turn crashed"))
            }
        };
        // The turn is over for everybody but a client that does not read; it gets a moment, and no place among the turns.
        drop(place);
        if let Some(events) = events {
            let _ = tokio::time::timeout(LAST_WORD, events.send(last)).await;
        }
    }

    /// The whole walk, observed. Whatever way it ends, what was said is stored and the thread is free again.
    pub(super) async fn run(self) -> Result<Done, Failure> {
        let mut span = self.open_span();
        let done = self.walk(&span.below()).await;
        let (outcome, code) = match &done {
            Ok(done) if done.reason.waits() => (TurnOutcome::Suspended, None),
            Ok(_) => (TurnOutcome::Finished, None),
            Err(failure) if failure.kind == FailureKind::Cancelled => (TurnOutcome::Interrupted, Some(failure.code)),
            Err(failure) => (TurnOutcome::Failed, Some(failure.code)),
        };
        let usage = done.as_ref().map_or_else(|failure| failure.usage, |done| done.usage);
        step::note_usage(&mut span, usage);
        if !done.as_ref().is_err_and(Failure::is_late) {
            let agent = self.request.agent.definition.id.as_str();
            self.services.metrics.turn(agent, outcome, self.began.elapsed());
        }
        span.close(code);
        done
    }

    fn open_span(&self) -> OpenSpan {
        let agent = &self.request.agent;
        let id = agent.definition.id.as_str();
        let mut span = self.trace.open("invoke_agent", id);
        span.set("gen_ai.agent.id", id);
        span.set("gen_ai.conversation.id", self.request.key.thread.as_str());
        span.set("roster.resource", self.request.key.resource.as_str());
        span.set("roster.turn", self.id.as_str());
        span.set("roster.generation", self.request.snapshot.generation);
        span.set("roster.fingerprint", agent.definition.fingerprint.as_str());
        span
    }

    async fn walk(&self, trace: &TraceContext) -> Result<Done, Failure> {
        self.ready()?;
        // The first model call is paid for before anything is stored: a flood of sub-agent calls leaves no threads behind.
        self.pay()?;
        let held = self.within(self.hold_thread()).await?;
        let opened = match &self.resumption {
            None => self.within(self.open()).await,
            Some(_) => self.reopen().await,
        };
        let (mut context, mut answer) = match opened {
            Ok(opened) => opened,
            Err(failure) => {
                // The question may have been stored just before: give the thread back.
                let question_stored = lease::give_back(self.lease()).await;
                return Err(Failure { question_stored, ..failure });
            }
        };
        let started =
            TurnEvent::Started { turn: self.id.clone(), key: self.request.key.clone(), message: self.message.clone() };
        let outcome = self
            .within(async {
                self.emit(started).await;
                process::input(self, &mut context).await?;
                context.cut(self.cap());
                self.work(&mut context, &mut answer, trace).await
            })
            .await;
        let outcome = process::output(self, outcome, &mut answer).await;
        let calls = std::mem::take(&mut answer.model_calls);
        let model = calls.last().map(|call| call.model.clone());
        let closed = self.close(outcome, answer).await.map(|done| Done { model, ..done });
        drop(held);
        if let Some(remembered) = context.remembered.take() {
            match &closed {
                Ok(done) if done.reason.waits() => self.leave_waiting(&remembered, &calls),
                closed => self.leave(remembered, &calls, closed.as_ref().ok().map(|done| done.text.as_str())),
            }
        }
        closed
    }

    /// Takes one model call from the budget of the whole request.
    fn pay(&self) -> Result<(), Failure> {
        if self.lineage.spend() {
            return Ok(());
        }
        let message = format!("the request used up its {} model calls", orchestrate::TREE_BUDGET);
        Err(Failure::new(FailureKind::Budget, "budget_exhausted", message))
    }

    /// At least one model can be asked.
    fn ready(&self) -> Result<(), Failure> {
        let mut first = None;
        for bound in &self.request.agent.models {
            match bound.provider.ready() {
                Ok(()) => return Ok(()),
                Err(error) => first = first.or(Some(error)),
            }
        }
        first.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Runs `work` until it is done, the client leaves, time is up or the runtime stops. Finished work always wins.
    pub(super) async fn within<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        tokio::select! {
            biased;
            result = work => result,
            () = self.cancel.cancelled() => Err(Failure::cancelled()),
            () = self.services.stop.cancelled() => {
                let mut failure = Failure::cancelled();
                failure.message = "the runtime is stopping".to_owned();
                Err(failure)
            }
            () = tokio::time::sleep_until(self.deadline) => {
                let seconds = self.timeout.as_secs_f64();
                Err(Failure::new(FailureKind::Timeout, "turn_timeout", format!("the turn took longer than {seconds} s")))
            }
        }
    }

    async fn hold_thread(&self) -> Result<Option<Held>, Failure> {
        Ok(match self.memory() {
            Some(_) => Some(self.services.locks.acquire(&self.request.key).await),
            None => None,
        })
    }

    /// Model calls and tools, until the model is done or `max_steps` is reached.
    pub(super) async fn converse(
        &self,
        context: &Context,
        answer: &mut Answer,
        trace: &TraceContext,
    ) -> Result<FinishReason, Failure> {
        let mut most = self.request.agent.definition.max_steps.max(1);
        match &self.resumption {
            None => {}
            Some(Resumption::Verdict(verdict)) => {
                let waits_again = self.decide(verdict, context, answer, trace).await?;
                if waits_again {
                    return Ok(FinishReason::Suspended);
                }
            }
            Some(Resumption::Results(results)) => {
                self.take_results(results, answer).await?;
                // Each request of the client's has the steps of one.
                most = most.saturating_add(answer.steps());
            }
        }
        let first = answer.steps();
        while answer.steps() < most {
            if answer.steps() > first {
                self.pay()?;
            }
            let step = step::run(self, context, answer, trace).await?;
            if step.rejected {
                most = most.saturating_add(1);
                continue;
            }
            if step.calls.is_empty() || step.reason == StopReason::ContentFilter {
                return Ok(step.reason.into());
            }
            // On record before a tool may do something: a killed process leaves what it may have done.
            self.save_running(answer).await?;
            if let Some(reason) = self.call_tools(context, step.calls, answer, trace).await? {
                return Ok(reason);
            }
        }
        Ok(FinishReason::ToolCalls)
    }
}

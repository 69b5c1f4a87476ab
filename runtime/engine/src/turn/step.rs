//! One model call: asked, read to its end, told to the client as it comes.

use std::sync::Arc;

use futures_util::StreamExt;
use roster_model::message::ToolCall;
use roster_model::processor::Row;
use roster_model::provider::{
    Attempts, Circuit, Delta, DeltaStream, ProviderError, ProviderErrorKind, StopReason, Usage,
};
use tokio::time::Instant;

use super::answer::{Answer, OpenCall};
use super::context::Context;
use super::event::{Failure, TurnEvent};
use super::process::{self, Pieces};
use super::run::Turn;
use crate::registry::BoundModel;
use crate::trace::{OpenSpan, TraceContext};

/// What a model call came to.
pub(super) struct Step {
    pub(super) reason: StopReason,
    pub(super) calls: Vec<ToolCall>,
    /// The answer was not accepted: the model is asked once more.
    pub(super) rejected: bool,
}

/// A model that began to answer.
struct Begun {
    delta: Delta,
    stream: DeltaStream,
    span: OpenSpan,
    bound: BoundModel,
}

/// Asks the agent's models in their order until one begins to answer.
async fn open(
    turn: &Turn,
    context: &Context,
    said: &[Row],
    answer: &mut Answer,
    trace: &TraceContext,
) -> Result<Begun, ProviderError> {
    let agent = &turn.request.agent;
    let mut last = ProviderError::new(ProviderErrorKind::NotFound, "the agent has no model");
    for bound in &agent.models {
        let asked = Instant::now();
        answer.asked(&bound.name, turn.services.clock.now(), said);
        let mut span = trace.open("chat", bound.shown());
        span.set("gen_ai.provider.name", bound.provider.name());
        span.set("gen_ai.request.model", bound.shown());
        let completion = context.completion(&turn.request, &bound.model, said, turn.cap());
        let attempts = Arc::clone(&completion.attempts);
        let begun = first_delta(bound, completion).await;
        note_attempts(turn, bound, &attempts, &mut span);
        match begun {
            Ok((delta, stream)) => {
                turn.services.metrics.first_token(asked.elapsed());
                return Ok(Begun { delta, stream, span, bound: bound.clone() });
            }
            Err(error) => {
                turn.services.metrics.model_call(&bound.name, error.kind.code(), error.usage);
                span.close(Some(error.kind.code()));
                tracing::warn!(agent = %agent.definition.id, model = %bound.name, code = error.kind.code(), %error, "model call failed");
                let refused = matches!(error.kind, ProviderErrorKind::BadRequest | ProviderErrorKind::ContentFilter);
                last = error;
                if refused {
                    break;
                }
            }
        }
    }
    Err(last)
}

/// What the provider tried again, and whether it is asked at all.
fn note_attempts(turn: &Turn, bound: &BoundModel, attempts: &Attempts, span: &mut OpenSpan) {
    let codes: Vec<&str> = attempts.failed().iter().map(|failed| failed.kind.code()).collect();
    for code in &codes {
        turn.services.metrics.model_retry(&bound.name, code);
    }
    if !codes.is_empty() {
        span.set("roster.retries", codes);
    }
    note_circuit(turn, bound, span);
}

fn note_circuit(turn: &Turn, bound: &BoundModel, span: &mut OpenSpan) {
    let circuit = bound.provider.circuit();
    turn.services.metrics.circuit(bound.provider.name(), circuit);
    if circuit != Circuit::Closed {
        span.set("roster.provider.circuit", circuit.as_str());
    }
}

async fn first_delta(
    bound: &BoundModel,
    completion: roster_model::provider::Completion,
) -> Result<(Delta, DeltaStream), ProviderError> {
    let mut stream = bound.provider.complete(completion).await?;
    match stream.next().await {
        Some(Ok(delta)) => Ok((delta, stream)),
        Some(Err(error)) => Err(error),
        None => Err(no_end()),
    }
}

fn no_end() -> ProviderError {
    ProviderError::new(ProviderErrorKind::Truncated, "the model's answer broke off")
}

/// Bytes one turn may say, calls and thinking included. No model's answer is longer; an endless stream is.
pub(super) const MOST_BYTES: usize = 8 * 1024 * 1024;
/// Calls of one step.
const MOST_CALLS: usize = 128;

/// An answer past a bound: what was said up to it is kept, the rest is not waited for.
fn too_much(what: &str) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Protocol, format!("the model's answer was cut off: {what}"))
}

/// Runs one model call. What it says is in `answer` also when it fails or is dropped half-way.
pub(super) async fn run(
    turn: &Turn,
    context: &Context,
    answer: &mut Answer,
    trace: &TraceContext,
) -> Result<Step, Failure> {
    answer.begin_step();
    let said = process::fed(turn, answer).await?;
    let mut begun = open(turn, context, &said, answer, trace).await?;
    let read = read(turn, answer, &mut begun).await;
    let (outcome, usage) = match &read {
        Ok((_, usage)) => ("ok", *usage),
        Err(broken) => (broken.code(), broken.usage()),
    };
    answer.spend(usage);
    note_usage(&mut begun.span, usage);
    turn.services.metrics.model_call(&begun.bound.name, outcome, usage);
    note_circuit(turn, &begun.bound, &mut begun.span);
    begun.span.close((outcome != "ok").then_some(outcome));
    let (mut step, usage) = read?;
    step.rejected = turn.check_output(&step, answer).await?;
    turn.emit(TurnEvent::StepFinished { reason: step.reason, usage }).await;
    Ok(step)
}

/// Why an answer was not read to its end.
enum Broken {
    Model(ProviderError),
    Processor(Failure),
}

impl Broken {
    fn code(&self) -> &'static str {
        match self {
            Self::Model(error) => error.kind.code(),
            Self::Processor(failure) => failure.code,
        }
    }

    fn usage(&self) -> Usage {
        match self {
            Self::Model(error) => error.usage,
            Self::Processor(failure) => failure.usage,
        }
    }
}

impl From<ProviderError> for Broken {
    fn from(error: ProviderError) -> Self {
        Self::Model(error)
    }
}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Model(error) => error.into(),
            Broken::Processor(failure) => failure,
        }
    }
}

async fn read(turn: &Turn, answer: &mut Answer, begun: &mut Begun) -> Result<(Step, Usage), Broken> {
    let mut pieces = Pieces::of(turn);
    let mut open_calls: Vec<OpenCall> = Vec::new();
    let mut delta = std::mem::replace(&mut begun.delta, Delta::Text(String::new()));
    loop {
        if let Delta::End { reason, usage, model } = delta {
            if let Some(model) = model.filter(|_| !begun.bound.is_hidden()) {
                begun.span.set("gen_ai.response.model", model);
            }
            let rest = pieces.end(turn).await.map_err(Broken::Processor)?;
            say(turn, answer, rest).await;
            let calls = finish_calls(turn, answer, open_calls).await;
            return Ok((Step { reason, calls, rejected: false }, usage));
        }
        if matches!(delta, Delta::ToolCall { .. }) && open_calls.len() >= MOST_CALLS {
            return Err(too_much(&format!("more than {MOST_CALLS} tool calls at once")).into());
        }
        if !answer.has_room(&delta) {
            return Err(too_much(&format!("more than {} MiB", MOST_BYTES / (1024 * 1024))).into());
        }
        let words = match delta {
            Delta::Text(ref mut piece) => pieces.pass(turn, std::mem::take(piece)).await,
            Delta::ToolArguments { .. } => Ok(String::new()),
            _ => pieces.end(turn).await,
        };
        say(turn, answer, words.map_err(Broken::Processor)?).await;
        take(turn, answer, &mut open_calls, delta).await;
        delta = match begun.stream.next().await {
            Some(next) => next?,
            None => return Err(no_end().into()),
        };
    }
}

/// Words that may go on; those of an answer that has to fit a form wait until it is checked.
async fn say(turn: &Turn, answer: &mut Answer, words: String) {
    if !words.is_empty() {
        answer.text(&words);
        if !turn.holds_back() {
            turn.emit(TurnEvent::Text(words)).await;
        }
    }
}

/// Tokens as the conventions name them.
pub(super) fn note_usage(span: &mut OpenSpan, usage: Usage) {
    for (key, count) in
        [("gen_ai.usage.input_tokens", usage.input_tokens), ("gen_ai.usage.output_tokens", usage.output_tokens)]
    {
        if let Some(count) = count {
            span.set(key, count);
        }
    }
}

async fn take(turn: &Turn, answer: &mut Answer, open_calls: &mut Vec<OpenCall>, delta: Delta) {
    match delta {
        Delta::Reasoning(piece) => {
            answer.reasoning(&piece);
            turn.emit(TurnEvent::Reasoning(piece)).await;
        }
        Delta::ReasoningOpaque(value) => answer.reasoning_opaque(value),
        Delta::ToolCall { id, name, .. } => {
            let id = answer.call_id(id, turn.services.ids.as_ref());
            open_calls.push(OpenCall { id: id.clone(), name: name.clone(), text: String::new() });
            turn.emit(TurnEvent::ToolStarted { id, name }).await;
        }
        Delta::ToolArguments { index, fragment } => {
            if let Some(open) = open_calls.get_mut(index) {
                open.text.push_str(&fragment);
                turn.emit(TurnEvent::ToolArguments { id: open.id.clone(), fragment }).await;
            }
        }
        Delta::Text(_) | Delta::End { .. } => {}
    }
}

async fn finish_calls(turn: &Turn, answer: &mut Answer, open_calls: Vec<OpenCall>) -> Vec<ToolCall> {
    let mut calls = Vec::with_capacity(open_calls.len());
    for open in open_calls {
        let call = answer.call(open);
        turn.emit(TurnEvent::ToolCalled {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            approval: turn.must_ask(&call),
        })
        .await;
        calls.push(call);
    }
    calls
}

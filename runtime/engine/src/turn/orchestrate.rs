//! The calls of a step: tools, and other agents as tools.
//!
//! A sub-agent runs under a thread of its own below the parent's, with its own memory, and never writes into the
//! parent's. The depth, re-entering an ancestor and the number of model calls of the whole tree are bounded: past a
//! bound the call fails and the calling model is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use roster_model::id::{AgentId, ThreadId};
use roster_model::message::{ToolCall, ToolResult};
use roster_model::tool::{ToolContext, ToolError};
use serde_json::Value;

use super::answer::Answer;
use super::ask::ask;
use super::context::Context;
use super::event::{Failure, TurnEvent};
use super::pattern::StageReport;
use super::run::Turn;
use crate::tool::{BoundTool, Target, dispatch, parse_arguments};
use crate::trace::TraceContext;

/// Levels of sub-agents below the agent that was asked.
pub(super) const MAX_DEPTH: usize = 3;
/// Model calls of one request, those of all its sub-agents included.
pub(super) const TREE_BUDGET: u32 = 64;

/// Where a turn stands in the tree of agents calling agents.
#[derive(Clone)]
pub(super) struct Lineage {
    /// From the agent that was asked down to this one.
    pub(super) agents: Vec<AgentId>,
    /// Model calls left for the whole tree.
    pub(super) budget: Arc<AtomicU32>,
    /// The thread of the calling agent.
    pub(super) parent: Option<ThreadId>,
}

impl Lineage {
    pub(super) fn root(agent: &AgentId) -> Self {
        Self { agents: vec![agent.clone()], budget: Arc::new(AtomicU32::new(TREE_BUDGET)), parent: None }
    }

    /// Takes one model call from the budget; false when there is none left.
    pub(super) fn spend(&self) -> bool {
        self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

/// Runs a step's calls at once. Each result is in `answer`, and on record, as soon as it is there: a killed process
/// leaves what its tools did.
///
/// # Errors
/// The store's failure; calls still running are given up.
pub(super) async fn run_calls(
    turn: &Turn,
    context: &Context,
    calls: &[ToolCall],
    answer: &mut Answer,
    trace: &TraceContext,
) -> Result<(), Failure> {
    let mut running: FuturesUnordered<_> = calls.iter().map(|call| run_call(turn, context, call, trace)).collect();
    while let Some((result, stage)) = running.next().await {
        answer.result(result.clone());
        if let Some(stage) = stage {
            answer.spend_below(stage.usage);
            answer.stages.push(stage);
        }
        turn.save_running(answer).await?;
        turn.emit(TurnEvent::ToolFinished(result)).await;
    }
    Ok(())
}

/// The call's result, and what another agent did where one was asked.
async fn run_call(
    turn: &Turn,
    context: &Context,
    call: &ToolCall,
    trace: &TraceContext,
) -> (ToolResult, Option<StageReport>) {
    let began = tokio::time::Instant::now();
    // A name the model made up is no label: it would let a model grow the counters and write into traces.
    let bound = turn.request.agent.tools.find(&call.name);
    let (offered, written) = bound.map_or(("unknown", "unknown"), |bound| (&bound.offered.name, &bound.written));
    let mut span = trace.open("execute_tool", offered);
    span.set("gen_ai.tool.name", offered);
    span.set("gen_ai.tool.call.id", call.id.as_str());
    let mut stage = None;
    let outcome = attempt(turn, context, call, &span.below(), &mut stage).await;
    let code = outcome.as_ref().err().map(|error| error.code);
    turn.services.metrics.tool_call(written, code.unwrap_or("ok"));
    span.close(code);
    let (output, is_error) = match outcome {
        Ok(output) => (output, false),
        Err(error) => (Value::String(error.message), true),
    };
    let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    (ToolResult { call_id: call.id.clone(), name: call.name.clone(), output, is_error, duration_ms }, stage)
}

async fn attempt(
    turn: &Turn,
    context: &Context,
    call: &ToolCall,
    trace: &TraceContext,
    stage: &mut Option<StageReport>,
) -> Result<Value, ToolError> {
    let Some(bound) = turn.request.agent.tools.find(&call.name) else {
        return Err(unknown_tool(turn, &call.name));
    };
    let invalid = |message: String| ToolError { code: "invalid_arguments", message };
    if let Some(text) = &call.malformed {
        let fault = parse_arguments(text).err().map(|fault| fault.message).unwrap_or_default();
        return Err(invalid(format!("{fault} of the form {}", bound.offered.input_schema)));
    }
    bound.validator.check(&call.arguments).map_err(|fault| invalid(fault.message))?;
    match &bound.target {
        Target::WorkingMemory => write_down(turn, context, bound, call).await,
        Target::Agent(id) => delegate(turn, id, call, trace, stage).await,
        Target::Tool(tool) => {
            let context = ToolContext {
                agent: turn.request.agent.definition.id.clone(),
                turn: turn.id.clone(),
                key: turn.remembers().then(|| turn.request.key.clone()),
                call_id: call.id.clone(),
            };
            dispatch(bound, tool.as_ref(), call.arguments.clone(), context).await
        }
    }
}

/// Asks another agent; its last words are the result.
async fn delegate(
    turn: &Turn,
    id: &AgentId,
    call: &ToolCall,
    trace: &TraceContext,
    stage: &mut Option<StageReport>,
) -> Result<Value, ToolError> {
    let began = tokio::time::Instant::now();
    let definition = &turn.request.agent.definition;
    let limit = definition.orchestration.as_ref().map(|plan| plan.stage_timeout);
    let prompt = call.arguments.get("prompt").and_then(Value::as_str).unwrap_or_default();
    let asked = ask(turn, id, prompt, limit, trace).await;
    let told = match &asked {
        Ok(done) => Ok(Value::String(done.text.clone())),
        Err(unanswered) => Err(unanswered.error.clone()),
    };
    let role = definition.role_of(id).unwrap_or(id.as_str());
    *stage = Some(StageReport::of(role, id.as_str(), began, asked));
    told
}

/// Writes the working memory.
async fn write_down(turn: &Turn, context: &Context, bound: &BoundTool, call: &ToolCall) -> Result<Value, ToolError> {
    let refuse = |code, message: &str| Err(ToolError { code, message: message.to_owned() });
    let (Some(memory), Some(working)) = (turn.memory(), &context.working) else {
        return refuse("no_memory", "this request has no memory; nothing was written");
    };
    let update = call.arguments.get("memory").unwrap_or(&Value::Null);
    match tokio::time::timeout(bound.timeout, working.update(memory.store.as_ref(), update)).await {
        Ok(outcome) => outcome,
        Err(_) => refuse("timeout", "the working memory could not be written in time"),
    }
}

fn unknown_tool(turn: &Turn, name: &str) -> ToolError {
    let known: Vec<_> = turn.request.agent.tools.iter().map(|tool| format!("`{}`", tool.offered.name)).collect();
    let known = if known.is_empty() { "there are none".to_owned() } else { format!("there are {}", known.join(", ")) };
    ToolError { code: "unknown_tool", message: format!("there is no tool `{name}`; {known}") }
}

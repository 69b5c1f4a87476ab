//! Fixed patterns: stages done by other agents, one result for all of them.
//!
//! Each stage is told to the client as a tool call of its own as it begins and ends. The whole is one call named
//! [`ORCHESTRATE`], whose result is the [`Report`]; it is on record after each stage, so that a killed process leaves what
//! its stages did. [`prompt`] is what a stage is told, [`stage`] runs one, [`report`] is what came of it.

mod parallel;
mod pipeline;
mod prompt;
mod report;
mod stage;

use roster_model::message::{Role, ToolCall, ToolResult};
use roster_model::provider::Usage;
use serde_json::{Value, json};

use super::answer::Answer;
use super::context::Context;
use super::event::{Failure, FailureKind, FinishReason, TurnEvent};
use super::run::Turn;
use crate::definition::orchestration::ORCHESTRATE;
use crate::definition::{Orchestration, Pattern};
use crate::trace::TraceContext;

use report::Report;
pub(super) use report::StageReport;

impl Turn {
    /// The work of the turn: the definition's pattern, or the model with its tools.
    pub(super) async fn work(
        &self,
        context: &mut Context,
        answer: &mut Answer,
        trace: &TraceContext,
    ) -> Result<FinishReason, Failure> {
        let plan = self.request.agent.definition.orchestration.as_ref();
        let delegates = plan.is_some_and(|plan| plan.pattern == Pattern::Delegate);
        // A turn that waited goes on where it was: its stages ran before.
        if self.resumption.is_some() && !delegates {
            return parallel::go_on(self, context, answer, trace).await;
        }
        let Some(orchestration) = plan else {
            return self.converse(context, answer, trace).await;
        };
        let whole = Whole::new(self, orchestration, self.task(context));
        match orchestration.pattern {
            Pattern::Delegate => delegate(whole, context, answer, trace).await,
            Pattern::Parallel => parallel::run(whole, context, answer, trace).await,
            Pattern::Pipeline => pipeline::run(whole, answer, trace).await,
        }
    }

    /// The newest question's words; a turn that goes on finds them in its conversation.
    fn task(&self, context: &Context) -> String {
        let asked = self.request.input.messages.iter().rev().find(|message| message.role == Role::User);
        let stored = || context.rows.iter().rev().find(|(role, _)| *role == Role::User).map(|(_, parts)| parts);
        let parts = asked.map(|message| &message.parts).or_else(stored);
        parts.map(|parts| super::open::text_of(parts)).unwrap_or_default()
    }
}

/// The model decides; what it had done by others is told at the end, where it had anything done. A turn that waits has it
/// on record until then.
async fn delegate(
    mut whole: Whole<'_>,
    context: &Context,
    answer: &mut Answer,
    trace: &TraceContext,
) -> Result<FinishReason, Failure> {
    let earlier = answer.orchestration();
    let reason = whole.turn.converse(context, answer, trace).await?;
    whole.report.stages = std::mem::take(&mut answer.stages);
    if whole.report.stages.is_empty() && earlier.is_none() {
        return Ok(reason);
    }
    if !reason.waits() {
        whole.report.final_draft = answer.last_text();
    }
    let mut result = whole.result();
    match earlier {
        None => answer.fixed_call(whole.call.clone()),
        Some(earlier) => {
            stages_before(&mut result.output, &earlier.output);
            whole.call.id.clone_from(&earlier.call_id);
            result.call_id = earlier.call_id;
        }
    }
    answer.fixed_result(result.clone());
    if !reason.waits() {
        whole.turn.tell_call(&whole.call).await;
        whole.turn.emit(TurnEvent::ToolFinished(result)).await;
    }
    Ok(reason)
}

/// Puts the stages of an earlier report in front.
fn stages_before(report: &mut Value, earlier: &Value) {
    let of = |report: &Value| report["stages"].as_array().cloned().unwrap_or_default();
    let stages = [of(earlier), of(report)].concat();
    report["stages"] = stages.into();
}

/// An orchestration under way.
struct Whole<'a> {
    turn: &'a Turn,
    plan: &'a Orchestration,
    /// The call that stands for the whole.
    call: ToolCall,
    report: Report,
    began: tokio::time::Instant,
}

impl<'a> Whole<'a> {
    fn new(turn: &'a Turn, plan: &'a Orchestration, task: String) -> Self {
        let arguments = json!({ "pattern": plan.pattern.as_str(), "task": task });
        let call = ToolCall {
            id: format!("call_{:032x}", turn.services.ids.fresh()),
            name: ORCHESTRATE.to_owned(),
            arguments: arguments.as_object().cloned().unwrap_or_default(),
            malformed: None,
        };
        let report = Report { pattern: plan.pattern.as_str(), task, stages: Vec::new(), final_draft: String::new() };
        Self { turn, plan, call, report, began: tokio::time::Instant::now() }
    }

    /// Tells that it begins.
    async fn begin(&self, answer: &mut Answer) -> Result<(), Failure> {
        answer.fixed_call(self.call.clone());
        self.turn.tell_call(&self.call).await;
        self.turn.save_running(answer).await
    }

    /// Puts what is known so far on record.
    async fn save(&self, answer: &mut Answer) -> Result<(), Failure> {
        answer.fixed_result(self.result());
        self.turn.save_running(answer).await
    }

    /// Tells what came of it.
    async fn end(&self, answer: &mut Answer) {
        let result = self.result();
        answer.fixed_result(result.clone());
        self.turn.emit(TurnEvent::ToolFinished(result)).await;
    }

    /// An orchestration in which nobody gave an answer fails, as its first stage did.
    fn somebody_answered(&self) -> Result<(), Failure> {
        let stages = &self.report.stages;
        if stages.iter().any(StageReport::completed) {
            return Ok(());
        }
        let failed = stages.iter().find(|stage| stage.error.is_some());
        let about = |stage: &StageReport| {
            let (role, agent) = (&stage.role, &stage.agent_id);
            format!("no stage gave an answer; the {role} (`{agent}`): {}", stage.fault())
        };
        let message = failed.map(about).unwrap_or_default();
        let first = failed.and_then(|stage| stage.failure.clone());
        let first = first.unwrap_or_else(|| Failure::new(FailureKind::Budget, "stages_failed", ""));
        Err(Failure { message, usage: Usage::default(), row: None, ..first })
    }

    fn result(&self) -> ToolResult {
        ToolResult {
            call_id: self.call.id.clone(),
            name: self.call.name.clone(),
            output: serde_json::to_value(&self.report).unwrap_or(Value::Null),
            is_error: false,
            duration_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl Turn {
    /// Says words that no model said.
    async fn say(&self, answer: &mut Answer, words: String) {
        if !words.is_empty() {
            answer.text(&words);
            self.emit(TurnEvent::Text(words)).await;
        }
    }
}

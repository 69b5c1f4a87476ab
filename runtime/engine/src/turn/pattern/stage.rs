//! One stage: another agent asked, told to the client as a tool call.

use roster_model::message::{ToolCall, ToolResult};
use roster_model::provider::Usage;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::prompt::verdict;
use super::report::{Meta, StageError, StageReport, StageStatus};
use crate::definition::Stage;
use crate::tool::offered_name;
use crate::trace::TraceContext;
use crate::turn::ask::{Unanswered, ask};
use crate::turn::event::TurnEvent;
use crate::turn::run::{Done, Turn};

impl StageReport {
    /// What came of asking `agent` as `role`.
    pub(in crate::turn) fn of(role: &str, agent: &str, began: Instant, asked: Result<Done, Unanswered>) -> Self {
        let base = Self {
            role: role.to_owned(),
            agent_id: agent.to_owned(),
            status: StageStatus::Completed,
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            model: None,
            usage: Usage::default(),
            output: String::new(),
            error: None,
            meta: Meta::default(),
            failure: None,
        };
        match asked {
            Ok(done) => Self { model: done.model, usage: done.usage, output: done.text, ..base },
            Err(unanswered) => {
                let usage = unanswered.usage();
                let Unanswered { error, failure } = unanswered;
                // The agent's own failure says more than that it failed.
                let told = failure.as_ref().map(|failure| (failure.code, failure.message.clone()));
                let (code, message) = told.unwrap_or((error.code, error.message));
                let error = Some(StageError { code, message });
                Self { status: StageStatus::Failed, usage, error, failure, ..base }
            }
        }
    }

    /// A stage that had nothing to work on.
    pub(super) fn skipped(stage: &Stage, why: &str) -> Self {
        Self {
            role: stage.role.clone(),
            agent_id: stage.agent.to_string(),
            status: StageStatus::Skipped,
            duration_ms: 0,
            model: None,
            usage: Usage::default(),
            output: String::new(),
            error: Some(StageError { code: "skipped", message: why.to_owned() }),
            meta: Meta::default(),
            failure: None,
        }
    }
}

/// What a stage is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// To write.
    Write,
    /// To write anew, after a review.
    WriteAnew,
    /// To judge what another wrote.
    Review,
}

impl Turn {
    /// Runs one stage, telling its begin and its end.
    pub(super) async fn stage(&self, stage: &Stage, what: Ask, prompt: &str, trace: &TraceContext) -> StageReport {
        let began = Instant::now();
        let id = stage.agent.as_str();
        let call = ToolCall {
            id: format!("call_{:032x}", self.services.ids.fresh()),
            name: offered_name(&format!("agent_{id}"), id, false),
            arguments: json!({ "prompt": prompt }).as_object().cloned().unwrap_or_default(),
            malformed: None,
        };
        self.tell_call(&call).await;
        let mut span = trace.open("execute_tool", &call.name);
        span.set("gen_ai.tool.name", call.name.as_str());
        span.set("gen_ai.tool.call.id", call.id.as_str());
        span.set("roster.stage.role", stage.role.as_str());
        let limit = self.request.agent.definition.orchestration.as_ref().map(|plan| plan.stage_timeout);
        let asked = ask(self, &stage.agent, prompt, limit, &span.below()).await;
        let mut report = StageReport::of(&stage.role, id, began, asked);
        report.meta.retried = what == Ask::WriteAnew;
        report.meta.verdict = verdict(&report.output).filter(|_| what == Ask::Review);
        let code = report.error.as_ref().map(|error| error.code);
        self.services.metrics.tool_call(id, code.unwrap_or("ok"));
        span.close(code);
        self.emit(TurnEvent::ToolFinished(ToolResult {
            call_id: call.id,
            name: call.name,
            output: serde_json::to_value(&report).unwrap_or(Value::Null),
            is_error: code.is_some(),
            duration_ms: report.duration_ms,
        }))
        .await;
        report
    }

    /// Tells of a call that no model wrote.
    pub(super) async fn tell_call(&self, call: &ToolCall) {
        let (id, name) = (call.id.clone(), call.name.clone());
        self.emit(TurnEvent::ToolStarted { id: id.clone(), name: name.clone() }).await;
        self.emit(TurnEvent::ToolCalled { id, name, arguments: call.arguments.clone(), approval: false }).await;
    }
}

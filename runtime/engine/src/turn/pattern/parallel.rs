//! All stages at once; the agent's own model puts together what they say.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Semaphore;

use super::report::StageReport;
use super::stage::Ask;
use super::{Whole, prompt};
use crate::definition::Stage;
use crate::trace::TraceContext;
use crate::turn::answer::Answer;
use crate::turn::context::Context;
use crate::turn::event::{Failure, FinishReason, TurnEvent};
use crate::turn::process;
use crate::turn::run::Turn;

/// Stages of one turn at work at once; more wait.
const AT_ONCE: usize = 4;

pub(super) async fn run(
    mut whole: Whole<'_>,
    context: &mut Context,
    answer: &mut Answer,
    trace: &TraceContext,
) -> Result<FinishReason, Failure> {
    whole.begin(answer).await?;
    let (turn, plan) = (whole.turn, whole.plan);
    let slots = Semaphore::new(AT_ONCE);
    let task = whole.report.task.clone();
    let works = plan.stages.iter().enumerate();
    let mut running: FuturesUnordered<_> =
        works.map(|(at, stage)| one(turn, (at, stage), &task, &slots, trace)).collect();
    let mut ended = Vec::with_capacity(plan.stages.len());
    while let Some((at, report)) = running.next().await {
        answer.spend_below(report.usage);
        ended.push((at, report));
        ended.sort_by_key(|(at, _)| *at);
        whole.report.stages = ended.iter().map(|(_, report)| report.clone()).collect();
        whole.save(answer).await?;
    }
    whole.somebody_answered()?;
    process::add(turn, context, prompt::to_put_together(&whole.report.stages)).await?;
    let reason = turn.converse(context, answer, trace).await?;
    if reason.waits() {
        return Ok(reason);
    }
    whole.report.final_draft = answer.last_text();
    tell_notes(turn, answer, &whole.report.stages).await;
    whole.end(answer).await;
    Ok(reason)
}

/// Goes on with a turn that waited, behind its stages: the model is told once more what they said, since nothing of that
/// stands in the conversation. Of a turn without stages, with the model alone.
pub(super) async fn go_on(
    turn: &Turn,
    context: &mut Context,
    answer: &mut Answer,
    trace: &TraceContext,
) -> Result<FinishReason, Failure> {
    let Some(mut record) = answer.orchestration() else { return turn.converse(context, answer, trace).await };
    let stages = StageReport::all_in(&record.output);
    process::add(turn, context, prompt::to_put_together(&stages)).await?;
    let reason = turn.converse(context, answer, trace).await?;
    if reason.waits() {
        return Ok(reason);
    }
    if let Some(report) = record.output.as_object_mut() {
        report.insert("finalDraft".to_owned(), answer.last_text().into());
    }
    tell_notes(turn, answer, &stages).await;
    answer.fixed_result(record.clone());
    turn.emit(TurnEvent::ToolFinished(record)).await;
    Ok(reason)
}

/// Which stages gave no answer; an answer of a form has no place for that.
async fn tell_notes(turn: &Turn, answer: &mut Answer, stages: &[StageReport]) {
    if !turn.holds_back() {
        turn.say(answer, prompt::notes(stages)).await;
    }
}

/// Runs the stage at `at` as soon as there is a place.
async fn one(
    turn: &Turn,
    (at, stage): (usize, &Stage),
    task: &str,
    slots: &Semaphore,
    trace: &TraceContext,
) -> (usize, StageReport) {
    let _place = slots.acquire().await.ok();
    let prompt = prompt::to_write(&stage.role, task, &[], None);
    (at, turn.stage(stage, Ask::Write, &prompt, trace).await)
}

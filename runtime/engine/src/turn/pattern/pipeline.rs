//! One stage after the other, each given what those before it said. A reviewer may have the draft before it written anew,
//! once.

use super::report::{StageReport, Verdict};
use super::stage::Ask;
use super::{Whole, prompt};
use crate::definition::Stage;
use crate::trace::TraceContext;
use crate::turn::answer::{Answer, add_usage};
use crate::turn::event::{Failure, FinishReason};

pub(super) async fn run(
    mut whole: Whole<'_>,
    answer: &mut Answer,
    trace: &TraceContext,
) -> Result<FinishReason, Failure> {
    whole.begin(answer).await?;
    for at in 0..whole.plan.stages.len() {
        let stage = &whole.plan.stages[at];
        let report = if stage.reviews() {
            review(&whole, stage, trace).await
        } else {
            let prompt = prompt::to_write(&stage.role, &whole.report.task, &written(&whole), None);
            whole.turn.stage(stage, Ask::Write, &prompt, trace).await
        };
        answer.spend_below(report.usage);
        whole.report.stages.push(report);
        whole.save(answer).await?;
        if whole.report.stages[at].meta.verdict == Some(Verdict::Revise) {
            revise(&mut whole, at, answer, trace).await?;
        }
    }
    whole.somebody_answered()?;
    whole.report.final_draft = draft(&whole).map(|(_, draft)| draft.output.clone()).unwrap_or_default();
    whole.end(answer).await;
    answer.begin_step();
    whole.turn.say(answer, whole.report.final_draft.clone()).await;
    whole.turn.say(answer, notes(&whole)).await;
    Ok(FinishReason::Stop)
}

/// What the stages that write did so far.
fn written(whole: &Whole<'_>) -> Vec<StageReport> {
    let done = whole.plan.stages.iter().zip(&whole.report.stages);
    done.filter(|(stage, _)| !stage.reviews()).map(|(_, report)| report.clone()).collect()
}

/// The newest draft, and which stage wrote it.
fn draft<'w>(whole: &'w Whole<'_>) -> Option<(usize, &'w StageReport)> {
    let done = whole.plan.stages.iter().zip(&whole.report.stages).enumerate();
    done.filter(|(_, (stage, report))| !stage.reviews() && report.completed())
        .map(|(at, (_, report))| (at, report))
        .next_back()
}

async fn review(whole: &Whole<'_>, stage: &Stage, trace: &TraceContext) -> StageReport {
    let Some((_, draft)) = draft(whole) else {
        return StageReport::skipped(stage, "there was nothing to review");
    };
    let prompt = prompt::to_review(&stage.role, &whole.report.task, &draft.output);
    whole.turn.stage(stage, Ask::Review, &prompt, trace).await
}

/// Has the draft before the reviewer at `at` written anew. When that fails, the draft stays as it was.
async fn revise(whole: &mut Whole<'_>, at: usize, answer: &mut Answer, trace: &TraceContext) -> Result<(), Failure> {
    let Some((author, first)) = draft(whole) else { return Ok(()) };
    let stage = &whole.plan.stages[author];
    let before: Vec<StageReport> = written(whole).into_iter().filter(|report| report.role != stage.role).collect();
    let review = &whole.report.stages[at];
    let prompt = prompt::to_write(&stage.role, &whole.report.task, &before, Some((&first.output, review)));
    let again = whole.turn.stage(stage, Ask::WriteAnew, &prompt, trace).await;
    answer.spend_below(again.usage);
    let report = &mut whole.report.stages[author];
    report.meta.retried = true;
    report.duration_ms = report.duration_ms.saturating_add(again.duration_ms);
    report.usage = add_usage(report.usage, again.usage);
    if again.completed() {
        report.output = again.output;
        report.model = again.model;
    } else {
        report.error = again.error;
    }
    whole.save(answer).await
}

/// What a person is told below the draft: stages that were not done, a revision that came to nothing, a review without a
/// verdict.
fn notes(whole: &Whole<'_>) -> String {
    let mut notes = prompt::notes(&whole.report.stages);
    for (stage, report) in whole.plan.stages.iter().zip(&whole.report.stages) {
        let (role, agent) = (&report.role, &report.agent_id);
        if report.completed() && report.error.is_some() {
            let fault = report.fault().trim_end_matches('.');
            notes.push_str(&format!(
                "\n\nNote: the {role} (`{agent}`) could not revise the draft: {fault}. It stands unrevised."
            ));
        }
        if stage.reviews() && report.completed() && report.meta.verdict.is_none() {
            notes.push_str(&format!(
                "\n\nNote: the {role} (`{agent}`) gave no verdict; the draft stands as it was written."
            ));
        }
    }
    notes
}

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
use crate::turn::event::{Failure, FinishReason};
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
    let works = plan.stages.iter().enumerate();
    let mut running: FuturesUnordered<_> = works.map(|(at, stage)| one(turn, at, stage, &slots, trace)).collect();
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
    whole.report.final_draft = answer.last_text();
    if !turn.holds_back() {
        whole.say(answer, prompt::notes(&whole.report.stages)).await;
    }
    whole.end(answer).await;
    Ok(reason)
}

/// Runs the stage at `at` as soon as there is a place.
async fn one(turn: &Turn, at: usize, stage: &Stage, slots: &Semaphore, trace: &TraceContext) -> (usize, StageReport) {
    let _place = slots.acquire().await.ok();
    let prompt = prompt::to_write(&stage.role, &turn.task(), &[], None);
    (at, turn.stage(stage, Ask::Write, &prompt, trace).await)
}

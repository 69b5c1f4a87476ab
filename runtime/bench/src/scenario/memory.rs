//! `memory`: turns that are durable before `done`, at 64 connections: each in a conversation of its own that grows, and
//! each turn in a fresh one. The model server alone is measured between them. What a turn costs the runtime in processor
//! time hardly depends on what else the machine does.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::direct::{self, Series, TEXT};
use crate::bench::Bench;
use crate::door::{Door, Question};
use crate::load::{Load, Questions};
use crate::project::KEEPER;
use crate::report::{Figure, Target};
use crate::subject::Subject;

/// Durable turns a second that are wanted on two cores.
const TARGET: f64 = 1500.0;

pub(super) async fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let project = bench.project()?;
    let subject = bench.start(&project).await?;
    let direct = direct::load(bench);
    let own = load(bench, &subject, Arc::new(|number| question(Some(&format!("bench-{number}")))));
    let fresh = load(bench, &subject, Arc::new(|_| question(None)));
    let mut series = [Series::default(), Series::default(), Series::default()];
    let mut costs = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..bench.choose(5, 2) {
        for ((series, load), costs) in series.iter_mut().zip([&direct, &own, &fresh]).zip(&mut costs) {
            let before = subject.processor_time()?;
            let turns = series.take(load).await?;
            costs.push(cost(subject.processor_time()?.saturating_sub(before), turns));
        }
    }
    let resident = subject.resident_mib()?;
    subject.stop().await?;
    let ([direct, own, fresh], [_, own_costs, fresh_costs]) = (series, costs);
    let share = ratio(&own.rates, &direct.rates);
    let mut figures = with_target(own.figures("own conversation"));
    figures.push(Figure::of_rounds("own conversation: processor time a turn", "ms", own_costs));
    figures.extend(with_target(fresh.figures("fresh conversation")));
    figures.push(Figure::of_rounds("fresh conversation: processor time a turn", "ms", fresh_costs));
    figures.extend(direct.figures("model server alone"));
    figures.push(Figure::of_rounds("own rate against model server alone", "x", share));
    figures.push(Figure::new("resident memory after it", "MiB", resident));
    Ok(figures)
}

fn load(bench: &Bench, subject: &Subject, questions: Questions) -> Load {
    Load { address: subject.gateway, door: Door::Chat, questions, ..direct::load(bench) }
}

fn question(conversation: Option<&str>) -> bytes::Bytes {
    Door::Chat.body(Question { model: KEEPER, text: TEXT, owner: None, conversation })
}

/// The first figure is the rate.
fn with_target(mut figures: Vec<Figure>) -> Vec<Figure> {
    let rate = figures.remove(0).target(Target::AtLeast(TARGET));
    figures.insert(0, rate);
    figures
}

/// Processor time of the runtime for one turn, in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "no round has 2^53 turns")]
fn cost(used: Duration, turns: u64) -> f64 {
    used.as_secs_f64() * 1000.0 / turns.max(1) as f64
}

/// Round by round.
fn ratio(rates: &[f64], baseline: &[f64]) -> Vec<f64> {
    rates.iter().zip(baseline).map(|(rate, baseline)| rate / baseline).collect()
}

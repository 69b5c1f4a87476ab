//! `memory`: turns that are durable before `done`, at 64 connections: each in a conversation of its own that grows, and
//! each turn in a fresh one. The model server alone is measured between them.

use std::sync::Arc;

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
    for _ in 0..bench.choose(5, 2) {
        for (series, load) in series.iter_mut().zip([&direct, &own, &fresh]) {
            series.take(load).await?;
        }
    }
    let resident = subject.resident_mib()?;
    subject.stop().await?;
    let [direct, own, fresh] = series;
    let share = ratio(&own.rates, &direct.rates);
    let mut figures = with_target(own.figures("own conversation"));
    figures.extend(with_target(fresh.figures("fresh conversation")));
    figures.extend(direct.figures("model server alone"));
    figures.push(Figure::of_rounds("own rate against model server alone", "x", share));
    figures.push(Figure::new("resident memory after it", "MiB", resident));
    Ok(figures)
}

fn load(bench: &Bench, subject: &Subject, questions: Questions) -> Load {
    Load { address: subject.gateway, door: Door::Chat, questions, ..direct::load(bench) }
}

fn question(conversation: Option<&str>) -> bytes::Bytes {
    Door::Chat.body(Question { model: KEEPER, text: TEXT, conversation })
}

/// The first figure is the rate.
fn with_target(mut figures: Vec<Figure>) -> Vec<Figure> {
    let rate = figures.remove(0).target(Target::AtLeast(TARGET));
    figures.insert(0, rate);
    figures
}

/// Round by round.
fn ratio(rates: &[f64], baseline: &[f64]) -> Vec<f64> {
    rates.iter().zip(baseline).map(|(rate, baseline)| rate / baseline).collect()
}

//! `stateless`: what the runtime adds to a model call when there is no memory: the same question by the same client to
//! the model server and through the runtime, one at a time, in alternation.

use anyhow::Result;
use bytes::Bytes;

use super::direct::TEXT;
use crate::bench::Bench;
use crate::client::Connection;
use crate::door::{Door, Question};
use crate::project::{MODEL, PLAIN};
use crate::report::{Figure, Target};
use crate::sample::Sample;

/// Milliseconds a turn may add, at the median.
const TARGET: f64 = 0.5;

/// Questions by which an alternation goes on.
const BLOCK: usize = 50;

pub(super) async fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let project = bench.project()?;
    let subject = bench.start(&project).await?;
    let mut direct = Connection::open(bench.model_server().address()).await?;
    let mut through = Connection::open(subject.gateway).await?;
    let mut figures = Vec::new();
    for (door, name) in [(Door::Whole, "whole"), (Door::Stream, "streamed")] {
        let mut pair = Pair::new(door, &mut direct, &mut through);
        // Caches and branch predictors of both sides are warm when it counts.
        pair.round(bench.choose(4, 1)).await?;
        let mut rounds = Vec::new();
        for _ in 0..bench.choose(7, 2) {
            rounds.push(pair.round(bench.choose(10, 2)).await?);
        }
        figures.extend(totals(name, &rounds));
        if door == Door::Stream {
            figures.extend(firsts(name, &rounds));
        }
    }
    subject.stop().await?;
    Ok(figures)
}

/// Two ways to the same answer.
struct Pair<'a> {
    door: Door,
    direct: &'a mut Connection,
    direct_body: Bytes,
    through: &'a mut Connection,
    through_body: Bytes,
}

/// What one way took.
struct Way {
    first: Sample,
    total: Sample,
}

struct Round {
    direct: Way,
    through: Way,
}

impl<'a> Pair<'a> {
    fn new(door: Door, direct: &'a mut Connection, through: &'a mut Connection) -> Self {
        let body = |model| door.body(Question { model, text: TEXT, owner: None, conversation: None });
        Self { door, direct, direct_body: body(MODEL), through, through_body: body(PLAIN) }
    }

    async fn round(&mut self, blocks: usize) -> Result<Round> {
        let mut round = Round { direct: Way::new()?, through: Way::new()? };
        for _ in 0..blocks {
            round.direct.block(self.door, self.direct, &self.direct_body).await?;
            round.through.block(self.door, self.through, &self.through_body).await?;
        }
        Ok(round)
    }
}

impl Way {
    fn new() -> Result<Self> {
        Ok(Self { first: Sample::new()?, total: Sample::new()? })
    }

    async fn block(&mut self, door: Door, connection: &mut Connection, body: &Bytes) -> Result<()> {
        for _ in 0..BLOCK {
            let timing = door.ask(connection, body.clone()).await?;
            self.first.add(timing.first);
            self.total.add(timing.total);
        }
        Ok(())
    }
}

fn totals(name: &str, rounds: &[Round]) -> Vec<Figure> {
    let added = compare(rounds, |way| way.total.percentile(50.0), |through, direct| through - direct);
    let ratio = compare(rounds, |way| way.total.percentile(50.0), |through, direct| through / direct);
    let mut figures = both(&format!("{name}, total"), rounds, |way| &way.total);
    figures.push(Figure::of_rounds(format!("{name}, total: added p50"), "ms", added).target(Target::AtMost(TARGET)));
    figures.push(Figure::of_rounds(format!("{name}, total: p50 against direct"), "x", ratio));
    figures
}

fn firsts(name: &str, rounds: &[Round]) -> Vec<Figure> {
    let added = compare(rounds, |way| way.first.percentile(50.0), |through, direct| through - direct);
    let mut figures = both(&format!("{name}, first text"), rounds, |way| &way.first);
    figures
        .push(Figure::of_rounds(format!("{name}, first text: added p50"), "ms", added).target(Target::AtMost(TARGET)));
    figures
}

/// p50 and p99 of both ways.
fn both(name: &str, rounds: &[Round], sample: fn(&Way) -> &Sample) -> Vec<Figure> {
    let figure = |label: &str, percent: f64, way: fn(&Round) -> &Way| {
        let values = rounds.iter().map(|round| sample(way(round)).percentile(percent)).collect();
        Figure::of_rounds(format!("{name}: {label}"), "ms", values)
    };
    vec![
        figure("direct p50", 50.0, |round| &round.direct),
        figure("through roster p50", 50.0, |round| &round.through),
        figure("direct p99", 99.0, |round| &round.direct),
        figure("through roster p99", 99.0, |round| &round.through),
    ]
}

/// A comparison within each round.
fn compare(rounds: &[Round], value: fn(&Way) -> f64, with: fn(f64, f64) -> f64) -> Vec<f64> {
    rounds.iter().map(|round| with(value(&round.through), value(&round.direct))).collect()
}

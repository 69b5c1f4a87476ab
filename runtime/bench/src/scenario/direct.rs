//! `direct-64`: the model server asked without the runtime, by the same client: no turn can be faster.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use crate::bench::Bench;
use crate::door::{Door, Question};
use crate::load::Load;
use crate::project::MODEL;
use crate::report::Figure;

/// As many as the target of the memory scenario speaks of.
pub(super) const CONNECTIONS: usize = 64;

/// What is asked in every scenario.
pub(super) const TEXT: &str = "How heavy is the third box on the left?";

/// The model server under load, streaming.
pub(super) fn load(bench: &Bench) -> Load {
    let body = Door::Stream.body(Question { model: MODEL, text: TEXT, owner: None, conversation: None });
    Load {
        address: bench.model_server().address(),
        door: Door::Stream,
        connections: CONNECTIONS,
        duration: bench.choose(Duration::from_secs(3), Duration::from_secs(1)),
        most: u64::MAX,
        questions: Arc::new(move |_| body.clone()),
    }
}

pub(super) async fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let load = load(bench);
    let mut series = Series::default();
    for _ in 0..bench.choose(5, 2) {
        series.take(&load).await?;
    }
    Ok(series.figures("direct"))
}

/// Rounds of one load.
#[derive(Debug, Default)]
pub(super) struct Series {
    pub(super) rates: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
}

impl Series {
    /// Runs a round; gives how many were answered.
    pub(super) async fn take(&mut self, load: &Load) -> Result<u64> {
        let loaded = load.run().await?;
        self.rates.push(loaded.rate());
        self.p50.push(loaded.sample.percentile(50.0));
        self.p99.push(loaded.sample.percentile(99.0));
        Ok(loaded.sample.count())
    }

    /// Rate, p50 and p99, medians of the rounds.
    pub(super) fn figures(self, name: &str) -> Vec<Figure> {
        vec![
            Figure::of_rounds(format!("{name}: rate"), "turns/s", self.rates),
            Figure::of_rounds(format!("{name}: p50"), "ms", self.p50),
            Figure::of_rounds(format!("{name}: p99"), "ms", self.p99),
        ]
    }
}

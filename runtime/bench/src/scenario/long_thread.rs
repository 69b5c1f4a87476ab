//! `long-thread`: a turn in a thread of 1,000,000 messages against one in a thread of 100, one at a time, in alternation.

use anyhow::Result;
use bytes::Bytes;

use super::direct::TEXT;
use crate::bench::Bench;
use crate::client::Connection;
use crate::door::{Door, Question};
use crate::filler::Filler;
use crate::project::KEEPER;
use crate::report::{Figure, Target};
use crate::sample::Sample;

/// How many times as long the turn in the long thread may take.
const TARGET: f64 = 1.2;
/// Messages of the short thread.
const SHORT: usize = 100;
/// Turns by which an alternation goes on.
const BLOCK: usize = 20;
const OWNER: &str = "bench";

pub(super) async fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let messages = bench.choose(1_000_000, 50_000);
    let project = bench.project()?;
    let mut filler = Filler::open(&project)?;
    filler.thread(OWNER, "long", messages).await?;
    let rounds = bench.choose(7, 2);
    for number in 0..=rounds {
        filler.thread(OWNER, &short(number), SHORT).await?;
    }
    filler.close().await;
    let subject = bench.start(&project).await?;
    let mut connection = Connection::open(subject.gateway).await?;
    let long = question("long");
    let (mut of_long, mut of_short) = (Vec::new(), Vec::new());
    // A short thread of its own for each round, or it would not stay short; the first round is thrown away.
    for number in 0..=rounds {
        let short = question(&short(number));
        let mut samples = [Sample::new()?, Sample::new()?];
        for _ in 0..bench.choose(8, 2) {
            for (sample, body) in samples.iter_mut().zip([&long, &short]) {
                for _ in 0..BLOCK {
                    sample.add(Door::Chat.ask(&mut connection, body.clone()).await?.total);
                }
            }
        }
        if number > 0 {
            of_long.push(samples[0].percentile(50.0));
            of_short.push(samples[1].percentile(50.0));
        }
    }
    subject.stop().await?;
    let ratio = of_long.iter().zip(&of_short).map(|(long, short)| long / short).collect();
    Ok(vec![
        Figure::of_rounds(format!("thread of {messages}: p50"), "ms", of_long),
        Figure::of_rounds(format!("thread of {SHORT}: p50"), "ms", of_short),
        Figure::of_rounds("long against short", "x", ratio).target(Target::AtMost(TARGET)),
    ])
}

fn short(number: usize) -> String {
    format!("short-{number}")
}

fn question(thread: &str) -> Bytes {
    Door::Chat.body(Question { model: KEEPER, text: TEXT, owner: Some(OWNER), conversation: Some(thread) })
}

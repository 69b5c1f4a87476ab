//! `in-flight`: thousands of turns at once, each waiting for a model that takes its time: what they hold in memory, and
//! that all of them come to a good end.

use std::time::Duration;

use anyhow::{Context, Result};
use roster_testkit::scripted::{Gate, Reply, ScriptedServer};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::direct::TEXT;
use crate::bench::Bench;
use crate::client::Connection;
use crate::conditions;
use crate::door::{Door, Question};
use crate::project::{KEEPER, PLAIN, Project};
use crate::report::{Figure, Target};

/// MiB that all of them may hold.
const TARGET: f64 = 400.0;
/// Turns that are begun before the next ones are: the model server takes new connections only so fast.
const AT_ONCE: usize = 250;
/// Longest wait for a group to reach the model, and for all to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Open files of a process for each turn (a client and a model), and those it has anyway.
const FILES: (u64, u64) = (2, 200);

pub(super) async fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let turns = bench.choose(5_000, 500);
    conditions::allow_files(turns as u64 * FILES.0 + FILES.1)?;
    let mut figures = Vec::new();
    for (agent, name) in [(PLAIN, "without memory"), (KEEPER, "with memory")] {
        figures.extend(hold(bench, turns, agent, name).await?);
    }
    Ok(figures)
}

async fn hold(bench: &Bench, turns: usize, agent: &'static str, name: &str) -> Result<Vec<Figure>> {
    let gate = Gate::new();
    let server = ScriptedServer::start().await;
    // The head and the first word come, then the model thinks.
    server.always(Reply::text(crate::bench::ANSWER).hold_before(2, &gate));
    let project = Project::make(bench.dir(), server.address())?;
    project.limit(&format!("concurrent_turns = {turns}\n"))?;
    let subject = bench.start(&project).await?;
    let idle = subject.resident_mib()?;
    let mut asked = JoinSet::new();
    let begun = Instant::now();
    while asked.len() < turns {
        for _ in 0..AT_ONCE.min(turns - asked.len()) {
            let (address, conversation) = (subject.gateway, format!("bench-{}", asked.len()));
            asked.spawn(async move {
                let mut connection = Connection::open(address).await?;
                let question = Question { model: agent, text: TEXT, owner: None, conversation: Some(&conversation) };
                Door::Chat.ask(&mut connection, Door::Chat.body(question)).await
            });
        }
        let all = timeout(PATIENCE, server.wait_for_requests(asked.len())).await;
        all.with_context(|| format!("{} turns did not reach the model", asked.len()))?;
    }
    let begun = begun.elapsed();
    let held = subject.resident_mib()?;
    gate.open();
    let ended = Instant::now();
    while let Some(answer) = timeout(PATIENCE, asked.join_next()).await.context("turns did not end")? {
        answer??;
    }
    let ended = ended.elapsed();
    subject.stop().await?;
    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    let each = (held - idle) * 1024.0 / turns as f64;
    Ok(vec![
        Figure::new(format!("{name}: {turns} turns held"), "MiB", held).target(Target::AtMost(TARGET)),
        Figure::new(format!("{name}: idle before"), "MiB", idle),
        Figure::new(format!("{name}: each turn"), "KiB", each),
        Figure::new(format!("{name}: begun in"), "s", begun.as_secs_f64()),
        Figure::new(format!("{name}: ended in"), "s", ended.as_secs_f64()),
    ])
}

//! `reload`: one of twenty agents is saved again and again in five ways while a client asks 200 times a second. No
//! request may fail, no answer may come from a version that never was whole, and each version must be served soon.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, sleep};

use crate::asking::{Asked, Plan};
use crate::bench::Bench;
use crate::client::Connection;
use crate::door::Door;
use crate::project::Project;
use crate::report::{Figure, Target};
use crate::sample::Sample;
use crate::saving::{Save, Way};
use crate::witness::{self, SAVED, Witness};

/// Milliseconds from a save to the first answer that are wanted of 99 in 100.
const SERVED: f64 = 300.0;
/// Agents beside the saved one.
const OTHERS: u64 = 19;
/// How long the file is away, empty or half: shorter and longer than what a reload waits for quiet.
const PAUSES: [Duration; 4] =
    [Duration::ZERO, Duration::from_millis(20), Duration::from_millis(120), Duration::from_millis(250)];
/// Longest wait for a version to be served; beyond, the measurement has failed.
const PATIENCE: Duration = Duration::from_secs(15);

const CALLS: &str = "roster_memory_factory_calls_total";

pub(super) async fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let saves = bench.choose(500, 50);
    let witness = Witness::start().await;
    let project = Project::of(bench.dir(), witness.server().address(), agents())?;
    let subject = bench.start(&project).await?;
    let calls_before = factory_calls(subject.gateway).await?;
    let every = Duration::from_millis(5);
    let asking = Plan { address: subject.gateway, witness: witness.clone(), connections: 8, every, choose }.start();
    witness.first_answer(0, PATIENCE).await?;
    let mut samples = Way::ALL.map(|way| (way, Vec::new()));
    for number in 1..=saves {
        let (way, took) = save(&project, &witness, number).await?;
        samples.iter_mut().filter(|(of, _)| *of == way).for_each(|(_, times)| times.push(took));
    }
    let asked = asking.finish().await?;
    let calls = factory_calls(subject.gateway).await? - calls_before;
    subject.stop().await?;
    let mut figures = requests(&asked, &witness)?;
    figures.extend(times(&samples)?);
    figures.extend(factory(calls, witness::memory_changes(saves)));
    Ok(figures)
}

/// Four of five questions go to the saved agent, by all doors.
fn choose(number: u64) -> (Door, String) {
    let door = [Door::Whole, Door::Stream, Door::Chat][usize::try_from(number % 3).unwrap_or_default()];
    let agent = if number.is_multiple_of(5) { other(number / 5 % OTHERS) } else { SAVED.to_owned() };
    (door, agent)
}

fn other(number: u64) -> String {
    format!("other-{number:02}")
}

fn agents() -> Vec<(String, String)> {
    let others = (0..OTHERS).map(|number| {
        let id = other(number);
        let memory = if number.is_multiple_of(2) { "memory = \"create_memory\"\n" } else { "" };
        let text = format!("id = \"{id}\"\ninstructions = \"Answer in one short line.\"\n{memory}");
        (id, text)
    });
    others.chain([(SAVED.to_owned(), witness::definition(0))]).collect()
}

/// Saves version `number` and waits for an answer from it.
async fn save(project: &Project, witness: &Witness, number: u64) -> Result<(Way, Duration)> {
    let round = usize::try_from(number)?;
    let way = Way::ALL[round % Way::ALL.len()];
    let text = witness::definition(number);
    // Within the instructions, which does not parse; or before the memory section, which does.
    let section = text.find("[memory]").unwrap_or(text.len());
    let cut = if (round / 5).is_multiple_of(2) { section / 2 } else { section };
    let file = project.agent_file(SAVED);
    witness.begin(number);
    let saved = way.save(Save { file: &file, text: &text, cut, pause: PAUSES[round / 10 % PAUSES.len()] }).await?;
    let first: Instant = witness.first_answer(number, PATIENCE).await?;
    // So that saves do not fall into step with polling.
    sleep(Duration::from_millis(number * 7 % 40)).await;
    Ok((way, first.saturating_duration_since(saved)))
}

fn requests(asked: &Asked, witness: &Witness) -> Result<Vec<Figure>> {
    let (torn, first_torn) = witness.torn();
    if let Some(failure) = &asked.first_failure {
        writeln!(std::io::stderr(), "  first failed request: {failure}")?;
    }
    if let Some(text) = first_torn {
        writeln!(std::io::stderr(), "  first text that was no version's: {text:?}")?;
    }
    Ok(vec![
        Figure::new("asked", "1/s", asked.rate()),
        Figure::new("failed requests", "", float(asked.failed)).target(Target::AtMost(0.0)),
        Figure::new("answers from no whole version", "", float(torn)).target(Target::AtMost(0.0)),
        Figure::new("question to answer: p99", "ms", asked.sample.percentile(99.0)),
    ])
}

fn times(samples: &[(Way, Vec<Duration>)]) -> Result<Vec<Figure>> {
    let mut all = Sample::new()?;
    let mut ways = Vec::new();
    for (way, times) in samples {
        let mut sample = Sample::new()?;
        times.iter().for_each(|time| sample.add(*time));
        all.merge(&sample)?;
        ways.push(Figure::new(format!("of these {}: p99", way.name()), "ms", sample.percentile(99.0)));
    }
    let figures = [
        Figure::new("saves", "", float(all.count())),
        Figure::new("save to first answer: p50", "ms", all.percentile(50.0)),
        Figure::new("save to first answer: p99", "ms", all.percentile(99.0)).target(Target::AtMost(SERVED)),
    ];
    Ok(figures.into_iter().chain(ways).collect())
}

fn factory(calls: f64, changes: u64) -> Vec<Figure> {
    let changes = float(changes);
    vec![
        Figure::new("changes of the memory section", "", changes),
        Figure::new("memory factory calls", "", calls),
        Figure::new("calls more or fewer than changes", "", (calls - changes).abs()).target(Target::AtMost(0.0)),
    ]
}

/// Calls of memory factories of all agents so far. Over a connection of its own: the last one was minutes ago, and a
/// connection that is idle for so long is closed.
async fn factory_calls(gateway: SocketAddr) -> Result<f64> {
    let metrics = Connection::open(gateway).await?.get("/metrics").await?;
    Ok(counter(&metrics, CALLS))
}

/// All series of a counter together.
pub(super) fn counter(metrics: &str, name: &str) -> f64 {
    let lines = metrics.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

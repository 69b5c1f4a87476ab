//! `many-agents`: 10,000 agents, each with instructions, memory and a tool: how long a start takes, how soon one
//! changed file is served, what an agent costs in memory, and what watching over all of them costs while idle.

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::{Instant, sleep};

use crate::asking::Plan;
use crate::bench::Bench;
use crate::door::Door;
use crate::project::Project;
use crate::report::{Figure, Target};
use crate::sample::Sample;
use crate::saving::{Save, Way};
use crate::subject::Subject;
use crate::witness::{self, SAVED, Witness};

/// Milliseconds from exec to ready that are wanted.
const READY: f64 = 2000.0;
/// Milliseconds from a save to the first answer that are wanted.
const SERVED: f64 = 300.0;
/// KiB an agent that are wanted.
const SIZE: f64 = 15.0;
/// Longest wait for a version to be served, and for a start to have nothing left to do.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let count = bench.choose(10_000, 2_000);
    let witness = Witness::start().await;
    let make = |count| Project::of(bench.dir(), witness.server().address(), agents(count));
    let empty = bench.start(&make(0)?).await?;
    settle(&empty).await?;
    let base = empty.resident_mib()?;
    empty.stop().await?;
    let project = make(count)?;
    let first = bench.start(&project).await?;
    let first_ready = millis(first.ready_after);
    settle(&first).await?;
    let first_size = size(&first, base, count)?;
    first.stop().await?;
    let mut rounds = Vec::new();
    for _ in 0..bench.choose(5, 2) {
        let subject = bench.start(&project).await?;
        rounds.push(millis(subject.ready_after));
        subject.stop().await?;
    }
    let subject = bench.start(&project).await?;
    settle(&subject).await?;
    let restarted_size = size(&subject, base, count)?;
    let idle = idle_share(&subject, bench.choose(Duration::from_secs(10), Duration::from_secs(3))).await?;
    let served = served(&subject, &project, &witness, bench.choose(20, 5)).await?;
    subject.stop().await?;
    let size = |name, size| Figure::new(name, "KiB", size).target(Target::AtMost(SIZE));
    Ok(vec![
        Figure::new("agents", "", f64::from(count)),
        Figure::of_rounds("exec to both ready lines", "ms", rounds).target(Target::AtMost(READY)),
        Figure::new("the same with no history yet, once", "ms", first_ready).target(Target::AtMost(READY)),
        Figure::new("save of one file to first answer: p50", "ms", served.percentile(50.0)),
        Figure::new("save of one file to first answer: most", "ms", served.percentile(100.0))
            .target(Target::AtMost(SERVED)),
        Figure::new("resident memory without agents", "MiB", base),
        size("resident memory an agent", restarted_size),
        size("the same, history written in this run", first_size),
        Figure::new("processor while idle, of one core", "%", idle),
    ])
}

fn agents(count: u32) -> impl Iterator<Item = (String, String)> {
    let others = (1..count).map(|number| (format!("agent-{number:05}"), definition(number)));
    (count > 0).then(|| (SAVED.to_owned(), witness::definition(0))).into_iter().chain(others)
}

/// About 700 bytes, as a small agent of a team has them.
fn definition(number: u32) -> String {
    let rules: String = (1..=8).map(|rule| format!("Rule {rule} of department {number}: keep it short.\n")).collect();
    format!(
        "id = \"agent-{number:05}\"\nname = \"Agent {number}\"\ndescription = \"Answers for department {number}.\"\n\
         instructions = \"\"\"\nYou answer the questions of department {number}.\n{rules}\"\"\"\n\
         memory = \"create_memory\"\ntools = [\"get_time\"]\n"
    )
}

/// Waits until what a start does after its ready lines is done: until a second costs next to nothing.
async fn settle(subject: &Subject) -> Result<()> {
    let begun = Instant::now();
    loop {
        let before = subject.processor_time()?;
        sleep(Duration::from_secs(1)).await;
        if subject.processor_time()? - before <= Duration::from_millis(50) {
            return Ok(());
        }
        ensure!(begun.elapsed() < PATIENCE, "it is busy {} s after its start", PATIENCE.as_secs());
    }
}

/// KiB an agent over the process without agents.
fn size(subject: &Subject, base: f64, count: u32) -> Result<f64> {
    Ok((subject.resident_mib()? - base) * 1024.0 / f64::from(count))
}

/// Processor time while nobody asks, in percent of one core.
async fn idle_share(subject: &Subject, window: Duration) -> Result<f64> {
    let (begun, before) = (Instant::now(), subject.processor_time()?);
    sleep(window).await;
    let used = subject.processor_time()? - before;
    Ok(used.as_secs_f64() / begun.elapsed().as_secs_f64() * 100.0)
}

/// Saves one file again and again, in all ways, without pauses.
async fn served(subject: &Subject, project: &Project, witness: &Witness, saves: u64) -> Result<Sample> {
    let choose = |_| (Door::Whole, SAVED.to_owned());
    let every = Duration::from_millis(5);
    let asking = Plan { address: subject.gateway, witness: witness.clone(), connections: 2, every, choose }.start();
    witness.first_answer(0, PATIENCE).await?;
    let file = project.agent_file(SAVED);
    let mut sample = Sample::new()?;
    for number in 1..=saves {
        let text = witness::definition(number);
        let way = Way::ALL[usize::try_from(number)? % Way::ALL.len()];
        witness.begin(number);
        let saved = way.save(Save { file: &file, text: &text, cut: 40, pause: Duration::ZERO }).await?;
        let first = witness.first_answer(number, PATIENCE).await?;
        sample.add(first.saturating_duration_since(saved));
        sleep(Duration::from_millis(number * 7 % 40)).await;
    }
    let asked = asking.finish().await?;
    ensure!(asked.failed == 0, "requests failed: {}", asked.first_failure.unwrap_or_default());
    Ok(sample)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

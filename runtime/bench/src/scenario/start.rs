//! `start`: from exec to both ready lines, and resident memory before and after a thousand turns.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::direct::TEXT;
use crate::bench::Bench;
use crate::door::{Door, Question};
use crate::load::Load;
use crate::project::{KEEPER, Project};
use crate::report::{Figure, Target};
use crate::subject::Subject;

/// Milliseconds from exec to ready that are wanted.
const READY: f64 = 150.0;
/// MiB of an idle process that are wanted.
const IDLE: f64 = 40.0;
/// Ten connections ask a hundred questions each.
const CONNECTIONS: usize = 10;
/// One of the hundred is the uncounted first.
const QUESTIONS: u64 = 99;

pub(super) async fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let project = bench.project()?;
    let first = start_once(bench, &project).await?;
    let mut rounds = Vec::new();
    for _ in 0..bench.choose(15, 3) {
        rounds.push(start_once(bench, &project).await?);
    }
    let subject = bench.start(&project).await?;
    // What the start still does after its ready lines has had time to end.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let idle = subject.resident_mib()?;
    turns(&subject).run().await?;
    let after = subject.resident_mib()?;
    subject.stop().await?;
    Ok(vec![
        Figure::of_rounds("exec to both ready lines", "ms", rounds).target(Target::AtMost(READY)),
        Figure::new("the same on an empty folder, once", "ms", first),
        Figure::new("resident memory, idle", "MiB", idle).target(Target::AtMost(IDLE)),
        Figure::new("resident memory after 1,000 turns", "MiB", after),
    ])
}

/// Milliseconds to ready.
async fn start_once(bench: &Bench, project: &Project) -> Result<f64> {
    let subject = bench.start(project).await?;
    let ready = subject.ready_after.as_secs_f64() * 1e3;
    subject.stop().await?;
    Ok(ready)
}

/// A thousand turns with memory.
fn turns(subject: &Subject) -> Load {
    Load {
        address: subject.gateway,
        door: Door::Chat,
        connections: CONNECTIONS,
        duration: Duration::from_secs(60),
        most: QUESTIONS,
        questions: Arc::new(|number| {
            let conversation = format!("start-{number}");
            Door::Chat.body(Question { model: KEEPER, text: TEXT, owner: None, conversation: Some(&conversation) })
        }),
    }
}

//! Measures the three store calls of a turn (question, history, answer) through 1 and 64 callers:
//! `cargo run --release -p roster-storage --example turns [TURNS]`.

#![expect(clippy::print_stdout, reason = "a measurement prints its figures")]

use std::sync::Arc;
use std::time::Duration;

use roster_model::storage::{BeginTurn, ConversationStore, NewThread, SaveAnswer};
use roster_storage::sqlite::{Options, open};
use roster_testkit::clock::TestClock;
use roster_testkit::suite::conversation::{answer, key, question, turn};
use tokio::time::Instant;

/// What one turn cost: question, history, answer, all three.
type Cost = [Duration; 4];

async fn one_turn(store: &dyn ConversationStore, thread: &str, name: &str) -> Result<Cost, Box<dyn std::error::Error>> {
    let key = key("bench", thread);
    let start = Instant::now();
    let question = question(&format!("{name}-q"));
    let thread = NewThread::default();
    let begin = BeginTurn { key: key.clone(), turn: turn(name), seed: Vec::new(), question, thread };
    let begun = store.begin_turn(begin).await?;
    let asked = Instant::now();
    store.tail(&key, 10, Some(begun.first)).await?;
    let read = Instant::now();
    let message = Some(answer(&format!("{name}-a")));
    store.save_answer(SaveAnswer { key, turn: turn(name), message, last: true }).await?;
    let end = Instant::now();
    Ok([asked - start, read - asked, end - read, end - start])
}

fn percentile(costs: &mut [Duration], percent: usize) -> f64 {
    costs.sort_unstable();
    let at = (costs.len() * percent / 100).min(costs.len().saturating_sub(1));
    costs.get(at).map_or(0.0, |cost| cost.as_secs_f64() * 1000.0)
}

async fn measure(callers: usize, turns: usize) -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let store = Arc::new(open(folder.path().join("roster.db"), &Options::new(Arc::new(TestClock::default())))?);
    let start = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..callers {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            let mut costs = Vec::new();
            for round in 0..turns / callers {
                // A thread lives for twenty turns, as conversations do.
                let thread = format!("t{caller}-{}", round / 20);
                let cost = one_turn(&*store, &thread, &format!("{caller}.{round}")).await;
                costs.push(cost.map_err(|error| error.to_string())?);
            }
            Ok::<_, String>(costs)
        });
    }
    let mut costs = Vec::new();
    while let Some(done) = tasks.join_next().await {
        costs.extend(done??);
    }
    let took = start.elapsed().as_secs_f64();
    let rate = costs.len() as f64 / took;
    println!("{callers:3} callers: {rate:8.0} turns/s, {:8.0} calls/s ({:.0} writes/s)", rate * 3.0, rate * 2.0);
    for (column, name) in ["question", "history", "answer", "turn"].into_iter().enumerate() {
        let mut one: Vec<Duration> = costs.iter().map(|cost| cost[column]).collect();
        println!("    {name:8} p50 {:7.3} ms  p99 {:7.3} ms", percentile(&mut one, 50), percentile(&mut one, 99));
    }
    store.close().await;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let turns = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20_000);
    measure(1, turns / 20).await?;
    measure(64, turns).await
}

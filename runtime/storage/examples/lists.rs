//! Measures pages of one owner's threads, all and by agent:
//! `cargo run --release -p roster-storage --example lists [THREADS]`.

#![expect(clippy::print_stdout, reason = "a measurement prints its figures")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use roster_model::id::ResourceId;
use roster_model::storage::{ConversationStore, NewThread, PageStart, ThreadOrder, ThreadQuery};
use roster_storage::sqlite::{Options, SqliteStore, open};
use roster_testkit::clock::TestClock;
use roster_testkit::suite::conversation::{agent, key};
use tokio::time::Instant;

type Failure = Box<dyn std::error::Error>;

/// Rounds of each measurement.
const ROUNDS: usize = 50;

/// `early` began the first fifth of all threads and none since, `rare` every ten-thousandth, `common` the others.
fn beginner(number: usize, threads: usize) -> &'static str {
    if number < threads / 5 {
        "early"
    } else if number.is_multiple_of(10_000) {
        "rare"
    } else {
        "common"
    }
}

async fn fill(store: &SqliteStore, threads: usize) -> Result<(), Failure> {
    let makings = futures_util::stream::iter(0..threads).map(|number| async move {
        let new = NewThread { agent: Some(agent(beginner(number, threads))), ..NewThread::default() };
        store.create_thread(&key("bench", &format!("t{number}")), new).await
    });
    let mut makings = makings.buffered(256);
    while let Some(made) = makings.next().await {
        made?;
    }
    Ok(())
}

/// The median time of a first page of 100 and of the page after it.
async fn measure(store: &SqliteStore, name: Option<&str>, order: ThreadOrder) -> Result<[Duration; 2], Failure> {
    let owner = ResourceId::new("bench")?;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let mut start = PageStart::First;
        for page in &mut times {
            let query = ThreadQuery { order, start, limit: 100, agent: name.map(agent), ..ThreadQuery::default() };
            let began = Instant::now();
            let found = store.threads(&owner, query).await?;
            page.push(began.elapsed());
            let Some(next) = found.next else { break };
            start = PageStart::After(next);
        }
    }
    Ok(times.map(|mut times| {
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }))
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let threads = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(50_000);
    let folder = tempfile::tempdir()?;
    let store = open(folder.path().join("roster.db"), &Options::new(Arc::new(TestClock::default())))?;
    fill(&store, threads).await?;
    println!("{threads} threads of one owner; pages of 100, newest first; median of {ROUNDS}");
    for name in [None, Some("common"), Some("rare"), Some("early"), Some("nobody")] {
        for order in [ThreadOrder::Created, ThreadOrder::Activity, ThreadOrder::Updated] {
            let [first, second] = measure(&store, name, order).await?.map(|time| time.as_secs_f64() * 1000.0);
            println!("{:8} {order:8?} first {first:8.3} ms  next {second:8.3} ms", name.unwrap_or("all"));
        }
    }
    store.close().await;
    Ok(())
}

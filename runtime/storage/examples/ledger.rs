//! Measures the ledger: the first publish of many agents, and the turns that go on meanwhile:
//! `cargo run --release -p roster-storage --example ledger [AGENTS]`.

#![expect(clippy::print_stdout, reason = "a measurement prints its figures")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use roster_model::ledger::{LedgerEntry, LedgerStore, LedgerWrite};
use roster_storage::sqlite::{Options, SqliteStore, open};
use roster_testkit::clock::TestClock;
use roster_testkit::suite::conversation::{begin, finish, key};
use roster_testkit::suite::ledger::{agent, entry, print, version};
use tokio::time::Instant;

type Failure = Box<dyn std::error::Error>;

/// Bytes of a definition.
const TEXT: usize = 2000;

/// What a start of the run `run` publishes.
fn start(run: &str, agents: usize) -> LedgerWrite {
    let mut write = LedgerWrite::default();
    for number in 0..agents {
        let name = format!("agent-{number}");
        let mut version = version(&name, "a");
        version.text.push_str(&"#".repeat(TEXT));
        write.versions.push(version);
        write.entries.push(LedgerEntry { run: run.to_owned(), ..entry(1, &name, "added", "a") });
    }
    write
}

/// Turns of eight callers until `stop`; the median and the slowest hundredth.
async fn turns(store: &Arc<SqliteStore>, round: &str, stop: &Arc<AtomicBool>) -> Result<[f64; 2], Failure> {
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..8 {
        let (store, stop, key) = (Arc::clone(store), Arc::clone(stop), key("bench", &format!("{round}{caller}")));
        callers.spawn(async move {
            let mut times = Vec::new();
            while !stop.load(Ordering::SeqCst) {
                let name = format!("turn{}", times.len());
                let began = Instant::now();
                begin(&*store, &key, &name).await.map_err(|error| error.to_string())?;
                finish(&*store, &key, &name).await.map_err(|error| error.to_string())?;
                times.push(began.elapsed());
            }
            Ok::<_, String>(times)
        });
    }
    let mut times = Vec::new();
    while let Some(done) = callers.join_next().await {
        times.extend(done??);
    }
    times.sort_unstable();
    let at = |percent: usize| times.get(times.len() * percent / 100).map_or(0.0, |time| time.as_secs_f64() * 1000.0);
    Ok([at(50), at(99)])
}

async fn timed<T>(name: &str, work: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let done = work.await;
    println!("{name:44} {:9.3} ms", began.elapsed().as_secs_f64() * 1000.0);
    done
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let agents = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let folder = tempfile::tempdir()?;
    let store = Arc::new(open(folder.path().join("roster.db"), &Options::new(Arc::new(TestClock::default())))?);
    timed("first publish, nothing else going on", store.write(start("first", agents))).await?;
    timed("publish after a restart, all versions known", store.write(start("second", agents))).await?;
    timed("one changed agent", store.write(start("third", 1))).await?;
    let one = agent("agent-0");
    timed("version served last", store.last_served(&one)).await?;
    timed("version by the beginning of its fingerprint", store.version(&one, &print("a")[..12])).await?;
    timed("history", store.history(&one, 100)).await?;
    for (round, publish) in [("turns alone", None), ("turns beside a publish", Some(start("fourth", agents)))] {
        let stop = Arc::new(AtomicBool::new(false));
        let others = turns(&store, round, &stop);
        let work = async {
            if let Some(publish) = publish {
                timed("publish beside turns", store.write(publish)).await?;
            } else {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            stop.store(true, Ordering::SeqCst);
            Ok::<_, Failure>(())
        };
        let ([p50, p99], ()) = tokio::try_join!(others, work)?;
        println!("{round:44} p50 {p50:.3} ms  p99 {p99:.3} ms");
    }
    store.close().await;
    Ok(())
}

use roster_storage::ram::RamStore;
use roster_testkit::clock::TestClock;
use roster_testkit::suite::ledger::{agent, entry, version};

use super::*;

fn ram() -> RamStore {
    RamStore::new(Arc::new(TestClock::default()))
}

/// What a start publishes: every agent is added.
fn start(run: &str, agents: &[(&str, &str)]) -> Vec<(LedgerEntry, Option<Version>)> {
    let one = |(name, start): &(&str, &str)| {
        let entry = LedgerEntry { run: run.to_owned(), ..entry(1, name, "added", start) };
        (entry, Some(version(name, start)))
    };
    agents.iter().map(one).collect()
}

async fn changes(ledger: &RamStore, name: &str) -> Vec<String> {
    let entries = ledger.history(&agent(name), 100).await.expect("history");
    entries.into_iter().map(|entry| format!("{} {}", entry.run, entry.change)).collect()
}

#[tokio::test]
async fn a_restart_adds_only_what_is_news() {
    let ledger = ram();
    let after = After::default();
    after.add(start("first", &[("clerk", "a"), ("cook", "a"), ("baker", "a")]), true);
    let removed = LedgerEntry { run: "first".to_owned(), ..entry(2, "baker", "removed", "a") };
    after.add(vec![(removed, None)], false);
    assert_eq!(after.write_all(&ledger).await, None);
    after.add(start("second", &[("clerk", "a"), ("cook", "b"), ("baker", "a"), ("smith", "a")]), true);
    assert_eq!(after.write_all(&ledger).await, None);
    assert_eq!(changes(&ledger, "clerk").await, ["first added"], "the same version is no news");
    assert_eq!(changes(&ledger, "cook").await, ["second added", "first added"], "another version");
    assert_eq!(changes(&ledger, "baker").await, ["second added", "first removed", "first added"], "it was away");
    assert_eq!(changes(&ledger, "smith").await, ["second added"]);
    assert!(ledger.version(&agent("cook"), &version("cook", "b").fingerprint).await.expect("asked").is_some());
}

#[tokio::test]
async fn what_happens_while_running_is_always_written() {
    let ledger = ram();
    let after = After::default();
    after.add(start("first", &[("clerk", "a")]), true);
    let rebound = LedgerEntry { run: "first".to_owned(), ..entry(2, "clerk", "rebound", "a") };
    after.add(vec![(rebound, None)], false);
    assert_eq!(after.write_all(&ledger).await, None);
    assert_eq!(changes(&ledger, "clerk").await, ["first rebound", "first added"]);
}

#[tokio::test]
async fn a_start_of_many_agents_is_asked_and_written_in_slices() {
    let ledger = ram();
    let names: Vec<String> = (0..SLICE * 2 + 1).map(|number| format!("agent-{number}")).collect();
    let agents: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "a")).collect();
    for run in ["first", "second"] {
        let after = After::default();
        after.add(start(run, &agents), true);
        assert_eq!(after.lock().len(), 3);
        assert_eq!(after.write_all(&ledger).await, None);
    }
    for name in &names {
        assert_eq!(changes(&ledger, name).await, ["first added"]);
    }
}

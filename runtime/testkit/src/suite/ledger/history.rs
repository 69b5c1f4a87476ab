//! Rules of entries: what happened, in order, and not for ever.

use futures_util::future::join_all;
use roster_model::ledger::{LedgerEntry, LedgerWrite};
use roster_model::time::Timestamp;

use super::{Subject, agent, entry, generations, publish, serve, version};

/// Newest first, of this agent only, at most so many.
pub async fn history_is_newest_first_and_limited(subject: &Subject) {
    let store = &*subject.store;
    serve(store, "clerk", &["a", "b", "c"]).await;
    serve(store, "cook", &["a"]).await;
    assert_eq!(generations(store, "clerk").await, [3, 2, 1]);
    assert_eq!(generations(store, "cook").await, [1]);
    for (limit, expected) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3)] {
        let entries = store.history(&agent("clerk"), limit).await.expect("history");
        assert_eq!(entries.len(), expected);
        assert_eq!(entries.first().map(|entry| entry.generation), (limit > 0).then_some(3));
    }
}

/// Also what looks odd; and order is the order of writing, whatever clocks and counters say.
pub async fn everything_in_an_entry_survives(subject: &Subject) {
    let store = &*subject.store;
    let keys = |keys: &[&str]| keys.iter().map(ToString::to_string).collect();
    let plain = entry(7, "clerk", "added", "a");
    let odd = LedgerEntry {
        run: "läuft \"1\"".to_owned(),
        generation: u64::MAX,
        at: Timestamp::from_millis(-1),
        change: "something new".to_owned(),
        fingerprint: String::new(),
        keys: keys(&["instructions", "memory", "tool_settings.\"a:b\""]),
        ..plain.clone()
    };
    let earlier_number = LedgerEntry { generation: 1, keys: keys(&["model"]), ..odd.clone() };
    let all = [plain, odd, earlier_number];
    store.write(LedgerWrite { versions: Vec::new(), entries: all[..2].to_vec() }).await.expect("written");
    store.write(LedgerWrite { versions: Vec::new(), entries: all[2..].to_vec() }).await.expect("written");
    let mut found = store.history(&agent("clerk"), 10).await.expect("history");
    found.reverse();
    assert_eq!(found, all);
}

/// A caller that was told of a failure writes again, without knowing how far the first try came.
pub async fn a_publish_written_twice_counts_once(subject: &Subject) {
    let store = &*subject.store;
    let half = publish(1, "clerk", "added", "a");
    let mut whole = half.clone();
    whole.versions.push(version("cook", "a"));
    whole.entries.push(entry(1, "cook", "added", "a"));
    store.write(half).await.expect("written");
    for _ in 0..2 {
        store.write(whole.clone()).await.expect("written");
        assert_eq!(generations(store, "clerk").await, [1]);
        assert_eq!(generations(store, "cook").await, [1]);
    }
    // Another run counts its generations anew, and one publish can do two things to an agent.
    let restarted = LedgerEntry { run: "next run".to_owned(), ..entry(1, "clerk", "added", "a") };
    let pinned = LedgerEntry { change: "pinned".to_owned(), ..restarted.clone() };
    store.write(LedgerWrite { versions: Vec::new(), entries: vec![restarted, pinned] }).await.expect("written");
    assert_eq!(generations(store, "clerk").await, [1, 1, 1]);
}

/// Publishes that follow each other closely are not mixed up, though a big one takes long.
pub async fn writes_end_in_the_order_they_came(subject: &Subject) {
    let store = &*subject.store;
    let mut first = LedgerWrite::default();
    for number in 0..500 {
        first.versions.push(version(&format!("agent-{number}"), "a"));
    }
    first.entries.push(entry(1, "clerk", "added", "1"));
    let rest = (2..=30).map(|generation| publish(generation, "clerk", "changed", &generation.to_string()));
    let writes = [first].into_iter().chain(rest).map(|write| store.write(write));
    for written in join_all(writes).await {
        written.expect("written");
    }
    assert_eq!(generations(store, "clerk").await, (1..=30).rev().collect::<Vec<_>>());
}

/// Across writes and inside one; other agents keep theirs.
pub async fn the_newest_1000_entries_of_an_agent_are_kept(subject: &Subject) {
    let store = &*subject.store;
    serve(store, "cook", &["a", "b"]).await;
    let flapping = |generations: std::ops::RangeInclusive<u64>| LedgerWrite {
        versions: Vec::new(),
        entries: generations.map(|generation| entry(generation, "clerk", "changed", "a")).collect(),
    };
    for (written, kept) in
        [(1..=999, 1..=999), (1000..=1000, 1..=1000), (1001..=1001, 2..=1001), (1002..=2300, 1301..=2300)]
    {
        store.write(flapping(written)).await.expect("written");
        assert_eq!(generations(store, "clerk").await, kept.rev().collect::<Vec<_>>());
    }
    assert_eq!(generations(store, "cook").await, [2, 1]);
}

/// What was served once can be pinned for ever.
pub async fn versions_outlive_their_entries(subject: &Subject) {
    let store = &*subject.store;
    serve(store, "clerk", &["0", "a"]).await;
    let entries = (3..=1002).map(|generation| entry(generation, "clerk", "rebound", "a")).collect();
    store.write(LedgerWrite { versions: Vec::new(), entries }).await.expect("written");
    assert_eq!(generations(store, "clerk").await.last(), Some(&3));
    let first = version("clerk", "0");
    assert_eq!(store.version(&agent("clerk"), &first.fingerprint).await.expect("asked"), Some(first.clone()));
    store.pin(&agent("clerk"), Some(first.fingerprint.clone())).await.expect("pinned");
    assert_eq!(store.pins().await.expect("pins"), [first]);
}

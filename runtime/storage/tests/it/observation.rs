//! Observations: what is recorded comes back, and the file may vanish at any time.

use std::sync::Arc;
use std::time::Duration;

use roster_model::observation::{ObservationStore, Span};
use roster_model::time::Timestamp;
use roster_storage::sqlite::{ObservationOptions, OpenErrorKind, open, open_observations};
use roster_testkit::clock::{START_MILLIS, TestClock};
use roster_testkit::suite::conversation::{ids, key, whole_turn};
use serde_json::{Map, json};

use crate::sqlite::options;

fn span(trace: &str, number: u32) -> Span {
    Span {
        trace_id: trace.to_owned(),
        span_id: format!("{number:016x}"),
        parent_id: (number > 0).then(|| format!("{:016x}", 0)),
        name: "chat demo/pro".to_owned(),
        started_at: Timestamp::from_millis(1_893_456_000_000 + i64::from(number / 2)),
        duration_us: 1500,
        error: (number == 2).then(|| "provider_failed".to_owned()),
        attributes: Map::from_iter([("gen_ai.usage.input_tokens".to_owned(), json!(number))]),
    }
}

fn kept() -> ObservationOptions {
    ObservationOptions {
        retention: Duration::from_secs(3_600),
        max_size: 1 << 30,
        clock: Arc::new(TestClock::default()),
    }
}

#[tokio::test]
async fn what_is_too_old_or_too_much_is_removed() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("observability.db");
    let old = Span { started_at: Timestamp::from_millis(START_MILLIS - 3_600_001), ..span("old", 0) };
    let store = open_observations(&path, kept()).expect("opens");
    store.record(vec![old, span("new", 0)]).await.expect("recorded");
    assert!(store.trace("old").await.expect("read").is_empty(), "older than an hour");
    assert_eq!(store.trace("new").await.expect("read").len(), 1);
    drop(store);
    let store = open_observations(&path, ObservationOptions { max_size: 1, ..kept() }).expect("opens");
    store.record(vec![span("more", 0)]).await.expect("recorded");
    assert!(store.trace("more").await.expect("read").is_empty(), "the file is larger than a byte");
}

#[tokio::test]
async fn spans_come_back_oldest_first_also_after_a_restart() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("new/observability.db");
    let spans: Vec<Span> = (0..5).map(|number| span("a", number)).collect();
    let store = open_observations(&path, kept()).expect("opens");
    store.record(spans[..3].to_vec()).await.expect("recorded");
    store.record(vec![span("b", 0)]).await.expect("recorded");
    store.record(spans[3..].to_vec()).await.expect("recorded");
    store.record(spans[..1].to_vec()).await.expect("recorded twice");
    drop(store);
    let store = open_observations(&path, kept()).expect("opens again");
    let mut read = store.trace("a").await.expect("read");
    assert_eq!(read.len(), 5, "a span recorded twice is one");
    read.sort_by(|one, two| one.span_id.cmp(&two.span_id));
    assert_eq!(read, spans);
    assert!(store.trace("none").await.expect("read").is_empty());
}

#[tokio::test]
async fn deleting_the_observability_file_keeps_every_thread_and_makes_a_new_one() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("observability.db");
    let conversations = open(folder.path().join("roster.db"), &options()).expect("opens");
    let store = open_observations(&path, kept()).expect("opens");
    whole_turn(&conversations, &key("shop", "t"), "one").await;
    store.record(vec![span("a", 0)]).await.expect("recorded");
    for file in ["observability.db", "observability.db-wal", "observability.db-shm"] {
        std::fs::remove_file(folder.path().join(file)).expect("deleted");
    }
    store.record(vec![span("b", 0)]).await.expect("recorded");
    assert!(path.is_file());
    assert!(store.trace("a").await.expect("read").is_empty());
    assert_eq!(store.trace("b").await.expect("read"), [span("b", 0)]);
    assert_eq!(ids(&conversations, &key("shop", "t")).await, ["one-q", "one-a"]);
}

#[tokio::test]
async fn the_two_domains_do_not_take_each_others_files() {
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("roster.db");
    drop(open(&path, &options()).expect("opens"));
    assert_eq!(open_observations(&path, kept()).err().expect("refused").kind(), OpenErrorKind::Foreign);
    let other = folder.path().join("observability.db");
    drop(open_observations(&other, kept()).expect("opens"));
    assert_eq!(open(&other, &options()).err().expect("refused").kind(), OpenErrorKind::Foreign);
}

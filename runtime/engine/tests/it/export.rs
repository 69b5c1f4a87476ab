//! Spans on their way to exporters: in batches, one at a time, the oldest dropped, and no turn waits.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use roster_engine::trace::Recorder;
use roster_model::BoxFuture;
use roster_model::observation::{ExportError, Span, SpanExporter};
use roster_model::time::Timestamp;
use serde_json::Map;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::double::{CLERK, World, all, names};

/// Answers as it is told to, good when it is told nothing; each export waits for a permit.
struct Told {
    permits: Semaphore,
    answers: Mutex<VecDeque<ExportError>>,
    /// The names of the spans of each export.
    batches: Mutex<Vec<Vec<String>>>,
    under_way: AtomicUsize,
    twice: AtomicBool,
}

impl Told {
    fn new(permits: usize) -> Arc<Self> {
        Arc::new(Self {
            permits: Semaphore::new(permits),
            answers: Mutex::default(),
            batches: Mutex::default(),
            under_way: AtomicUsize::new(0),
            twice: AtomicBool::new(false),
        })
    }

    fn batches(&self) -> Vec<Vec<String>> {
        self.batches.lock().unwrap().clone()
    }
}

impl SpanExporter for Told {
    fn export(&self, spans: Vec<Arc<Span>>) -> BoxFuture<'_, Result<(), ExportError>> {
        Box::pin(async move {
            if self.under_way.fetch_add(1, Ordering::SeqCst) > 0 {
                self.twice.store(true, Ordering::SeqCst);
            }
            self.batches.lock().unwrap().push(spans.iter().map(|span| span.name.clone()).collect());
            self.permits.acquire().await.unwrap().forget();
            self.under_way.fetch_sub(1, Ordering::SeqCst);
            self.answers.lock().unwrap().pop_front().map_or(Ok(()), Err)
        })
    }
}

fn span(name: &str) -> Span {
    Span {
        trace_id: "0".repeat(32),
        span_id: "0".repeat(16),
        parent_id: None,
        name: name.to_owned(),
        started_at: Timestamp::from_millis(0),
        duration_us: 1,
        error: None,
        attributes: Map::new(),
    }
}

/// A recorder without a store, over this exporter.
fn recorder(exporter: &Arc<Told>) -> Recorder {
    let recorder = Recorder::start(None, &TaskTracker::new(), 1.0);
    recorder.set_exporters(vec![("x:told".to_owned(), exporter.clone())]);
    recorder
}

fn counts(recorder: &Recorder) -> (u64, u64) {
    let exported = recorder.exported().remove(0);
    (exported.taken, exported.lost)
}

/// Yields until the condition holds; time stands still.
async fn until(is: impl Fn() -> bool) {
    for _ in 0..100_000 {
        if is() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it did not come about");
}

#[tokio::test(start_paused = true)]
async fn spans_go_out_in_batches_one_export_at_a_time() {
    let told = Told::new(1_000);
    let recorder = recorder(&told);
    for n in 0..1_100 {
        recorder.record(span(&n.to_string()));
    }
    recorder.flush_exports().await;
    let batches = told.batches();
    assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [512, 512, 76]);
    assert_eq!(batches.concat(), (0..1_100).map(|n| n.to_string()).collect::<Vec<_>>(), "in order, each once");
    assert!(!told.twice.load(Ordering::SeqCst));
    assert_eq!(counts(&recorder), (1_100, 0));
}

#[tokio::test(start_paused = true)]
async fn a_hung_exporter_loses_the_oldest_and_nothing_waits_for_it() {
    let told = Told::new(0);
    let recorder = recorder(&told);
    recorder.record(span("first"));
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(told.batches(), [["first"]]);
    for n in 0..10_000 {
        recorder.record(span(&n.to_string()));
    }
    assert_eq!(counts(&recorder), (0, 10_000 - 8_192));
    told.permits.add_permits(1_000);
    recorder.flush_exports().await;
    assert_eq!(counts(&recorder), (1 + 8_192, 10_000 - 8_192));
    assert_eq!(told.batches()[1][0], (10_000 - 8_192).to_string(), "the oldest went");
}

#[tokio::test(start_paused = true)]
async fn a_failed_export_is_lost_and_counted_and_the_next_goes_out() {
    let told = Told::new(1_000);
    told.answers.lock().unwrap().push_back(ExportError::Failed("no disk".into()));
    let recorder = recorder(&told);
    recorder.record(span("lost"));
    recorder.flush_exports().await;
    recorder.record(span("kept"));
    recorder.flush_exports().await;
    assert_eq!(counts(&recorder), (1, 1));
    assert_eq!(told.batches(), [["lost"], ["kept"]]);
}

#[tokio::test(start_paused = true)]
async fn spans_wait_for_an_exporter_that_is_not_there() {
    let told = Told::new(1_000);
    let away = || ExportError::Away("not loaded".into());
    told.answers.lock().unwrap().extend([away(), away(), away()]);
    let recorder = recorder(&told);
    recorder.record(span("a"));
    recorder.flush_exports().await;
    assert_eq!(counts(&recorder), (0, 0), "a flush does not wait for somebody who is not there");
    recorder.record(span("b"));
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    assert_eq!(counts(&recorder), (2, 0));
    assert_eq!(told.batches().last().unwrap(), &["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn an_exporter_that_is_not_there_is_looked_for_once_a_second_however_many_spans_come() {
    let told = Told::new(1_000);
    told.answers.lock().unwrap().extend((0..100).map(|_| ExportError::Away("not loaded".into())));
    let recorder = recorder(&told);
    for n in 0..5_000 {
        recorder.record(span(&n.to_string()));
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let asked = 100 - told.answers.lock().unwrap().len();
    assert!((3..=6).contains(&asked), "asked {asked} times in 5 s");
}

/// A removed exporter gets what waited; one that stays keeps its place.
#[tokio::test(start_paused = true)]
async fn exporters_come_and_go_while_running() {
    let (told, other) = (Told::new(1_000), Told::new(1_000));
    let recorder = recorder(&told);
    recorder.record(span("a"));
    recorder.set_exporters(vec![("x:told".to_owned(), other.clone()), ("x:other".to_owned(), other.clone())]);
    recorder.record(span("b"));
    recorder.flush_exports().await;
    assert_eq!((told.batches().concat(), other.batches().concat()), (vec!["a".into(), "b".into()], vec!["b".into()]));
    recorder.record(span("c"));
    recorder.set_exporters(Vec::new());
    recorder.record(span("d"));
    until(|| told.batches().concat().len() == 3 && other.batches().concat().len() == 2).await;
    assert!(recorder.exported().is_empty());
    assert!(!recorder.takes(0), "nobody takes anything: turns make no spans");
}

/// A flush, as at the end of the runtime, does what it can for the others while one hangs.
#[tokio::test(start_paused = true)]
async fn a_hung_exporter_keeps_nothing_from_the_others() {
    let (hung, good) = (Told::new(0), Told::new(1_000));
    let recorder = recorder(&hung);
    recorder.set_exporters(vec![("x:told".to_owned(), hung.clone()), ("x:good".to_owned(), good.clone())]);
    recorder.record(span("a"));
    let flushed = tokio::time::timeout(std::time::Duration::from_secs(5), recorder.flush_exports()).await;
    assert!(flushed.is_err(), "one still hangs");
    assert_eq!(good.batches().concat(), ["a"]);
}

#[tokio::test]
async fn a_turn_ends_while_its_exporter_hangs() {
    let world = World::new(&[CLERK]);
    let told = Told::new(0);
    let recorder = world.services.recorder.as_ref().unwrap();
    recorder.set_exporters(vec![("x:told".to_owned(), told.clone())]);
    for n in 0..3 {
        assert!(names(&all(world.ask(&format!("t{n}"), "hi")).await).ends_with("done:stop"));
    }
    told.permits.add_permits(1_000);
    recorder.flush_exports().await;
    assert_eq!(told.batches().concat().len(), 6, "a span of the turn and one of its model call each");
    let text = world.services.metrics_text();
    assert!(text.contains("roster_exporter_spans_total{exporter=\"x:told\",outcome=\"taken\"} 6"), "{text}");
    assert!(text.contains("roster_exporter_spans_total{exporter=\"x:told\",outcome=\"lost\"} 0"), "{text}");
}

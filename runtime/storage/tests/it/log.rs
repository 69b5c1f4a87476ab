//! Failures in the log: once, by whoever asked; by the store itself only where nobody hears of them.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use roster_model::message::Part;
use roster_model::storage::{ConversationStore, StoreErrorKind};
use roster_storage::sqlite::{Options, Trial, open};
use roster_testkit::suite::conversation::{key, question, refused};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::child::{Process, report};
use crate::sqlite::options;

static ERRORS: AtomicUsize = AtomicUsize::new(0);

/// Counts events of level ERROR.
struct Counter;

impl Subscriber for Counter {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::ERROR
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {
        ERRORS.fetch_add(1, Ordering::SeqCst);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn a_failure_that_its_caller_hears_of_is_not_logged_by_the_store() {
    let folder = tempfile::tempdir().expect("temp folder");
    let mut child = Process::start("failures", &folder.path().join("roster.db"));
    assert_eq!(child.line().as_deref(), Some("heard 0"));
}

/// In a process of its own, since what is counted is the whole process's: a write that finds no space.
pub(crate) async fn failures(database: &Path) {
    tracing::subscriber::set_global_default(Counter).expect("the first");
    let trial = Trial { max_pages: Some(120), ..Trial::default() };
    let store = open(database, &Options { trial, ..options() }).expect("opens");
    let key = key("shop", "t");
    store.create_thread(&key, Default::default()).await.expect("made");
    let mut big = question("big");
    big.parts = vec![Part::text("x".repeat(2_000_000))];
    refused(store.append(&key, vec![big]).await, StoreErrorKind::Full);
    report(&format!("heard {}", ERRORS.load(Ordering::SeqCst)));
}

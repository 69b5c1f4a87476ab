//! The SQLite store against the suite.

use std::sync::Arc;

use roster_storage::sqlite::{Options, SqliteStore, open};
use roster_testkit::clock::TestClock;
use roster_testkit::suite::conversation::Subject;
use tempfile::TempDir;

/// The newest released version of the tables.
pub(crate) const NEWEST: u32 = 5;

/// A store in a temp folder of its own.
pub(crate) fn fresh() -> (TempDir, SqliteStore) {
    let folder = tempfile::tempdir().expect("temp folder");
    let store = at(&folder);
    (folder, store)
}

pub(crate) fn options() -> Options {
    Options::new(Arc::new(TestClock::default()))
}

/// Opens (again) the store of this folder.
pub(crate) fn at(folder: &TempDir) -> SqliteStore {
    open(folder.path().join("roster.db"), &options()).expect("opens")
}

fn make() -> Subject {
    let (folder, store) = fresh();
    Subject { store: Arc::new(store), keep: Box::new(folder) }
}

roster_testkit::conversation_suite!(make);

//! The RAM store against the suite.

use std::sync::Arc;

use roster_storage::ram::RamStore;
use roster_testkit::clock::TestClock;
use roster_testkit::suite::conversation::Subject;

fn make() -> Subject {
    Subject { store: Arc::new(RamStore::new(Arc::new(TestClock::default()))), keep: Box::new(()) }
}

roster_testkit::conversation_suite!(make);

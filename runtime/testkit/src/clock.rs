//! A clock that stands still until a test moves it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use roster_model::time::{Clock, Timestamp};

/// A settable clock. Starts at 2030-01-01T00:00:00.000Z unless told otherwise; never moves by itself.
#[derive(Debug)]
pub struct TestClock(AtomicI64);

/// 2030-01-01T00:00:00.000Z in milliseconds since the epoch.
pub const START_MILLIS: i64 = 1_893_456_000_000;

impl Default for TestClock {
    fn default() -> Self {
        Self::at(Timestamp::from_millis(START_MILLIS))
    }
}

impl TestClock {
    /// A clock that shows `moment`.
    #[must_use]
    pub fn at(moment: Timestamp) -> Self {
        Self(AtomicI64::new(moment.millis()))
    }

    /// Sets it to `moment`, forwards or backwards.
    pub fn set(&self, moment: Timestamp) {
        self.0.store(moment.millis(), Ordering::SeqCst);
    }

    /// Moves it forwards; parts of a millisecond are dropped.
    pub fn advance(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

//! Ids that count up, so that a test's ids are the same each time.

use std::sync::atomic::{AtomicU64, Ordering};

use roster_model::id::IdSource;

/// Gives 1, 2, 3 ….
#[derive(Debug, Default)]
pub struct TestIds(AtomicU64);

impl IdSource for TestIds {
    fn fresh(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::SeqCst)) + 1
    }
}

//! A panic in one job is that job's failure, not the end of the thread that ran it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use roster_model::storage::StoreErrorKind;

use super::error::{Outcome, fail};

/// Runs `work`; a panic becomes an `Internal` failure. The caller rolls back what it did to the database, and must
/// not use again what `work` may have left half changed.
pub(super) fn caught<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(payload) => fail(StoreErrorKind::Internal, format!("a job of the store panicked: {}", said(&*payload))),
    }
}

fn said(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}

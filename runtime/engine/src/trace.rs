//! Traces and counters of turns: derived data. Never slows and never fails a turn; what does not fit is dropped and
//! counted.

mod metrics;
mod recorder;
mod span;

pub use metrics::{Metrics, ReloadOutcome, TurnOutcome};
pub use recorder::Recorder;
pub use span::{OpenSpan, TraceContext};

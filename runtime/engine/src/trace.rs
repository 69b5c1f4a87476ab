//! Traces and counters of turns: derived data. Never slows and never fails a turn; what does not fit is dropped and
//! counted.

mod metrics;
mod outlet;
mod recorder;
mod span;

pub use metrics::{Metrics, Readings, ReloadOutcome, TurnOutcome};
pub use outlet::Exported;
pub use recorder::{Exporters, Recorder};
pub use span::{OpenSpan, TraceContext};

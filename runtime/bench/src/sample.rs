//! Durations gathered, and what is said of them.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Longest duration told apart: a minute.
const LONGEST_NS: u64 = 60_000_000_000;

/// Durations of one kind, in a histogram exact to a tenth of a percent.
#[derive(Debug, Clone)]
pub struct Sample {
    histogram: Histogram<u64>,
}

impl Sample {
    /// An empty one.
    ///
    /// # Errors
    /// Never with the bounds here; the library's own check is passed on.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self { histogram: Histogram::new_with_bounds(1, LONGEST_NS, 3)? })
    }

    /// Takes a duration in; what is beyond a minute counts as a minute.
    pub fn add(&mut self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(LONGEST_NS);
        self.histogram.saturating_record(nanoseconds.clamp(1, LONGEST_NS));
    }

    /// Takes in all of another sample.
    ///
    /// # Errors
    /// Never between two samples: their bounds are the same.
    pub fn merge(&mut self, other: &Self) -> anyhow::Result<()> {
        Ok(self.histogram.add(&other.histogram)?)
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The duration that `percent` of all do not exceed, in milliseconds; 0 of an empty sample.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a minute in nanoseconds is far below 2^53")]
    pub fn percentile(&self, percent: f64) -> f64 {
        self.histogram.value_at_percentile(percent) as f64 / 1e6
    }
}

/// The median of rounds: the middle value, or the mean of the two middle ones; 0 of none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle), sorted.len() % 2) {
        (None, _) => 0.0,
        (Some(high), 0) => f64::midpoint(sorted[middle - 1], *high),
        (Some(only), _) => *only,
    }
}

#[cfg(test)]
mod tests;

//! Moments. The clock itself is injected: nothing below the host reads one of its own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment in UTC, in milliseconds since 1970-01-01T00:00:00Z. Never used for order: sequence numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A text that is no ISO-8601 moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no ISO-8601 moment such as 2030-01-01T00:00:00.000Z")]
pub struct TimestampError(pub String);

/// 9999-12-31T23:59:59.999Z and its mirror, the range every ISO-8601 reader takes.
const LIMIT: i64 = 253_402_300_799_999;

impl Timestamp {
    /// From milliseconds since the epoch; values beyond the year 9999 are held at its end.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(-LIMIT, LIMIT))
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub fn millis(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Timestamp {
    /// ISO-8601, UTC, always three decimals: `2030-01-01T00:00:00.000Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) => write!(f, "{moment:.3}"),
            Err(_) => write!(f, "1970-01-01T00:00:00.000Z"),
        }
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let moment: jiff::Timestamp = text.parse().map_err(|_| TimestampError(text.to_owned()))?;
        Ok(Self::from_millis(moment.as_millisecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Where the time comes from; injected so that tests can set it.
pub trait Clock: Send + Sync + 'static {
    /// The moment now.
    fn now(&self) -> Timestamp;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_form_always_has_milliseconds() {
        assert_eq!(Timestamp::from_millis(1_893_456_000_000).to_string(), "2030-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_millis(7).to_string(), "1970-01-01T00:00:00.007Z");
    }

    #[test]
    fn reads_what_it_writes_and_offsets() {
        let moment: Timestamp = "2030-01-01T02:00:00.5+02:00".parse().expect("legal");
        assert_eq!(moment.to_string(), "2030-01-01T00:00:00.500Z");
        assert!("yesterday".parse::<Timestamp>().is_err());
    }
}

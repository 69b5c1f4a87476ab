//! The clock and the source of ids that everything below is handed.

use std::time::{SystemTime, UNIX_EPOCH};

use roster_model::id::IdSource;
use roster_model::time::{Clock, Timestamp};

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the injected clock itself")]
    fn now(&self) -> Timestamp {
        let millis = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |millis| -millis),
        };
        Timestamp::from_millis(millis)
    }
}

/// Ids from the system's random source.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl IdSource for RandomIds {
    /// # Panics
    /// When the system has no random numbers to give: an id that might not be fresh would be worse.
    fn fresh(&self) -> u128 {
        let mut bytes = [0; 16];
        if let Err(error) = getrandom::fill(&mut bytes) {
            panic!("the system's random source failed: {error}");
        }
        u128::from_le_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_do_not_repeat_and_the_clock_is_in_this_century() {
        assert_ne!(RandomIds.fresh(), RandomIds.fresh());
        assert!(SystemClock.now().to_string().as_str() > "2024");
    }
}

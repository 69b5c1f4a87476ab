//! The one retry policy: which failed attempts are made again, and after which wait.
//!
//! An attempt is everything up to an answer's first delta; after one nothing is tried again. Whether the error may
//! pass is the kind's word (`ProviderErrorKind::is_transient`). The wait is what the provider asks for, else it
//! doubles from 0.5 s to at most 8 s, with jitter. A wait longer than a minute is not waited: the error is handed on
//! with it.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderMap;
use roster_model::BoxFuture;
use roster_model::id::IdSource;
use roster_model::provider::ProviderError;
use roster_model::time::{Clock, Timestamp};
use tokio::time::Instant;

/// Attempts after the first, when the settings do not say.
pub(crate) const DEFAULT_RETRIES: u32 = 2;
const FIRST_BACKOFF: Duration = Duration::from_millis(500);
const LONGEST_BACKOFF: Duration = Duration::from_secs(8);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// What is added at most to a wait the provider asked for, so that many waiters do not come back at once.
const LONGEST_SPREAD: Duration = Duration::from_millis(250);

/// Time and chance, as the policy needs them.
pub(crate) trait Pace: Send + Sync + 'static {
    /// The moment now.
    fn now(&self) -> Timestamp;
    /// A number from 0 to below 1.
    fn chance(&self) -> f64;
    /// Waits.
    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()>;
}

/// The injected clock, the injected ids as dice, and tokio's timer.
pub(crate) struct Steady {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdSource>,
}

impl Pace for Steady {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn chance(&self) -> f64 {
        // 32 bits are plenty, and exact in an f64.
        let bits = u32::try_from(self.ids.fresh() & u128::from(u32::MAX)).unwrap_or_default();
        f64::from(bits) / (f64::from(u32::MAX) + 1.0)
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(wait))
    }
}

/// Makes attempts until one succeeds, fails for good, or the retries or the time are used up.
///
/// # Errors
/// The last attempt's.
pub(crate) async fn with_retries<T, F, A>(
    pace: &dyn Pace,
    max_retries: u32,
    deadline: Option<Instant>,
    mut attempt: F,
) -> Result<T, ProviderError>
where
    F: FnMut() -> A,
    A: Future<Output = Result<T, ProviderError>>,
{
    let mut retries = 0;
    loop {
        let error = match attempt().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        if retries == max_retries {
            return Err(error);
        }
        let Some(wait) = wait_before_retry(&error, retries, pace.chance()) else { return Err(error) };
        if deadline.is_some_and(|deadline| Instant::now() + wait >= deadline) {
            return Err(error);
        }
        tracing::debug!(code = error.kind.code(), ?wait, "asking the provider again");
        pace.sleep(wait).await;
        retries += 1;
    }
}

/// How long to wait before the next attempt; `None`: there is none.
fn wait_before_retry(error: &ProviderError, retries: u32, chance: f64) -> Option<Duration> {
    if !error.kind.is_transient() {
        return None;
    }
    match error.retry_after {
        Some(asked) if asked > LONGEST_WAIT => None,
        Some(asked) => Some(asked + (asked / 10).min(LONGEST_SPREAD).mul_f64(chance)),
        None => {
            let whole = FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(retries)).min(LONGEST_BACKOFF);
            Some(whole.mul_f64(0.5 + chance / 2.0))
        }
    }
}

/// The wait a provider asks for: `retry-after-ms`, else `Retry-After` in seconds (also with a fraction) or as a date.
/// A date that is past asks for no wait; what cannot be read asks for nothing.
pub(crate) fn asked_wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|text| seconds(text, 1e-3)) {
        return Some(wait);
    }
    let text = text("retry-after")?;
    seconds(text, 1.0).or_else(|| until(text, now))
}

fn seconds(text: &str, unit: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(number * unit).ok()
}

fn until(text: &str, now: Timestamp) -> Option<Duration> {
    let date = httpdate::parse_http_date(text).ok()?;
    let date = date.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now = Duration::from_millis(u64::try_from(now.millis()).unwrap_or_default());
    Some(date.saturating_sub(now))
}

#[cfg(test)]
mod tests;

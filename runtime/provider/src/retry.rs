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
use roster_model::provider::{Attempts, FailedAttempt, ProviderError};
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

/// How far attempts are made again.
pub(crate) struct Bounds<'a> {
    /// Attempts after the first.
    pub(crate) max_retries: u32,
    /// When all must be over.
    pub(crate) deadline: Option<Instant>,
    /// Whether asking again makes sense at all just now.
    pub(crate) may_retry: &'a (dyn Fn() -> bool + Sync),
    /// Where failures that are followed by another attempt are noted.
    pub(crate) attempts: &'a Attempts,
}

/// Makes attempts until one succeeds, fails for good, or the retries or the time are used up.
///
/// # Errors
/// The last attempt's.
pub(crate) async fn with_retries<T, F, A>(
    pace: &dyn Pace,
    bounds: Bounds<'_>,
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
        if retries == bounds.max_retries || !(bounds.may_retry)() {
            return Err(error);
        }
        let Some(wait) = wait_before_retry(&error, retries, pace.chance()) else { return Err(error) };
        if bounds.deadline.is_some_and(|deadline| Instant::now() + wait >= deadline) {
            return Err(error);
        }
        tracing::debug!(code = error.kind.code(), ?wait, "asking the provider again");
        bounds.attempts.note(FailedAttempt { kind: error.kind, waited: wait });
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

/// The wait a provider asks for: `retry-after-ms`, else `Retry-After` in seconds (also with a fraction) or as a date, else
/// the longest reset among the limits that are used up. A date that is past asks for no wait; what cannot be read asks for
/// nothing.
pub(crate) fn asked_wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|text| seconds(text, 1e-3)) {
        return Some(wait);
    }
    match text("retry-after") {
        Some(text) => seconds(text, 1.0).or_else(|| until(text, now)),
        None => LIMITS
            .iter()
            .filter(|(remaining, _)| text(remaining) == Some("0"))
            .filter_map(|(_, reset)| reset_in(text(reset)?, now))
            .max(),
    }
}

/// Headers that tell what remains of a limit and when it is whole again: OpenAI's as a span of time, Anthropic's as a
/// date.
const LIMITS: [(&str, &str); 6] = [
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
];

fn reset_in(text: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(date) = text.parse::<Timestamp>() {
        let millis = date.millis().saturating_sub(now.millis());
        return Some(Duration::from_millis(u64::try_from(millis).unwrap_or_default()));
    }
    span(text)
}

/// A span of time such as `20ms`, `1.5s`, `6m0s`, `1h30m`; seconds where no unit stands.
pub(crate) fn span(text: &str) -> Option<Duration> {
    let mut whole = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let unit = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" | "" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            _ => return None,
        };
        whole += seconds(number, unit)?;
        rest = after;
    }
    (!text.is_empty()).then_some(whole)
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

//! Bounds of requests: how large a body, how many a minute.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, StatusCode, Uri};
use tokio::time::Instant;

use crate::http::error::ApiError;

/// The largest body when the configuration names none: 4 MiB.
pub const DEFAULT_BODY_LIMIT: usize = 4 * 1024 * 1024;

/// A body must be here this long after its head.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// The largest head of a request, in bytes: its target and its headers.
pub(crate) const HEAD_LIMIT: usize = 64 * 1024;

/// Refuses a head that is too large.
///
/// # Errors
/// 431.
pub(crate) fn check_head(uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
    // What stands between name, value and the next line: `: ` and the line's end.
    let lines: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    let target = uri.path().len() + uri.query().map_or(0, str::len);
    if lines + target <= HEAD_LIMIT {
        return Ok(());
    }
    let message = format!("the request's head is larger than the limit of {HEAD_LIMIT} bytes");
    Err(ApiError::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "head_too_large", message))
}

/// Who is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Caller {
    /// A token's subject.
    Subject(String),
    /// An address.
    Address(IpAddr),
}

struct Bucket {
    tokens: f64,
    at: Instant,
}

/// More buckets than this are tidied: the full ones are forgotten, which changes nothing for their owners.
const TIDY_ABOVE: usize = 10_000;

/// One bucket of tokens for each caller.
#[derive(Default)]
pub(crate) struct Buckets(Mutex<HashMap<Caller, Bucket>>);

impl Buckets {
    /// Takes one token; otherwise says how long until there is one.
    ///
    /// # Errors
    /// The wait.
    pub(crate) fn take(&self, caller: Caller, per_minute: u32) -> Result<(), Duration> {
        if per_minute == 0 {
            return Ok(());
        }
        let (full, now) = (f64::from(per_minute), Instant::now());
        let rate = full / 60.0;
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() > TIDY_ABOVE {
            buckets.retain(|_, bucket| bucket.tokens + now.duration_since(bucket.at).as_secs_f64() * rate < full);
        }
        let bucket = buckets.entry(caller).or_insert(Bucket { tokens: full, at: now });
        let earned = now.duration_since(bucket.at).as_secs_f64() * rate;
        bucket.tokens = (bucket.tokens + earned).min(full);
        bucket.at = now;
        if bucket.tokens < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - bucket.tokens) / rate));
        }
        bucket.tokens -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_bucket_holds_a_minute_and_refills_evenly() {
        let buckets = Buckets::default();
        let alice = || Caller::Subject("alice".to_owned());
        assert_eq!(buckets.take(alice(), 2), Ok(()));
        assert_eq!(buckets.take(alice(), 2), Ok(()));
        assert_eq!(buckets.take(alice(), 2), Err(Duration::from_secs(30)));
        assert_eq!(buckets.take(Caller::Subject("bob".to_owned()), 2), Ok(()), "others have their own");
        tokio::time::advance(Duration::from_secs(30)).await;
        assert_eq!(buckets.take(alice(), 2), Ok(()));
        assert!(buckets.take(alice(), 2).is_err());
        assert_eq!(buckets.take(alice(), 0), Ok(()), "0 is no limit");
    }
}

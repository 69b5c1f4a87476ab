//! The circuit breaker of a provider.
//!
//! After some failures in a row the provider is not asked for a while: calls fail at once, with the last failure's kind
//! and words, so that lists of models go on and a provider in trouble is left alone. After the rest one call is let
//! through; its first delta closes the circuit, its failure opens it again. Only failures that say something about the
//! provider's health count: no connection, time-outs, broken connections, 429 and 5xx.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use roster_model::provider::{Circuit, ProviderError, ProviderErrorKind as Kind};
use tokio::time::Instant;

/// When the circuit opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerLimits {
    /// Failures in a row, attempts counted one by one; 0: it never opens. Default 5.
    pub failures: u32,
    /// How long nobody is asked. Default 30 s.
    pub rest: Duration,
}

impl Default for BreakerLimits {
    fn default() -> Self {
        Self { failures: 5, rest: Duration::from_secs(30) }
    }
}

/// The breaker of one provider.
pub(crate) struct Breaker {
    name: String,
    limits: BreakerLimits,
    state: Mutex<State>,
}

enum State {
    Closed { failures: u32 },
    Open { until: Instant, last: ProviderError },
    Probing { last: ProviderError },
}

/// Leave for one attempt. Given back without a word, as when the caller went away, it says nothing about the provider.
pub(crate) struct Pass {
    breaker: Arc<Breaker>,
    is_probe: bool,
}

impl Breaker {
    pub(crate) fn new(name: &str, limits: BreakerLimits) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), limits, state: Mutex::new(State::Closed { failures: 0 }) })
    }

    /// Leave for an attempt.
    ///
    /// # Errors
    /// The last failure again, with how long it rests still, while the circuit is open.
    pub(crate) fn enter(self: &Arc<Self>) -> Result<Pass, ProviderError> {
        let mut state = self.state();
        let is_probe = match &*state {
            State::Closed { .. } => false,
            State::Open { until, last } => {
                let rest = until.saturating_duration_since(Instant::now());
                if !rest.is_zero() {
                    return Err(self.resting(last, rest));
                }
                let last = last.clone();
                *state = State::Probing { last };
                true
            }
            State::Probing { last } => return Err(self.resting(last, Duration::from_secs(1))),
        };
        Ok(Pass { breaker: Arc::clone(self), is_probe })
    }

    pub(crate) fn circuit(&self) -> Circuit {
        match &*self.state() {
            State::Closed { .. } => Circuit::Closed,
            State::Open { .. } => Circuit::Open,
            State::Probing { .. } => Circuit::HalfOpen,
        }
    }

    fn resting(&self, last: &ProviderError, rest: Duration) -> ProviderError {
        let count = self.limits.failures;
        let seconds = rest.as_secs_f64().ceil();
        let message =
            format!("not asked for {seconds} s more, since it failed {count} times in a row, last: {}", last.message);
        ProviderError { message, retry_after: Some(rest), ..last.clone() }
    }

    fn failed(&self, error: &ProviderError, is_probe: bool) {
        let mut state = self.state();
        let failures = match &*state {
            State::Closed { failures } => failures + 1,
            // A call that began before it opened tells nothing new; the probe's failure opens it again.
            State::Open { .. } => return,
            State::Probing { .. } if !is_probe => return,
            State::Probing { .. } => self.limits.failures,
        };
        if self.limits.failures == 0 || failures < self.limits.failures {
            *state = State::Closed { failures };
            return;
        }
        let rest = self.limits.rest;
        tracing::warn!(
            provider = self.name,
            failures,
            ?rest,
            code = error.kind.code(),
            "the provider is left alone for a while"
        );
        *state =
            State::Open { until: Instant::now() + rest, last: ProviderError { retry_after: None, ..error.clone() } };
    }

    fn worked(&self, is_probe: bool) {
        let mut state = self.state();
        match &*state {
            State::Closed { .. } => *state = State::Closed { failures: 0 },
            State::Probing { .. } if is_probe => {
                tracing::info!(provider = self.name, "the provider answers again");
                *state = State::Closed { failures: 0 };
            }
            State::Open { .. } | State::Probing { .. } => {}
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// The answer begins: a probe has found out what it was to find out.
    pub(crate) fn began(&mut self) {
        if std::mem::take(&mut self.is_probe) {
            self.breaker.worked(true);
        }
    }

    /// The answer is whole.
    pub(crate) fn ended(mut self) {
        let is_probe = std::mem::take(&mut self.is_probe);
        self.breaker.worked(is_probe);
    }

    /// The attempt failed. Failures that are the request's own show that the provider is well.
    pub(crate) fn failed(mut self, error: &ProviderError) {
        let is_probe = std::mem::take(&mut self.is_probe);
        match error.kind {
            Kind::Connect | Kind::Timeout | Kind::RateLimited | Kind::Overloaded | Kind::Server | Kind::Truncated => {
                self.breaker.failed(error, is_probe);
            }
            _ => self.breaker.worked(is_probe),
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if !self.is_probe {
            return;
        }
        let mut state = self.breaker.state();
        if let State::Probing { last } = &*state {
            let last = last.clone();
            *state = State::Open { until: Instant::now(), last };
        }
    }
}

#[cfg(test)]
mod tests;

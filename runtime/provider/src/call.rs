//! One model call over HTTP: attempts until a first delta, then the answer as it arrives.

mod answer;
mod ending;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use reqwest::Url;
use roster_model::BoxFuture;
use roster_model::provider::{Circuit, Completion, Delta, DeltaStream, Provider, ProviderError, ProviderErrorKind};
use tokio::time::{Instant, timeout_at};

use crate::breaker::{Breaker, BreakerLimits, Pass};
use crate::config::Timeouts;
use crate::endpoint::Endpoint;
#[cfg(test)]
use crate::retry::Pace;
use crate::retry::{Bounds, DEFAULT_RETRIES, with_retries};

use answer::Answer;
#[cfg(test)]
pub(crate) use answer::answer_of;
pub(crate) use answer::{collect, html, is_html};
pub(crate) use ending::{MAX_CALLS, ending, reported, too_many_calls, unreadable};
pub(crate) use wire::{Deltas, Reader, Wire};

/// An answer that is not streamed shows nothing before its end: so many times the limit of a first token is waited.
pub(crate) const WHOLE_ANSWER_PATIENCE: u32 = 5;

/// A provider reached over HTTP, whatever its dialect.
pub(crate) struct HttpProvider {
    endpoint: Endpoint,
    stream: bool,
    timeouts: Timeouts,
    wire: Arc<dyn Wire>,
    breaker: Arc<Breaker>,
}

impl HttpProvider {
    pub(crate) fn new(
        endpoint: Endpoint,
        stream: bool,
        timeouts: Timeouts,
        breaker: BreakerLimits,
        wire: Arc<dyn Wire>,
    ) -> Self {
        let breaker = Breaker::new(endpoint.name(), breaker);
        Self { endpoint, stream, timeouts, wire, breaker }
    }

    /// The same provider with another pace; for tests, which do not wait.
    #[cfg(test)]
    pub(crate) fn with_pace(mut self, pace: Arc<dyn Pace>) -> Self {
        self.endpoint.pace = pace;
        self
    }

    async fn ask(&self, completion: Completion) -> Result<DeltaStream, ProviderError> {
        let deadline = completion.settings.timeout.map(|limit| Instant::now() + limit);
        let url = self.wire.url(self.endpoint.base(), &completion.model);
        let body = Bytes::from(self.wire.encode(&completion)?);
        let attempt = || self.attempt(url.clone(), body.clone(), deadline);
        let bounds = Bounds {
            max_retries: completion.settings.max_retries.unwrap_or(DEFAULT_RETRIES),
            deadline,
            may_retry: &|| self.breaker.circuit() == Circuit::Closed,
            attempts: &completion.attempts,
        };
        let (answer, pass) = with_retries(&*self.endpoint.pace, bounds, attempt).await?;
        Ok(self.stream(answer, pass))
    }

    /// Sends the request and waits for the first delta.
    async fn attempt(&self, url: Url, body: Bytes, deadline: Option<Instant>) -> Result<(Answer, Pass), ProviderError> {
        let mut pass = self.breaker.enter()?;
        match self.first_delta(url, body, deadline).await {
            Ok(answer) => {
                pass.began();
                Ok((answer, pass))
            }
            Err(error) => {
                pass.failed(&error);
                Err(error)
            }
        }
    }

    async fn first_delta(&self, url: Url, body: Bytes, deadline: Option<Instant>) -> Result<Answer, ProviderError> {
        let begun = Instant::now();
        let patience = if self.stream { 1 } else { WHOLE_ANSWER_PATIENCE };
        let first_token = begun + self.timeouts.first_token.saturating_mul(patience);
        let limit = deadline.map_or(first_token, |deadline| deadline.min(first_token));
        let first = async {
            let response = self.endpoint.send(url, body, "text/event-stream, application/json").await?;
            let idle = self.timeouts.idle;
            let mut answer = Answer::open(response, self.wire.reader(), idle, deadline).await?;
            answer.until_first_delta().await?;
            Ok(answer)
        };
        timeout_at(limit, first).await.unwrap_or_else(|_| Err(no_first_token(limit - begun)))
    }

    /// The deltas of an answer whose first is there, errors named after this provider. Its end is told to the breaker.
    fn stream(&self, answer: Answer, pass: Pass) -> DeltaStream {
        let presented = self.endpoint.presenter();
        let mut pass = Some(pass);
        Box::pin(answer.into_stream().map(move |delta| {
            match &delta {
                Ok(Delta::End { .. }) => pass.take().into_iter().for_each(Pass::ended),
                Ok(_) => {}
                Err(error) => pass.take().into_iter().for_each(|pass| pass.failed(error)),
            }
            delta.map_err(&presented)
        }))
    }
}

impl Provider for HttpProvider {
    fn name(&self) -> &str {
        self.endpoint.name()
    }

    fn ready(&self) -> Result<(), ProviderError> {
        self.endpoint.ready()
    }

    fn circuit(&self) -> Circuit {
        self.breaker.circuit()
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<DeltaStream, ProviderError>> {
        Box::pin(async move {
            self.ready()?;
            self.ask(completion).await.map_err(|error| self.endpoint.presented(error))
        })
    }
}

fn no_first_token(limit: Duration) -> ProviderError {
    let message = format!("no answer began within {:.1} s", limit.as_secs_f64());
    ProviderError::new(ProviderErrorKind::Timeout, message)
}

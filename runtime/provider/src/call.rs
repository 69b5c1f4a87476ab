//! One model call over HTTP: attempts until a first delta, then the answer as it arrives.

mod answer;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Client, Response, Url};
use roster_model::BoxFuture;
use roster_model::provider::{Completion, DeltaStream, Provider, ProviderError, ProviderErrorKind};
use tokio::time::{Instant, timeout_at};

use crate::client::innermost;
use crate::config::{Key, ProviderConfig};
use crate::refusal::{Refusal, shortened};
use crate::retry::{DEFAULT_RETRIES, Pace, asked_wait, with_retries};
use crate::sse::within_idle;

use answer::Answer;
#[cfg(test)]
pub(crate) use answer::answer_of;
pub(crate) use wire::{Deltas, Reader, Wire};

/// An answer that is not streamed shows nothing before its end: so many times the limit of a first token is waited.
const WHOLE_ANSWER_PATIENCE: u32 = 5;
/// Shorter keys are placeholders (`none`, `ollama`), and words of messages as well.
const SHORTEST_SECRET: usize = 8;
/// Most bytes of a refusal that are read.
const MAX_REFUSAL: usize = 64 * 1024;

/// A provider reached over HTTP, whatever its dialect.
pub(crate) struct HttpProvider {
    config: ProviderConfig,
    endpoint: Url,
    authorization: Option<HeaderValue>,
    client: Client,
    wire: Arc<dyn Wire>,
    pace: Arc<dyn Pace>,
    /// What must not be shown, should the provider repeat it in a message.
    secrets: Arc<[String]>,
}

impl HttpProvider {
    pub(crate) fn new(
        config: ProviderConfig,
        endpoint: Url,
        authorization: Option<HeaderValue>,
        client: Client,
        wire: Arc<dyn Wire>,
        pace: Arc<dyn Pace>,
    ) -> Self {
        let secrets = secrets(&config, &endpoint).into();
        Self { config, endpoint, authorization, client, wire, pace, secrets }
    }

    /// The same provider with another pace; for tests, which do not wait.
    #[cfg(test)]
    pub(crate) fn with_pace(mut self, pace: Arc<dyn Pace>) -> Self {
        self.pace = pace;
        self
    }

    async fn ask(&self, completion: Completion) -> Result<DeltaStream, ProviderError> {
        let deadline = completion.settings.timeout.map(|limit| Instant::now() + limit);
        let body = Bytes::from(self.wire.encode(&completion)?);
        let max_retries = completion.settings.max_retries.unwrap_or(DEFAULT_RETRIES);
        let attempt = || self.attempt(body.clone(), deadline);
        let answer = with_retries(&*self.pace, max_retries, deadline, attempt).await?;
        Ok(self.stream(answer))
    }

    /// Sends the request and waits for the first delta.
    async fn attempt(&self, body: Bytes, deadline: Option<Instant>) -> Result<Answer, ProviderError> {
        let begun = Instant::now();
        let patience = if self.config.stream { 1 } else { WHOLE_ANSWER_PATIENCE };
        let first_token = begun + self.config.timeouts.first_token.saturating_mul(patience);
        let limit = deadline.map_or(first_token, |deadline| deadline.min(first_token));
        let first = async {
            let response = self.send(body).await?;
            let idle = self.config.timeouts.idle;
            let mut answer = Answer::open(response, self.wire.reader(), idle, deadline).await?;
            answer.until_first_delta().await?;
            Ok(answer)
        };
        timeout_at(limit, first).await.unwrap_or_else(|_| Err(no_first_token(limit - begun)))
    }

    async fn send(&self, body: Bytes) -> Result<Response, ProviderError> {
        let mut request = self
            .client
            .post(self.endpoint.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"))
            .body(body);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() { Ok(response) } else { Err(self.refused(response).await) }
    }

    /// No answer at all came from the address.
    fn unreachable(&self, error: &reqwest::Error) -> ProviderError {
        let host = self.endpoint.host_str().unwrap_or_default();
        let port = self.endpoint.port_or_known_default().unwrap_or_default();
        let what = if error.is_connect() { "cannot be reached" } else { "closed the connection without an answer" };
        let message = format!("{what} at `{host}:{port}`: {}", shortened(&innermost(error)));
        ProviderError::new(ProviderErrorKind::Connect, message)
    }

    /// The error an HTTP status other than success stands for.
    async fn refused(&self, response: Response) -> ProviderError {
        let status = response.status();
        if status.is_redirection() {
            return redirected(&response);
        }
        let retry_after = asked_wait(response.headers(), self.pace.now());
        let body = some_of(response, self.config.timeouts.idle).await;
        // Before it is shortened, which could leave a part of a secret.
        let body = without_secrets(&String::from_utf8_lossy(&body), &self.secrets);
        ProviderError { retry_after, ..Refusal::from_body(status, body.as_bytes()).into_error() }
    }

    /// The deltas of an answer whose first is there, errors named after this provider.
    fn stream(&self, answer: Answer) -> DeltaStream {
        let name = self.config.name.clone();
        let secrets = Arc::clone(&self.secrets);
        Box::pin(answer.into_stream().map(move |delta| delta.map_err(|error| presented(error, &name, &secrets))))
    }
}

impl Provider for HttpProvider {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn ready(&self) -> Result<(), ProviderError> {
        let Key::Missing { variable } = &self.config.key else { return Ok(()) };
        let message = format!("the variable `{variable}` that holds the key is not set");
        Err(presented(ProviderError::new(ProviderErrorKind::KeyMissing, message), &self.config.name, &[]))
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<DeltaStream, ProviderError>> {
        Box::pin(async move {
            self.ready()?;
            self.ask(completion).await.map_err(|error| presented(error, &self.config.name, &self.secrets))
        })
    }
}

fn secrets(config: &ProviderConfig, endpoint: &Url) -> Vec<String> {
    let key = match &config.key {
        Key::Value(key) => Some(key.trim().to_owned()),
        Key::None | Key::Missing { .. } => None,
    };
    let password = endpoint.password().map(str::to_owned);
    key.into_iter().chain(password).filter(|secret| secret.len() >= SHORTEST_SECRET).collect()
}

/// The error as others see it: with the provider's name, without its secrets.
fn presented(mut error: ProviderError, name: &str, secrets: &[String]) -> ProviderError {
    error.message = format!("provider `{name}`: {}", without_secrets(&error.message, secrets));
    error
}

fn without_secrets(text: &str, secrets: &[String]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "[secret]"))
}

fn no_first_token(limit: Duration) -> ProviderError {
    let message = format!("no answer began within {:.1} s", limit.as_secs_f64());
    ProviderError::new(ProviderErrorKind::Timeout, message)
}

fn redirected(response: &Response) -> ProviderError {
    let target = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let host = target.and_then(|target| response.url().join(target).ok());
    let to = host.as_ref().and_then(Url::host_str).unwrap_or("another address");
    let status = response.status().as_u16();
    let message = format!("error {status}: redirected to `{to}`, which is not followed with a key; correct `base_url`");
    ProviderError { status: Some(status), ..ProviderError::new(ProviderErrorKind::BadRequest, message) }
}

/// The beginning of a body; what came before it broke off is better than nothing.
async fn some_of(response: Response, idle: Duration) -> Vec<u8> {
    let mut chunks = within_idle(response.bytes_stream(), idle);
    let mut body = Vec::new();
    while let Some(Ok(chunk)) = chunks.next().await {
        body.extend_from_slice(&chunk);
        if body.len() >= MAX_REFUSAL {
            break;
        }
    }
    body
}

//! The address of a provider: requests are sent to places below it, and what it refuses becomes an error.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Response, Url};
use roster_model::provider::{ProviderError, ProviderErrorKind};

use crate::client::innermost;
use crate::config::{Key, ProviderConfig};
use crate::refusal::{Refusal, shortened};
use crate::retry::{Pace, asked_wait};
use crate::secrets::Secrets;
use crate::sse::within_idle;

/// Most bytes of a refusal that are read.
const MAX_REFUSAL: usize = 64 * 1024;

/// An address with what is needed to ask there.
pub(crate) struct Endpoint {
    name: String,
    base: Url,
    key: Key,
    /// Those of every request: the key, and what else the dialect wants.
    headers: HeaderMap,
    client: Client,
    /// The longest silence in the body of a refusal.
    idle: Duration,
    pub(crate) pace: Arc<dyn Pace>,
    secrets: Secrets,
}

impl Endpoint {
    pub(crate) fn new(
        config: ProviderConfig,
        base: Url,
        headers: HeaderMap,
        client: Client,
        pace: Arc<dyn Pace>,
    ) -> Self {
        let ProviderConfig { name, key, timeouts, .. } = config;
        let secrets = Secrets::new(&key, &base);
        Self { name, base, key, headers, client, idle: timeouts.idle, pace, secrets }
    }

    /// The provider's key in the configuration.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What all addresses of the provider begin with.
    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// Whether a request could be sent at all.
    ///
    /// # Errors
    /// `KeyMissing` naming the variable; already presented.
    pub(crate) fn ready(&self) -> Result<(), ProviderError> {
        let Key::Missing { variable } = &self.key else { return Ok(()) };
        let message = format!("the variable `{variable}` that holds the key is not set");
        Err(self.presented(ProviderError::new(ProviderErrorKind::KeyMissing, message)))
    }

    /// Sends JSON and waits for the head of a successful answer.
    ///
    /// # Errors
    /// What stood in its way; not yet presented.
    pub(crate) async fn send(&self, url: Url, body: Bytes, accept: &'static str) -> Result<Response, ProviderError> {
        let request = self
            .client
            .post(url)
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(ACCEPT, HeaderValue::from_static(accept))
            .body(body);
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() { Ok(response) } else { Err(self.refused(response).await) }
    }

    /// The error as others see it: with the provider's name, without its secrets, in one line that is not too long.
    pub(crate) fn presented(&self, error: ProviderError) -> ProviderError {
        presented(error, &self.name, &self.secrets)
    }

    /// The same for errors that come when the endpoint is no longer at hand.
    pub(crate) fn presenter(&self) -> impl Fn(ProviderError) -> ProviderError + Send + use<> {
        let (name, secrets) = (self.name.clone(), self.secrets.clone());
        move |error| presented(error, &name, &secrets)
    }

    /// No answer at all came from the address, which stands in the log only: those who ask get the provider's name.
    fn unreachable(&self, error: &reqwest::Error) -> ProviderError {
        let address = self.base.host_str().zip(self.base.port_or_known_default());
        let (host, port) = address.unwrap_or_default();
        let what = if error.is_connect() { "cannot be reached" } else { "closed the connection without an answer" };
        let reason = self.secrets.masked(&innermost(error));
        tracing::warn!(provider = self.name, host, port, reason, "the provider {what}");
        let message = [Some(what), plain_cause(error)].into_iter().flatten().collect::<Vec<_>>().join(": ");
        ProviderError::new(ProviderErrorKind::Connect, message)
    }

    /// The error an HTTP status other than success stands for.
    async fn refused(&self, response: Response) -> ProviderError {
        let status = response.status();
        if status.is_redirection() {
            return self.redirected(&response);
        }
        let retry_after = asked_wait(response.headers(), self.pace.now());
        let body = some_of(response, self.idle).await;
        let error = Refusal::from_body(status, &body).into_error();
        ProviderError { retry_after: retry_after.or(error.retry_after), ..error }
    }

    /// The target stands in the log only, as the address does.
    fn redirected(&self, response: &Response) -> ProviderError {
        let target = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let target = target.and_then(|target| response.url().join(target).ok());
        let host = target.as_ref().and_then(Url::host_str).unwrap_or("another address");
        let status = response.status().as_u16();
        tracing::warn!(provider = self.name, status, host, "the provider redirects; correct `base_url`");
        let message = format!("error {status}: it redirects, which is not followed with a key; correct `base_url`");
        ProviderError { status: Some(status), ..ProviderError::new(ProviderErrorKind::BadRequest, message) }
    }
}

/// Puts `path` after the address's own path; a query (such as an `api-version`) stays.
pub(crate) fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url.set_fragment(None);
    url
}

/// The order matters: what is cut before the secrets are masked can end in half a secret.
fn presented(mut error: ProviderError, name: &str, secrets: &Secrets) -> ProviderError {
    error.message = format!("provider `{name}`: {}", shortened(&secrets.masked(&error.message)));
    error
}

/// The cause in words that hold no address, as those of name look-ups and certificates do.
fn plain_cause(error: &reqwest::Error) -> Option<&'static str> {
    let mut causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.find_map(|cause| match cause.downcast_ref::<io::Error>()?.kind() {
        io::ErrorKind::ConnectionRefused => Some("the connection was refused"),
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => Some("the connection was reset"),
        io::ErrorKind::TimedOut => Some("connecting took too long"),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Some("no way leads there"),
        _ => None,
    })
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

#[cfg(test)]
mod tests;

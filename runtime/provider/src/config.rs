//! How a provider is reached.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use roster_model::provider::Provider;

use crate::anthropic::Anthropic;
use crate::breaker::BreakerLimits;
use crate::call::{HttpProvider, Wire};
use crate::client::{ClientError, HttpClient, Route};
use crate::endpoint::Endpoint;
use crate::gemini::Gemini;
use crate::openai::OpenAi;
use crate::responses::Responses;

/// The form of HTTP a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Chat completions, as OpenAI, Ollama, vLLM, DeepSeek, Qwen and many others serve them.
    OpenAi,
    /// OpenAI's responses.
    OpenAiResponses,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's contents.
    Gemini,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::OpenAiResponses, Self::Anthropic, Self::Gemini];

    /// The name in configurations.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// The reverse of [`Dialect::name`].
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// Whether the provider also makes vectors, at `/embeddings` and in the form of OpenAI's.
    #[must_use]
    pub fn makes_vectors(self) -> bool {
        matches!(self, Self::OpenAi | Self::OpenAiResponses)
    }

    pub(crate) fn wire(self, stream: bool) -> Arc<dyn Wire> {
        match self {
            Self::OpenAi => Arc::new(OpenAi::new(stream)),
            Self::OpenAiResponses => Arc::new(Responses::new(stream)),
            Self::Anthropic => Arc::new(Anthropic::new(stream)),
            Self::Gemini => Arc::new(Gemini::new(stream)),
        }
    }
}

/// The version of Anthropic's interface that is spoken here; newer ones are opted into by header only.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// What a provider is shown to prove who asks.
#[derive(Clone, PartialEq, Eq)]
pub enum Key {
    /// No key is sent.
    None,
    /// The key itself; blanks around it are dropped.
    Value(String),
    /// The key should be in this environment variable, which is not set: calls fail naming it.
    Missing {
        /// The variable's name.
        variable: String,
    },
}

impl fmt::Debug for Key {
    /// Never the key itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Value(_) => f.write_str("Value(…)"),
            Self::Missing { variable } => f.debug_struct("Missing").field("variable", variable).finish(),
        }
    }
}

/// How long a provider may take. The limit of a whole call is in the model settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From sending the request to the first delta, for each attempt; five times as long where answers are not
    /// streamed. Default 60 s.
    pub first_token: Duration,
    /// Between two pieces of an answer; comments that keep a connection alive count as pieces. Default 60 s.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { first_token: Duration::from_secs(60), idle: Duration::from_secs(60) }
    }
}

/// A provider as configured.
#[derive(Clone)]
pub struct ProviderConfig {
    /// Its key in the configuration.
    pub name: String,
    /// What it speaks.
    pub dialect: Dialect,
    /// The address that paths such as `/chat/completions` are put after.
    pub base_url: String,
    /// The key.
    pub key: Key,
    /// Whether answers are asked for as streams; true unless the server cannot.
    pub stream: bool,
    /// Time limits.
    pub timeouts: Timeouts,
    /// When it is left alone after failures.
    pub breaker: BreakerLimits,
    /// The way to it.
    pub route: Route,
}

impl ProviderConfig {
    /// A provider that streams, without a key and with the default time limits.
    #[must_use]
    pub fn new(name: impl Into<String>, dialect: Dialect, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            dialect,
            base_url: base_url.into(),
            key: Key::None,
            stream: true,
            timeouts: Timeouts::default(),
            breaker: BreakerLimits::default(),
            route: Route::default(),
        }
    }
}

impl fmt::Debug for ProviderConfig {
    /// Neither the key nor credentials in the address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderConfig")
            .field("name", &self.name)
            .field("dialect", &self.dialect)
            .field("base_url", &without_credentials(&self.base_url))
            .field("key", &self.key)
            .field("stream", &self.stream)
            .field("timeouts", &self.timeouts)
            .field("breaker", &self.breaker)
            .field("route", &self.route)
            .finish()
    }
}

fn without_credentials(address: &str) -> String {
    let Ok(mut url) = Url::parse(address) else { return "(no address)".to_owned() };
    // Keys stand in queries, too. Only addresses that cannot hold credentials refuse to lose them.
    url.set_query(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// Why a provider cannot be made. No message shows a key or an address with credentials.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// `base_url` is no `http` or `https` address.
    #[error("base_url of provider `{name}` is no http or https address: {reason}")]
    BaseUrl {
        /// The provider.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// The key holds characters that cannot stand in a header.
    #[error("the key of provider `{name}` holds characters that cannot be sent, such as a line break")]
    Key {
        /// The provider.
        name: String,
    },
    /// Connections cannot be made.
    #[error("provider `{name}` cannot be reached: {source}")]
    Client {
        /// The provider.
        name: String,
        /// Why.
        source: ClientError,
    },
}

/// Makes the provider. No connection is made yet.
///
/// # Errors
/// [`ConfigError`] names the provider and what is wrong with its address or key.
pub fn build(config: ProviderConfig, client: &HttpClient) -> Result<Arc<dyn Provider>, ConfigError> {
    Ok(Arc::new(assemble(config, client)?))
}

pub(crate) fn assemble(config: ProviderConfig, client: &HttpClient) -> Result<HttpProvider, ConfigError> {
    let (stream, timeouts, breaker) = (config.stream, config.timeouts, config.breaker);
    let wire = config.dialect.wire(stream);
    Ok(HttpProvider::new(endpoint(config, client)?, stream, timeouts, breaker, wire))
}

/// The address of the provider, with what is sent along.
pub(crate) fn endpoint(config: ProviderConfig, client: &HttpClient) -> Result<Endpoint, ConfigError> {
    let base = base_url(&config)?;
    let headers = headers(&config)?;
    let pool = client
        .for_url(&base, &config.route)
        .map_err(|source| ConfigError::Client { name: config.name.clone(), source })?;
    Ok(Endpoint::new(config, base, headers, pool, client.pace()))
}

fn base_url(config: &ProviderConfig) -> Result<Url, ConfigError> {
    let bad = |reason: String| ConfigError::BaseUrl { name: config.name.clone(), reason };
    let url = Url::parse(config.base_url.trim()).map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!("its scheme is `{}`", url.scheme())));
    }
    if !url.has_host() {
        return Err(bad("it names no host".to_owned()));
    }
    Ok(url)
}

/// The headers every request carries.
fn headers(config: &ProviderConfig) -> Result<HeaderMap, ConfigError> {
    let mut headers = HeaderMap::new();
    if config.dialect == Dialect::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    let Key::Value(key) = &config.key else { return Ok(headers) };
    let key = key.trim();
    let (name, value) = match config.dialect {
        Dialect::OpenAi | Dialect::OpenAiResponses => (AUTHORIZATION, format!("Bearer {key}")),
        Dialect::Anthropic => (HeaderName::from_static("x-api-key"), key.to_owned()),
        Dialect::Gemini => (HeaderName::from_static("x-goog-api-key"), key.to_owned()),
    };
    let mut value = HeaderValue::from_str(&value).map_err(|_| ConfigError::Key { name: config.name.clone() })?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(headers)
}

#[cfg(test)]
mod tests;

//! How a provider is reached.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderValue;
use roster_model::provider::Provider;

use crate::call::HttpProvider;
use crate::client::{ClientError, HttpClient};
use crate::endpoint::Endpoint;
use crate::openai::OpenAi;

/// The form of HTTP a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Chat completions, as OpenAI, Ollama, vLLM, DeepSeek, Qwen and many others serve them.
    OpenAi,
}

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
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Makes the provider. No connection is made yet.
///
/// # Errors
/// [`ConfigError`] names the provider and what is wrong with its address or key.
pub fn build(config: ProviderConfig, client: &HttpClient) -> Result<Arc<dyn Provider>, ConfigError> {
    Ok(Arc::new(assemble(config, client)?))
}

pub(crate) fn assemble(config: ProviderConfig, client: &HttpClient) -> Result<HttpProvider, ConfigError> {
    let (stream, timeouts) = (config.stream, config.timeouts);
    let wire = match config.dialect {
        Dialect::OpenAi => Arc::new(OpenAi::new(stream)),
    };
    Ok(HttpProvider::new(endpoint(config, OpenAi::PATH, client)?, stream, timeouts, wire))
}

/// The address `path` of the provider.
pub(crate) fn endpoint(config: ProviderConfig, path: &str, client: &HttpClient) -> Result<Endpoint, ConfigError> {
    let url = below(&base_url(&config)?, path);
    let authorization = authorization(&config)?;
    let pool = client.for_url(&url)?;
    Ok(Endpoint::new(config, url, authorization, pool, client.pace()))
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

/// Puts `path` after the address's own path; a query (such as an `api-version`) stays.
fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url.set_fragment(None);
    url
}

fn authorization(config: &ProviderConfig) -> Result<Option<HeaderValue>, ConfigError> {
    let Key::Value(key) = &config.key else { return Ok(None) };
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.trim()))
        .map_err(|_| ConfigError::Key { name: config.name.clone() })?;
    value.set_sensitive(true);
    Ok(Some(value))
}

#[cfg(test)]
mod tests;

//! Vectors of texts from a provider: `POST {base_url}/embeddings`, as OpenAI and most compatible servers speak it.
//!
//! [`wire`] says how request and answer look and checks that an answer fits what was asked.

#[cfg(test)]
mod tests;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use roster_model::BoxFuture;
use roster_model::embedder::{EmbedError, EmbedErrorKind, Embedder};
use roster_model::provider::{Attempts, ProviderError, ProviderErrorKind};
use tokio::time::{Instant, timeout};

use crate::call::{WHOLE_ANSWER_PATIENCE, collect, html, is_html};
use crate::client::HttpClient;
use crate::config::{ConfigError, ProviderConfig, Timeouts, endpoint};
use crate::endpoint::{Endpoint, below};
use crate::retry::{Bounds, DEFAULT_RETRIES, with_retries};
use crate::sse::within_idle;

/// What stands after the base address.
const PATH: &str = "/embeddings";
/// Most bytes of a text that are sent: as much as the longest common models take. What comes after is left out.
pub const MAX_BYTES: usize = 32 * 1024;
/// A text that is too long for the model is halved until it fits, but not below so many bytes.
const SHORTEST_CUT: usize = 256;
/// Asked for when nothing else is, to learn how long the vectors are.
const PROBE: &str = ".";

/// A model of a provider that embeds texts.
#[derive(Debug, Clone)]
pub struct EmbeddingsConfig {
    /// How the provider is reached. Whether answers are streamed does not matter here.
    pub provider: ProviderConfig,
    /// The provider's own name of the model: what stands after the first `/`.
    pub model: String,
    /// How long the vectors should be, for models that can shorten them; `None`: as long as they are.
    pub dimensions: Option<usize>,
    /// Most texts in a request. A provider that takes fewer is asked with fewer after its first refusal.
    pub texts_at_once: usize,
}

impl EmbeddingsConfig {
    /// The model with vectors as long as they are, 32 texts in a request.
    #[must_use]
    pub fn new(provider: ProviderConfig, model: impl Into<String>) -> Self {
        Self { provider, model: model.into(), dimensions: None, texts_at_once: 32 }
    }
}

/// Makes the embedder. No connection is made yet.
///
/// Its space is `provider/model`, and `provider/model/DIMENSIONS` where a length was asked for. Without one,
/// `dimensions` is 0 until the first answer. Texts are cut at [`MAX_BYTES`]; one that the model still finds too long is
/// halved until it fits. A blank text is not sent and gets the zero vector. Failed requests are made again by the one
/// retry policy of providers; vectors come back at length 1.
///
/// # Errors
/// [`ConfigError`] names the provider and what is wrong with its address or key.
pub fn build(config: EmbeddingsConfig, client: &HttpClient) -> Result<Arc<dyn Embedder>, ConfigError> {
    Ok(Arc::new(assemble(config, client)?))
}

fn assemble(config: EmbeddingsConfig, client: &HttpClient) -> Result<HttpEmbedder, ConfigError> {
    let EmbeddingsConfig { provider, model, dimensions, texts_at_once } = config;
    let mut space = format!("{}/{model}", provider.name);
    if let Some(dimensions) = dimensions {
        space.push_str(&format!("/{dimensions}"));
    }
    let Timeouts { first_token, idle } = provider.timeouts;
    Ok(HttpEmbedder {
        endpoint: endpoint(provider, client)?,
        model,
        asked: dimensions,
        space,
        known: AtomicUsize::new(dimensions.unwrap_or(0)),
        at_once: AtomicUsize::new(texts_at_once.max(1)),
        limit: first_token.saturating_mul(WHOLE_ANSWER_PATIENCE),
        idle,
    })
}

struct HttpEmbedder {
    endpoint: Endpoint,
    model: String,
    asked: Option<usize>,
    space: String,
    /// How long vectors are; 0 until the first answer.
    known: AtomicUsize,
    /// How many texts the provider takes at once, as far as known.
    at_once: AtomicUsize,
    /// For one attempt.
    limit: Duration,
    idle: Duration,
}

impl Embedder for HttpEmbedder {
    fn space(&self) -> &str {
        &self.space
    }

    fn dimensions(&self) -> usize {
        self.known.load(Ordering::Relaxed)
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(async move {
            self.endpoint.ready().map_err(told)?;
            let cut = |text: &'a String| &text[..text.floor_char_boundary(MAX_BYTES)];
            let sent: Vec<&str> = texts.iter().map(cut).filter(|text| !is_blank(text)).collect();
            if sent.is_empty() && !texts.is_empty() && self.dimensions() == 0 {
                self.all(vec![PROBE]).await?;
            }
            let mut vectors = self.all(sent).await?.into_iter();
            let zero = || vec![0.0; self.dimensions()];
            let vector = |text| if is_blank(cut(text)) { Some(zero()) } else { vectors.next() };
            Ok(texts.iter().filter_map(vector).collect())
        })
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

impl HttpEmbedder {
    /// The vectors of all texts, in as many requests as it takes.
    async fn all(&self, mut texts: Vec<&str>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        let usual = self.at_once.load(Ordering::Relaxed);
        let mut at_once = usual;
        let mut was_cut = false;
        while vectors.len() < texts.len() {
            let begin = vectors.len();
            let end = texts.len().min(begin + at_once);
            match self.ask(&texts[begin..end]).await {
                Ok(some) => {
                    vectors.extend(some);
                    // The text that was too long is done.
                    at_once = if was_cut { usual } else { at_once };
                }
                // It may be that one of them is at fault, or that they are too many; half of them will show.
                Err(error) if may_be_size(&error) && end - begin > 1 => at_once = (end - begin).div_ceil(2),
                Err(error) => {
                    let shorter = shorter(texts[begin]).filter(|_| error.kind == ProviderErrorKind::ContextLength);
                    texts[begin] = shorter.ok_or_else(|| told(self.endpoint.presented(error)))?;
                    was_cut = true;
                }
            }
        }
        // Only their number was at fault: it is remembered.
        if !was_cut {
            self.at_once.fetch_min(at_once, Ordering::Relaxed);
        }
        Ok(vectors)
    }

    /// One request, made again where that may help.
    async fn ask(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ProviderError> {
        let body = Bytes::from(wire::encode(&self.model, texts, self.asked)?);
        let attempt = || async {
            let begun = Instant::now();
            let answer = self.attempt(body.clone(), texts.len());
            timeout(self.limit, answer).await.unwrap_or_else(|_| Err(no_answer(begun.elapsed())))
        };
        let attempts = Attempts::default();
        let bounds = Bounds { max_retries: DEFAULT_RETRIES, deadline: None, may_retry: &|| true, attempts: &attempts };
        with_retries(&*self.endpoint.pace, bounds, attempt).await
    }

    async fn attempt(&self, body: Bytes, texts: usize) -> Result<Vec<Vec<f32>>, ProviderError> {
        let response = self.endpoint.send(below(self.endpoint.base(), PATH), body, "application/json").await?;
        let answer = collect(&mut within_idle(response.bytes_stream(), self.idle)).await?;
        if is_html(&answer) {
            return Err(html());
        }
        let vectors = wire::decode(&answer, texts)?;
        let length = vectors.first().map_or(0, Vec::len);
        match self.known.compare_exchange(0, length, Ordering::Relaxed, Ordering::Relaxed) {
            Err(known) if known != length => Err(other_length(length, known)),
            _ => Ok(vectors),
        }
    }
}

/// Whether fewer or shorter texts may help.
fn may_be_size(error: &ProviderError) -> bool {
    matches!(error.kind, ProviderErrorKind::BadRequest | ProviderErrorKind::ContextLength)
}

/// The first half of a text, if that is long enough to be worth it.
fn shorter(text: &str) -> Option<&str> {
    let half = &text[..text.floor_char_boundary(text.len() / 2)];
    (half.len() >= SHORTEST_CUT && !is_blank(half)).then_some(half)
}

fn told(error: ProviderError) -> EmbedError {
    use ProviderErrorKind as Kind;
    let kind = match error.kind {
        Kind::KeyMissing => EmbedErrorKind::KeyMissing,
        Kind::Connect | Kind::Timeout | Kind::RateLimited | Kind::Overloaded | Kind::Server | Kind::Truncated => {
            EmbedErrorKind::Unreachable
        }
        Kind::Auth | Kind::NotFound | Kind::BadRequest | Kind::ContentFilter => EmbedErrorKind::Refused,
        Kind::ContextLength => EmbedErrorKind::TooLong,
        Kind::Protocol | Kind::Empty => EmbedErrorKind::BadAnswer,
    };
    EmbedError::new(kind, error.message)
}

fn no_answer(waited: Duration) -> ProviderError {
    let message = format!("no whole answer came within {:.1} s", waited.as_secs_f64());
    ProviderError::new(ProviderErrorKind::Timeout, message)
}

fn other_length(length: usize, known: usize) -> ProviderError {
    let message = format!("its vectors have {length} numbers instead of {known}");
    ProviderError::new(ProviderErrorKind::Protocol, message)
}

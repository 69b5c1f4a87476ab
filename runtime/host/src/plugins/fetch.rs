//! The network for plugins that may ask it: bounded, and no further than where they were let.

use std::time::Duration;

use futures_util::StreamExt;
use reqwest::redirect::Policy;
use reqwest::{Client, Method};
use roster_abi::contract::{Fetch as Request, Fetched};
use roster_model::BoxFuture;
use roster_plugin::asks::{Fetch, FetchError};
use serde_json::{Map, Value};

use crate::error::HostError;

/// The longest a request takes, whatever is asked.
const LONGEST: Duration = Duration::from_secs(60);
/// The longest a request takes unless it is asked otherwise.
const USUAL: Duration = Duration::from_secs(20);
/// The largest body of an answer.
const LARGEST: usize = 4 * 1024 * 1024;

/// One set of connections for all plugins.
pub(super) struct Network(Client);

impl Network {
    pub(super) fn new() -> Result<Self, HostError> {
        // Whoever was first chose the same.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = Client::builder()
            .user_agent(concat!("roster-plugin/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .connect_timeout(Duration::from_secs(10))
            .build();
        client
            .map(Self)
            .map_err(|error| HostError::Internal(format!("the HTTP client of plugins cannot be made: {error}")))
    }

    async fn ask(&self, request: Request) -> Result<Fetched, FetchError> {
        let invalid = |message: String| FetchError { code: "http_invalid", message };
        let method = request.method.as_deref().unwrap_or("GET");
        let method: Method = method.parse().map_err(|_| invalid(format!("`{method}` is no method")))?;
        let time = request.timeout_ms.map_or(USUAL, Duration::from_millis).min(LONGEST);
        let mut builder = self.0.request(method, &request.url).timeout(time);
        for (name, value) in &request.headers {
            let value = value.as_str().ok_or_else(|| invalid(format!("the header `{name}` is no text")))?;
            builder = builder.header(name, value);
        }
        if let Some(body) = request.body {
            builder = builder.body(body);
        }
        let response = builder.send().await.map_err(|error| told(&error))?;
        let status = response.status().as_u16();
        let mut headers = Map::new();
        for (name, value) in response.headers() {
            headers.insert(name.to_string(), Value::String(String::from_utf8_lossy(value.as_bytes()).into_owned()));
        }
        let (mut body, mut stream) = (Vec::new(), response.bytes_stream());
        while let Some(piece) = stream.next().await {
            let piece = piece.map_err(|error| told(&error))?;
            if body.len() + piece.len() > LARGEST {
                let message = format!("the answer has more than {} MiB", LARGEST >> 20);
                return Err(FetchError { code: "http_too_large", message });
            }
            body.extend_from_slice(&piece);
        }
        Ok(Fetched { status, headers, body: String::from_utf8_lossy(&body).into_owned() })
    }
}

impl Fetch for Network {
    fn fetch(&self, request: Request) -> BoxFuture<'_, Result<Fetched, FetchError>> {
        Box::pin(self.ask(request))
    }
}

/// Without the address: it may hold what is nobody's business.
fn told(error: &reqwest::Error) -> FetchError {
    let (code, message) = if error.is_timeout() {
        ("http_timeout", "no answer in time")
    } else if error.is_builder() || error.is_request() && !error.is_connect() {
        ("http_invalid", "the request cannot be made")
    } else {
        ("http_unreachable", "no connection, or it broke")
    };
    FetchError { code, message: message.to_owned() }
}

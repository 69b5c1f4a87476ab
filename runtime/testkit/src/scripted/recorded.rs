//! What the server was sent.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

/// A request as it came. Clones are the same request.
#[derive(Clone)]
pub struct RecordedRequest(Arc<Inner>);

struct Inner {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Bytes,
    json: OnceLock<Option<Value>>,
    at: Instant,
    connection: u64,
    closed: watch::Receiver<Option<Instant>>,
}

/// The pieces the connection hands over.
pub(super) struct Received {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
    pub(super) at: Instant,
    pub(super) connection: u64,
    pub(super) closed: watch::Receiver<Option<Instant>>,
}

impl RecordedRequest {
    pub(super) fn new(received: Received) -> Self {
        let Received { method, path, headers, body, at, connection, closed } = received;
        Self(Arc::new(Inner { method, path, headers, body, json: OnceLock::new(), at, connection, closed }))
    }

    /// `POST`, `GET` …
    #[must_use]
    pub fn method(&self) -> &str {
        &self.0.method
    }

    /// Path and query as sent: `/v1/chat/completions`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// All headers in the order sent, names in lower case.
    #[must_use]
    pub fn headers(&self) -> &[(String, String)] {
        &self.0.headers
    }

    /// The first header of this name, in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body, byte for byte.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.0.body
    }

    /// The body as JSON; `None` when it is none.
    #[must_use]
    pub fn json(&self) -> Option<&Value> {
        self.0.json.get_or_init(|| serde_json::from_slice(&self.0.body).ok()).as_ref()
    }

    /// The messages of the body, whatever its dialect calls them; empty when there are none.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        let names = ["messages", "input", "contents"];
        let found = self.json().and_then(|body| names.iter().find_map(|name| body[name].as_array()));
        found.map_or(&[], Vec::as_slice)
    }

    /// The words of the newest user message, text parts joined; empty when there is none.
    #[must_use]
    pub fn last_user_text(&self) -> String {
        self.messages().iter().rev().find(|message| message["role"] == "user").map(text_of).unwrap_or_default()
    }

    /// When it was read whole, by tokio's clock.
    #[must_use]
    pub fn at(&self) -> Instant {
        self.0.at
    }

    /// The number of its connection, counted from 1: two requests with one number shared a connection.
    #[must_use]
    pub fn connection(&self) -> u64 {
        self.0.connection
    }

    /// When the peer closed this request's connection, if it has.
    #[must_use]
    pub fn closed_at(&self) -> Option<Instant> {
        *self.0.closed.borrow()
    }

    /// Waits until this request's connection is closed.
    pub async fn closed(&self) {
        let mut closed = self.0.closed.clone();
        // An error means that the connection's task is gone, which is closed as well.
        drop(closed.wait_for(Option::is_some).await);
    }
}

impl fmt::Debug for RecordedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedRequest")
            .field("method", &self.0.method)
            .field("path", &self.0.path)
            .field("headers", &self.0.headers)
            .field("body", &String::from_utf8_lossy(&self.0.body))
            .finish_non_exhaustive()
    }
}

/// The words of a message's `content`, be it a string or a list of parts.
pub(super) fn text_of(message: &Value) -> String {
    let content = if message["parts"].is_array() { &message["parts"] } else { &message["content"] };
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

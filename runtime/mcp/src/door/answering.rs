//! One HTTP request at the door: whose session it is, and how many there may be.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::agents::{Agents, Caller, OfferedAgent};
use super::handler::Handler;

/// The body of an answer.
pub type Body = BoxBody<Bytes, Infallible>;

/// Sessions at once; one more is told to come back.
const MOST_SESSIONS: usize = 1_000;
/// Of one token's at once; one more ends the oldest of them.
const MOST_OF_ONE: usize = 64;
/// A session of which nothing is heard ends.
const IDLE: Duration = Duration::from_secs(10 * 60);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The door. One per process.
pub struct Door {
    service: StreamableHttpService<Handler, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// Who began each session.
    owners: Mutex<HashMap<String, Owner>>,
    agents: Arc<dyn Agents>,
    /// What is offered; whoever listens is told when it is another list.
    offered: watch::Sender<Vec<OfferedAgent>>,
}

/// Who began a session, and when.
struct Owner {
    subject: Option<String>,
    began: Instant,
}

impl Door {
    /// A door to these agents. Its sessions end when `end` is cancelled.
    #[must_use]
    pub fn new(agents: Arc<dyn Agents>, end: CancellationToken) -> Self {
        let offered = watch::Sender::new(agents.offered());
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(IDLE);
        let sessions = Arc::new(sessions);
        // The listener in front has looked at `Host`, `Origin` and the size already, by its own configuration.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(usize::MAX)
            .with_cancellation_token(end);
        let (asked, seen) = (Arc::clone(&agents), offered.subscribe());
        let handler = move || Ok(Handler::new(Arc::clone(&asked), seen.clone()));
        let service = StreamableHttpService::new(handler, Arc::clone(&sessions), config);
        Self { service, sessions, owners: Mutex::default(), agents, offered }
    }

    /// What may be offered could be another list now: who listens is told, if it is.
    pub fn look_again(&self) {
        let now = self.agents.offered();
        self.offered.send_if_modified(|before| {
            let changed = *before != now;
            if changed {
                *before = now;
            }
            changed
        });
    }

    /// Answers a request of `caller`, whose body was read whole.
    pub async fn answer(&self, mut request: Request<Bytes>, caller: Caller) -> Response<Body> {
        let session = request.headers().get(&SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        match &session {
            Some(session) if !self.is_of(session, &caller) => {
                return refused(StatusCode::NOT_FOUND, "there is no such session; begin a new one with `initialize`");
            }
            None if begins(&request) && self.sessions.sessions.read().await.len() >= MOST_SESSIONS => {
                let mut response = refused(StatusCode::SERVICE_UNAVAILABLE, "too many sessions; come back later");
                response.headers_mut().insert(http::header::RETRY_AFTER, HeaderValue::from_static("60"));
                return response;
            }
            _ => {}
        }
        let subject = caller.subject.clone();
        request.extensions_mut().insert(caller);
        let sent = request.body().clone();
        let is_json = is_json(&request);
        let response = self.service.handle(request.map(Full::new)).await;
        // The library's word for a body that it cannot read, too.
        if is_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            return unread(&sent);
        }
        if session.is_none()
            && let Some(begun) = response.headers().get(&SESSION).and_then(|id| id.to_str().ok())
        {
            self.remember(begun.to_owned(), subject).await;
        }
        response
    }

    /// Whether a session is this caller's. One that nobody began is nobody's: the library says so.
    fn is_of(&self, session: &str, caller: &Caller) -> bool {
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.get(session).is_none_or(|owner| owner.subject == caller.subject)
    }

    async fn remember(&self, session: String, subject: Option<String>) {
        let surplus = {
            let alive = self.sessions.sessions.read().await;
            let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
            owners.retain(|id, _| alive.contains_key(id.as_str()));
            owners.insert(session, Owner { subject: subject.clone(), began: Instant::now() });
            // Where nobody is asked for a token, nobody can be told from the others.
            if subject.is_some() { oldest_above(&owners, &subject) } else { Vec::new() }
        };
        for session in surplus {
            // One that ended by itself meanwhile is ended all the same.
            let _ = self.sessions.close_session(&session.into()).await;
        }
    }
}

/// The sessions that somebody has too many, the oldest.
fn oldest_above(owners: &HashMap<String, Owner>, subject: &Option<String>) -> Vec<String> {
    let mut own: Vec<_> = owners.iter().filter(|(_, owner)| owner.subject == *subject).collect();
    own.sort_by_key(|(_, owner)| owner.began);
    own.iter().take(own.len().saturating_sub(MOST_OF_ONE)).map(|(id, _)| (*id).clone()).collect()
}

/// Whether a request would begin a session.
fn begins(request: &Request<Bytes>) -> bool {
    request.method() == Method::POST
        && serde_json::from_slice::<Value>(request.body()).is_ok_and(|message| message["method"] == "initialize")
}

fn is_json(request: &Request<Bytes>) -> bool {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// What is wrong with a body that is no message.
fn unread(body: &[u8]) -> Response<Body> {
    match serde_json::from_slice(body) {
        Err(error) => fault(StatusCode::BAD_REQUEST, -32700, &format!("the body is not JSON: {error}")),
        Ok(Value::Array(_)) => {
            fault(StatusCode::BAD_REQUEST, -32600, "a batch is not taken; send one message at a time")
        }
        Ok(_) => fault(StatusCode::BAD_REQUEST, -32600, "the body is not a message of JSON-RPC 2.0"),
    }
}

/// A refusal in the form of the protocol: an error without the id of a request.
fn refused(status: StatusCode, message: &str) -> Response<Body> {
    fault(status, -32600, message)
}

fn fault(status: StatusCode, code: i32, message: &str) -> Response<Body> {
    let body = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

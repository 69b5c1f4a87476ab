//! What the doors are handed by whoever assembles the runtime.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use roster_engine::registry::{Control, Registry};
use roster_engine::turn::Services;
use roster_model::BoxFuture;
use roster_model::housekeeping::SessionStore;
use roster_model::id::ResourceId;
use roster_model::source::ToolSource;
use roster_model::storage::OperatorStore;

use crate::http::limits::DEFAULT_BODY_LIMIT;

/// Everything behind the doors. One per process, shared by both listeners.
pub struct App {
    /// The agents served now.
    pub registry: Arc<Registry>,
    /// Clock, ids, limits and the tracker of all tasks. Its `draining` and `stop` also steer the listeners.
    pub services: Arc<Services>,
    /// The sessions store, opened once; the agents' memories hold the same one.
    pub store: Arc<dyn SessionStore>,
    /// The same store as the operator sees it: its health, and who owns a thread.
    pub operator: Arc<dyn OperatorStore>,
    /// Reloads, pins and tells what happens; without one those routes of `/admin` answer 503 `not_available`.
    pub control: Option<Arc<dyn Control>>,
    /// MCP servers whose tools agents use; `/admin/mcp` shows how they stand.
    pub servers: Arc<dyn ToolSource>,
    /// The door `/mcp`; without one it is closed.
    pub mcp: Option<Arc<dyn McpDoor>>,
    /// What may change while running.
    pub config: Arc<ArcSwap<HttpConfig>>,
    /// False until the first registry is published: `/ready` answers 503 `starting`.
    pub ready: Arc<AtomicBool>,
    /// The runtime's version, shown by Studio and `/openapi.json`.
    pub version: &'static str,
}

/// Who asks at the door `/mcp`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpCaller {
    /// The holder of a token; `None` while authentication is off.
    pub subject: Option<String>,
    /// The owner of their conversations; `None` while authentication is off.
    pub resource: Option<ResourceId>,
}

/// A request whose body was read whole.
pub type McpRequest = http::Request<Bytes>;
/// An answer, which may be a stream.
pub type McpResponse = http::Response<BoxBody<Bytes, Infallible>>;

/// Speaks the Model Context Protocol behind `/mcp`. Who comes to it was let in already.
pub trait McpDoor: Send + Sync + 'static {
    /// Whether any agent is offered.
    fn is_open(&self) -> bool;

    /// Answers one request.
    fn answer(&self, request: McpRequest, caller: McpCaller) -> BoxFuture<'_, McpResponse>;
}

/// Settings of the doors. Swapped as a whole; each request reads it once.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// Browser origins the gateway allows beyond loopback: `https://app.example`, or `*` (works only with auth on).
    pub gateway_cors: Vec<String>,
    /// The same for Studio's listener.
    pub studio_cors: Vec<String>,
    /// Who may call.
    pub auth: Auth,
    /// The largest request body in bytes, on every door. Default 4 MiB.
    pub body_limit: usize,
    /// Requests a minute for each identity (without one: each peer address); 0 means no limit. Public routes are free.
    pub requests_per_minute: u32,
    /// Where the gateway listens, for the example Studio's page shows.
    pub gateway_address: Option<SocketAddr>,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            gateway_cors: Vec::new(),
            studio_cors: Vec::new(),
            auth: Auth::None,
            body_limit: DEFAULT_BODY_LIMIT,
            requests_per_minute: 0,
            gateway_address: None,
        }
    }
}

/// Who may call.
#[derive(Debug, Clone)]
pub enum Auth {
    /// Everybody; clients may name their resource.
    None,
    /// Whoever shows one of these tokens as `Authorization: Bearer …`.
    Tokens(Vec<TokenGrant>),
}

/// What a token stands for. The token itself is never kept.
#[derive(Debug, Clone)]
pub struct TokenGrant {
    /// SHA-256 of the token's bytes.
    pub sha256: [u8; 32],
    /// Who it is, for logs and rate limits.
    pub subject: String,
    /// The owner of all its threads; wins over whatever the client sends.
    pub resource: ResourceId,
    /// What it opens.
    pub scopes: Vec<Scope>,
}

/// What a token opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The gateway.
    Chat,
    /// Studio and the Mastra REST there.
    Studio,
    /// `/admin`; includes the others.
    Admin,
}

impl Scope {
    /// The word of the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Studio => "studio",
            Self::Admin => "admin",
        }
    }

    /// The reverse of [`Scope::as_str`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Chat, Self::Studio, Self::Admin].into_iter().find(|scope| scope.as_str() == text)
    }
}

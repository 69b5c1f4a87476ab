//! The task of one server: connect, list, wait for what happens; after the end, again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, PingRequest, ProtocolVersion, ServerNotification, SubscriptionFilter};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, PeerRequestOptions, RunningService, ServiceError, Subscription,
    serve_client_with_lifecycle,
};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::backoff::{Backoff, GOOD};
use super::child::{self, Process};
use super::config::Reach;
use super::hearing::Hearing;
use super::listing::list;
use super::server::Server;
use super::web::{self, root_cause};

/// A connection without a call under way is asked whether it lives. While there is one, its own time is the bound: a
/// server that does one thing after the other answers nothing else until it is done.
const ASK_EVERY: Duration = Duration::from_secs(30);
const ASK_PATIENCE: Duration = Duration::from_secs(10);
/// However often a server says that its tools changed, they are asked for no more often than this.
const RELIST_EVERY: Duration = Duration::from_secs(1);
/// How long closing may take.
const CLOSE: Duration = Duration::from_secs(2);

/// What a connection is made with.
#[derive(Clone)]
pub(super) struct Means {
    pub(super) tracker: TaskTracker,
    pub(super) http: reqwest::Client,
}

/// Keeps a server connected until `end`.
pub(super) async fn keep(server: Arc<Server>, means: Means, end: CancellationToken) {
    tries(&server, &means, &end).await;
    server.retire();
}

async fn tries(server: &Arc<Server>, means: &Means, end: &CancellationToken) {
    let mut backoff = Backoff::default();
    let mut first = true;
    let mut told = None;
    while !end.is_cancelled() {
        let began = Instant::now();
        let Err(reason) = once(server, means, end, first).await else { return };
        first = false;
        if end.is_cancelled() {
            return;
        }
        if began.elapsed() >= GOOD {
            backoff.reset();
        }
        let pause = backoff.next();
        // The same again is no news.
        if told.as_ref() == Some(&reason) {
            tracing::debug!(server = server.name(), again_in_ms = pause.as_millis(), "MCP server {reason}");
        } else {
            tracing::warn!(server = server.name(), again_in_ms = pause.as_millis(), "MCP server {reason}");
            told = Some(reason.clone());
        }
        server.gone(reason);
        tokio::select! {
            () = end.cancelled() => return,
            () = server.hurry.notified() => {}
            () = sleep(pause) => {}
        }
    }
}

/// One connection, from its beginning to its end; an `Err` says why it ended, as a fragment. `Ok` is the wanted end.
async fn once(server: &Arc<Server>, means: &Means, end: &CancellationToken, first: bool) -> Result<(), String> {
    let patience = server.config.start_timeout;
    let starting = async {
        let mut link = Link::open(server, means).await?;
        match listed(server, &mut link).await {
            Ok(()) => Ok(link),
            Err(reason) => Err(link.close(reason).await),
        }
    };
    let started = tokio::select! {
        () = end.cancelled() => return Ok(()),
        started = timeout(patience, starting) => started,
    };
    let mut link = started.map_err(|_| format!("was not ready within {} s", patience.as_secs_f64()))??;
    tracing::info!(server = server.name(), tools = server.group().tools.len(), "MCP server ready");
    if !first {
        server.reconnected();
    }
    let reason = tokio::select! {
        () = end.cancelled() => None,
        Err(reason) = attend(server, &mut link) => Some(reason),
    };
    match reason {
        None => {
            drop(link.close(String::new()).await);
            Ok(())
        }
        Some(reason) => Err(link.close(reason).await),
    }
}

/// Asks for the tools and offers them.
async fn listed(server: &Arc<Server>, link: &mut Link) -> Result<(), String> {
    let peer = link.service.peer();
    let info = peer.peer_info();
    let has_tools = info.as_ref().is_none_or(|info| info.capabilities.tools.is_some());
    let about = info.as_ref().and_then(|info| info.server_info.as_ref());
    let about = about.map(|about| super::secrets::cut(&format!("{} {}", about.name, about.version), 200));
    server.met(about, info.as_ref().map(|info| super::secrets::cut(info.protocol_version.as_str(), 40)));
    // A server of prompts and resources alone has no list of tools to ask for.
    let listing = if has_tools { list(server.name(), peer, &server.secrets).await? } else { Default::default() };
    server.ready(peer, listing);
    Ok(())
}

/// Until the connection ends; says why.
async fn attend(server: &Arc<Server>, link: &mut Link) -> Result<Infallible, String> {
    let peer = link.service.peer().clone();
    let pings = peer.peer_info().is_some_and(|info| info.protocol_version < ProtocolVersion::NO_INITIALIZE);
    let mut changes = if pings { None } else { subscribed(&peer).await };
    loop {
        tokio::select! {
            () = closed(&peer) => return Err("ended".to_owned()),
            () = server.relist.notified() => relist(server, link).await?,
            told = told(&mut changes) => if told { relist(server, link).await? } else { changes = None },
            () = server.suspect.notified() => alive(&peer, pings).await?,
            () = sleep(ASK_EVERY) => if server.is_idle() { alive(&peer, pings).await? },
        }
    }
}

async fn relist(server: &Arc<Server>, link: &mut Link) -> Result<(), String> {
    let began = Instant::now();
    listed(server, link).await?;
    sleep(RELIST_EVERY.saturating_sub(began.elapsed())).await;
    Ok(())
}

/// Until the transport is gone. Its end is found by looking: the library tells of it only whoever gives up the handle.
async fn closed(peer: &Peer<RoleClient>) {
    while !peer.is_transport_closed() {
        sleep(Duration::from_millis(50)).await;
    }
}

/// From the protocol of 2026-07-28 on, changes are told only to those who ask to be told.
async fn subscribed(peer: &Peer<RoleClient>) -> Option<Subscription> {
    let wanted = SubscriptionFilter::builder().tools_list_changed().build();
    timeout(ASK_PATIENCE, peer.listen(wanted)).await.ok()?.ok()
}

/// Whether the tools changed; false: no more will be told.
async fn told(changes: &mut Option<Subscription>) -> bool {
    let Some(subscription) = changes else { return std::future::pending().await };
    loop {
        match subscription.next().await {
            Ok(Some(ServerNotification::ToolListChangedNotification(_))) => return true,
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return false,
        }
    }
}

/// Whether the server answers. What it answers does not matter.
async fn alive(peer: &Peer<RoleClient>, pings: bool) -> Result<(), String> {
    if peer.is_transport_closed() {
        return Err("ended".to_owned());
    }
    let asked = async {
        if pings {
            let ping = ClientRequest::PingRequest(PingRequest::default());
            let handle = peer.send_cancellable_request(ping, PeerRequestOptions::no_options()).await?;
            handle.await_response().await.map(drop)
        } else {
            peer.discover(Default::default()).await.map(drop)
        }
    };
    match timeout(ASK_PATIENCE, asked).await {
        Ok(Ok(()) | Err(ServiceError::McpError(_) | ServiceError::UnexpectedResponse)) => Ok(()),
        Ok(Err(error)) => Err(format!("cannot be reached: {}", root_cause(&error))),
        Err(_) => Err(format!("gave no sign of life within {} s", ASK_PATIENCE.as_secs())),
    }
}

/// A connection, and the process at its other end if it is ours.
struct Link {
    service: RunningService<RoleClient, Hearing>,
    process: Option<Process>,
}

impl Link {
    /// Connects: by the handshake that all servers before 2026-07-28 know, and where that is refused, without one.
    async fn open(server: &Arc<Server>, means: &Means) -> Result<Self, String> {
        let preferred_versions = vec![ProtocolVersion::LATEST];
        match Self::open_as(server, means, ClientLifecycleMode::Initialize).await {
            Err(Unopened { refused: true, .. }) => {
                Self::open_as(server, means, ClientLifecycleMode::Discover { preferred_versions }).await
            }
            opened => opened,
        }
        .map_err(|unopened| unopened.reason)
    }

    async fn open_as(server: &Arc<Server>, means: &Means, mode: ClientLifecycleMode) -> Result<Self, Unopened> {
        let hearing = Hearing(Arc::clone(server));
        let stdio = matches!(server.config.reach, Reach::Stdio { .. });
        let unopened = |error: ClientInitializeError| {
            let refused = matches!(error, ClientInitializeError::JsonRpcError(_));
            let reason = match &error {
                ClientInitializeError::ConnectionClosed(_) => "ended before it was ready".to_owned(),
                // A pipe breaks only because its other end is gone.
                ClientInitializeError::TransportError { .. } if stdio => "ended before it was ready".to_owned(),
                ClientInitializeError::TransportError { error, .. } => {
                    format!("cannot be reached: {}", root_cause(&*error.error))
                }
                ClientInitializeError::JsonRpcError(fault) => format!("refused to begin: {}", fault.message),
                other => format!("does not speak the protocol: {other}"),
            };
            Unopened { reason: server.secrets.shown(&reason, 400), refused }
        };
        let plain = |reason| Unopened { reason, refused: false };
        match &server.config.reach {
            Reach::Stdio { .. } => {
                let (process, pipes) = child::start(server, &means.tracker).map_err(plain)?;
                match serve_client_with_lifecycle(hearing, pipes, mode).await {
                    Ok(service) => Ok(Self { service, process: Some(process) }),
                    Err(error) => {
                        let mut unopened = unopened(error);
                        if let Some(status) = process.end().await.filter(|_| !unopened.refused) {
                            unopened.reason = format!("{} ({status})", unopened.reason);
                        }
                        Err(unopened)
                    }
                }
            }
            reach @ Reach::Http { .. } => {
                let transport = web::transport(reach, &means.http).map_err(plain)?;
                let service = serve_client_with_lifecycle(hearing, transport, mode).await.map_err(unopened)?;
                Ok(Self { service, process: None })
            }
        }
    }

    /// Ends the connection and the process; gives the reason, with how the process ended.
    async fn close(mut self, reason: String) -> String {
        // What hangs here is dropped, and a child is ended all the same.
        let _ = self.service.close_with_timeout(CLOSE).await;
        drop(self.service);
        match self.process {
            None => reason,
            Some(process) => match process.end().await {
                Some(status) => format!("{reason} ({status})"),
                None => reason,
            },
        }
    }
}

/// Why a connection could not be made.
struct Unopened {
    reason: String,
    /// The server understood, and refused this way of beginning.
    refused: bool,
}

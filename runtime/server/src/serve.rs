//! A listener at work: accepts connections, keeps slow ones from holding it, and drains.

mod stall;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::response::{IntoResponse, Response};
use http::header::{CONNECTION, HeaderValue};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use roster_engine::turn::Services;
use stall::Unstalled;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::http::error;
use crate::http::limits::{HEAD_LIMIT, check_head};
use crate::http::origin::check_one_host;
use crate::http::peer::Peer;

/// The head of a request must be here this long after the connection was made or its last answer was sent.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// What hyper reads of a head before it gives up on it, with an empty answer. Above our own limit, whose answer says why.
const HEAD_READ: usize = 2 * HEAD_LIMIT;
/// A peer that takes no byte of what is sent to it for this long has left.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// What is left of interrupted turns goes out within this time; then connections are closed.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Pause after a failed accept: most often there are no file descriptors, which only waiting can mend.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` on `listener`. When `services.draining` is cancelled, idle connections are closed and requests under
/// way go on to their end; new connections are still accepted, so that `/ready` and `/health` can tell (the router
/// refuses the rest), until no turn is left or `services.stop` is cancelled. Shortly after `stop` everything is closed.
/// Returns when no connection is left.
pub async fn serve(listener: TcpListener, router: Router, services: Arc<Services>) {
    let connections = TaskTracker::new();
    let (ending, closing) = (CancellationToken::new(), CancellationToken::new());
    accept(&listener, &router, &services, &connections, &ending, &closing).await;
    drop(listener);
    ending.cancel();
    connections.close();
    tokio::select! {
        biased;
        () = connections.wait() => return,
        () = services.stop.cancelled() => {}
    }
    if tokio::time::timeout(LAST_WORDS, connections.wait()).await.is_err() {
        closing.cancel();
        connections.wait().await;
    }
}

/// Until the runtime begins to stop, and then as long as turns are under way.
async fn over(services: &Services) {
    services.draining.cancelled().await;
    tokio::select! {
        () = services.idle() => {}
        () = services.stop.cancelled() => {}
    }
}

async fn accept(
    listener: &TcpListener,
    router: &Router,
    services: &Arc<Services>,
    connections: &TaskTracker,
    ending: &CancellationToken,
    closing: &CancellationToken,
) {
    let loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let mut over = std::pin::pin!(over(services));
    loop {
        let accepted = tokio::select! {
            biased;
            () = over.as_mut() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, address)) => {
                let peer = Peer { address: address.ip().to_canonical(), loopback };
                // One that comes while draining is there to ask how things stand.
                let quiet = if services.draining.is_cancelled() { ending } else { &services.draining };
                let connection = Connection { address, peer, quiet: quiet.clone(), closing: closing.clone() };
                let connection = connection.serve(stream, router.clone());
                services.tracker.spawn(connections.track_future(connection));
            }
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(HEAD_READ);
    // No HTTP/2 on clear text: a peer that never opens its window takes nothing without ever stalling the socket.
    builder.http1_only()
}

/// What a connection is and when it ends.
struct Connection {
    address: SocketAddr,
    peer: Peer,
    /// Cancelled: it is closed when its requests are answered, at once when there is none.
    quiet: CancellationToken,
    /// Cancelled: it is closed at once.
    closing: CancellationToken,
}

impl Connection {
    async fn serve(self, stream: TcpStream, router: Router) {
        // Frames are small and must not wait for each other.
        let _ = stream.set_nodelay(true);
        let asked = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&asked);
        let peer = self.peer;
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            seen.store(true, Ordering::Relaxed);
            route(router.clone(), peer, request)
        });
        let builder = builder();
        let mut served =
            std::pin::pin!(builder.serve_connection(TokioIo::new(Unstalled::new(stream, WRITE_TIMEOUT)), service));
        // hyper's own head timeout begins only when the protocol is known, which takes bytes a slow client withholds.
        let mut first = std::pin::pin!(tokio::time::sleep(HEAD_TIMEOUT));
        let (mut waiting, mut quiet) = (true, false);
        let ended = loop {
            tokio::select! {
                ended = served.as_mut() => break ended,
                () = self.closing.cancelled() => return,
                () = self.quiet.cancelled(), if !quiet => {
                    quiet = true;
                    served.as_mut().graceful_shutdown();
                }
                () = first.as_mut(), if waiting => {
                    waiting = false;
                    if !asked.load(Ordering::Relaxed) {
                        return;
                    }
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(address = %self.address, %error, "a connection ended early");
        }
    }
}

/// Hands a request to the router, if it is one by the rules of HTTP.
async fn route(
    router: Router,
    peer: Peer,
    mut request: hyper::Request<Incoming>,
) -> Result<Response, std::convert::Infallible> {
    let headers = request.headers();
    if let Err(refused) = check_one_host(request.version(), headers).and_then(|()| check_head(request.uri(), headers)) {
        let mut response = error::shape(request.uri(), refused.into_response());
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        return Ok(response);
    }
    request.extensions_mut().insert(peer);
    router.oneshot(request).await
}

//! A listener at work: accepts connections, keeps slow ones from holding it, and drains.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use roster_engine::turn::Services;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;

use crate::http::peer::Peer;

/// The head of a request must be here this long after the connection was made or its last answer was sent.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest head of a request, in bytes.
const HEAD_LIMIT: usize = 64 * 1024;
/// What is left of interrupted turns goes out within this time; then connections are closed.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Pause after a failed accept: most often there are no file descriptors, which only waiting can mend.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` on `listener`. When `services.draining` is cancelled it accepts nothing more, idle connections are
/// closed and requests under way go on to their end; shortly after `services.stop` is cancelled the rest is closed.
/// Returns when no connection is left.
pub async fn serve(listener: TcpListener, router: Router, services: Arc<Services>) {
    let loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let connections = TaskTracker::new();
    let closing = CancellationToken::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = services.draining.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, address)) => {
                let peer = Peer { address: address.ip().to_canonical(), loopback };
                let connection =
                    connection(stream, address, peer, router.clone(), Arc::clone(&services), closing.clone());
                services.tracker.spawn(connections.track_future(connection));
            }
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
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

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_LIMIT)
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(64 * 1024)
        .keep_alive_interval(Some(Duration::from_secs(30)));
    builder
}

async fn connection(
    stream: TcpStream,
    address: SocketAddr,
    peer: Peer,
    router: Router,
    services: Arc<Services>,
    closing: CancellationToken,
) {
    // Frames are small and must not wait for each other.
    let _ = stream.set_nodelay(true);
    let asked = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&asked);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        seen.store(true, Ordering::Relaxed);
        request.extensions_mut().insert(peer);
        router.clone().call(request)
    });
    let builder = builder();
    let mut served = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    // hyper's own head timeout begins only when the protocol is known, which takes bytes a slow client withholds.
    let mut first = std::pin::pin!(tokio::time::sleep(HEAD_TIMEOUT));
    let (mut waiting, mut draining) = (true, false);
    let ended = loop {
        tokio::select! {
            ended = served.as_mut() => break ended,
            () = closing.cancelled() => return,
            () = services.draining.cancelled(), if !draining => {
                draining = true;
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
        tracing::debug!(%address, %error, "a connection ended early");
    }
}

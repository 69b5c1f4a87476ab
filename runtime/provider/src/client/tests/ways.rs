//! The ways to a provider, over real sockets: TLS with an authority of one's own, HTTP/2, proxies, time limits.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use roster_model::provider::{ProviderError, ProviderErrorKind as Kind};
use roster_testkit::scripted::{Gate, Reply, ScriptedServer};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::config::{Dialect, ProviderConfig, assemble};
use crate::tests::{all, hello, provider_with, text};

const OURS: &str = include_str!("../../../tests/golden/tls/authority.pem");
const CERTIFICATE: &[u8] = include_bytes!("../../../tests/golden/tls/server.pem");
const SERVER_KEY: &[u8] = include_bytes!("../../../tests/golden/tls/server.key");

/// A model server behind TLS that speaks HTTP/2 and 1.1.
struct TlsServer {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    versions: Arc<Mutex<Vec<Version>>>,
    _tasks: JoinSet<()>,
}

async fn tls_server(protocols: &[&[u8]]) -> TlsServer {
    drop(rustls::crypto::ring::default_provider().install_default());
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(SERVER_KEY).expect("a key");
    let mut config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("a server's TLS");
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (connections, versions) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    let (count, seen) = (Arc::clone(&connections), Arc::clone(&versions));
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut open = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let (acceptor, seen) = (acceptor.clone(), Arc::clone(&seen));
            open.spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = service_fn(move |request: Request<Incoming>| {
                    seen.lock().expect("lock").push(request.version());
                    std::future::ready(Ok::<_, Infallible>(answer()))
                });
                let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                drop(server.serve_connection(TokioIo::new(stream), service).await);
            });
        }
    });
    TlsServer { address, connections, versions, _tasks: tasks }
}

fn answer() -> Response<Full<Bytes>> {
    let body =
        "data: {\"choices\":[{\"delta\":{\"content\":\"safe\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let response = Response::builder().header("content-type", "text/event-stream");
    response.body(Full::new(Bytes::from(body))).expect("a response")
}

async fn asked(client: &HttpClient, base_url: &str, route: Route) -> (String, Option<ProviderError>) {
    let mut config = ProviderConfig::new("test", Dialect::OpenAi, base_url);
    config.route = route;
    let provider = assemble(config, client).expect("a provider");
    let mut completion = hello();
    completion.settings.max_retries = Some(0);
    let (deltas, error) = all(&provider, completion).await;
    (text(&deltas), error)
}

#[tokio::test]
async fn an_authority_of_ones_own_is_trusted_and_http2_is_one_connection_for_all() {
    let server = tls_server(&[b"h2", b"http/1.1"]).await;
    let base_url = format!("https://localhost:{}/v1", server.address.port());
    let client = client();
    let (said, error) = asked(&client, &base_url, Route::default()).await;
    assert_eq!((said.as_str(), error.map(|error| error.kind)), ("", Some(Kind::Connect)), "nobody vouches for it");
    let before = server.connections.load(Ordering::SeqCst);
    // The first makes the connection, the others share it.
    assert_eq!(asked(&client, &base_url, trusting(&[OURS])).await.0, "safe");
    let many = (0..16).map(|_| asked(&client, &base_url, trusting(&[OURS])));
    for (said, error) in futures_util::future::join_all(many).await {
        assert_eq!((said.as_str(), error.map(|error| error.message)), ("safe", None));
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), before + 1);
    let versions = server.versions.lock().expect("lock").clone();
    assert!(versions.len() == 17 && versions.iter().all(|version| *version == Version::HTTP_2), "{versions:?}");
}

#[tokio::test]
async fn a_server_without_http2_is_spoken_to_in_the_older_form() {
    let server = tls_server(&[b"http/1.1"]).await;
    let base_url = format!("https://127.0.0.1:{}/v1", server.address.port());
    assert_eq!(asked(&client(), &base_url, trusting(&[OURS])).await.0, "safe");
    assert_eq!(*server.versions.lock().expect("lock"), [Version::HTTP_11]);
}

#[tokio::test]
async fn a_proxy_is_asked_for_the_whole_address() {
    let proxy = ScriptedServer::start().await;
    let address = format!("http://me:pass-word@{}", proxy.address());
    let through = Route { proxy: ProxyChoice::Through(address), ..Route::default() };
    let (said, error) = asked(&client(), "http://models.example/v1", through).await;
    assert_eq!((said.as_str(), error.map(|error| error.message)), ("echo: hello", None));
    let request = proxy.requests().remove(0);
    assert_eq!(request.path(), "http://models.example/v1/chat/completions");
    // Base64 of `me:pass-word`.
    assert_eq!(request.header("proxy-authorization"), Some("Basic bWU6cGFzcy13b3Jk"));
}

#[tokio::test]
async fn a_proxy_that_is_none_and_no_proxy_at_all() {
    let bad = Route { proxy: ProxyChoice::Through("http://me:pass-word@".to_owned()), ..Route::default() };
    let error = client().for_url(&url("https://a.example/v1"), &bad).expect_err("bad");
    assert_eq!(error.to_string(), "the proxy's address is no http or https address");
    let server = ScriptedServer::start().await;
    let direct = Route { proxy: ProxyChoice::Direct, ..Route::default() };
    assert_eq!(asked(&client(), &server.base_url(), direct).await.0, "echo: hello");
}

#[test]
fn debug_shows_no_credentials_of_a_proxy() {
    let route = Route { proxy: ProxyChoice::Through("http://me:pass-word@p".to_owned()), ..Route::default() };
    assert!(!format!("{route:?}").contains("pass-word"));
}

/// The configured limits are those that count, not the defaults.
#[tokio::test]
async fn limits_of_first_token_and_silence_are_the_configured_ones() {
    let server = ScriptedServer::start().await;
    let gate = Gate::new();
    let limit = Duration::from_millis(50);
    for (reply, words) in [
        (Reply::text("never").hold(&gate), "no answer began within 0.1 s"),
        (Reply::text("one two").hold_before(2, &gate), "nothing came for 0.05 s"),
    ] {
        server.push(reply);
        let (provider, _) = provider_with(&server.base_url(), |config| {
            config.timeouts.first_token =
                if words.starts_with("no") && words.contains("began") { limit } else { 40 * limit };
            config.timeouts.idle = limit;
        });
        let mut completion = hello();
        completion.settings.max_retries = Some(0);
        let error = all(&provider, completion).await.1.expect("too slow");
        assert_eq!((error.kind, error.message), (Kind::Timeout, format!("provider `test`: {words}")));
    }
}

//! A small HTTP/1.1 client: one connection, kept open, one request at a time.

use std::net::SocketAddr;

use anyhow::{Context, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// A kept connection. Dropping it closes it.
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    /// Owns the task that moves the bytes.
    _driver: JoinSet<()>,
}

impl Connection {
    /// Connects, without waiting for small pieces to be gathered (`TCP_NODELAY`).
    ///
    /// # Errors
    /// When nothing listens there.
    pub async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await.with_context(|| format!("failed to connect to {address}"))?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // The failure shows at the request that waits for the answer.
            drop(connection.await);
        });
        Ok(Self { sender, host: address.to_string(), _driver: driver })
    }

    /// The whole body of a page, as text.
    ///
    /// # Errors
    /// When the connection breaks, the answer's status is not 200, or the body is no text.
    pub async fn get(&mut self, path: &str) -> anyhow::Result<String> {
        let request = Request::get(path).header("host", &self.host).body(Full::default())?;
        let body = self.send(path, request).await?.into_body().collect().await?.to_bytes();
        Ok(String::from_utf8(body.to_vec())?)
    }

    /// Posts a JSON body and gives the answer's head with the body still to be read.
    ///
    /// # Errors
    /// When the connection breaks, or the answer's status is not 200: the error then shows its body.
    pub async fn post(&mut self, path: &str, body: Bytes) -> anyhow::Result<Response<Incoming>> {
        let request = Request::post(path)
            .header("host", &self.host)
            .header("content-type", "application/json")
            .body(Full::new(body))?;
        self.send(path, request).await
    }

    async fn send(&mut self, path: &str, request: Request<Full<Bytes>>) -> anyhow::Result<Response<Incoming>> {
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        if status == StatusCode::OK {
            return Ok(response);
        }
        let body = response.into_body().collect().await?.to_bytes();
        bail!("{path} answered {status}: {}", String::from_utf8_lossy(&body))
    }
}

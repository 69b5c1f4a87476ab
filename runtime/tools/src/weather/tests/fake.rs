//! A weather service for tests: answers from a script, one connection each, and keeps what it was asked.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Instead of a status: says nothing and keeps the connection.
pub(super) const SILENT: u16 = 0;
/// Instead of a status: announces a longer body than it sends.
pub(super) const CUT: u16 = 1;

type Script = Arc<Mutex<VecDeque<(u16, String)>>>;

pub(super) struct Fake {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    tasks: JoinSet<()>,
}

impl Fake {
    pub(super) async fn start(script: &[(u16, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let script: Script =
            Arc::new(Mutex::new(script.iter().map(|(status, body)| (*status, (*body).to_owned())).collect()));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, script, Arc::clone(&asked)));
        Self { address, asked, tasks }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The targets asked for, in order.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("not poisoned").clone()
    }

    /// Gives the port back: who connects afterwards is refused.
    pub(super) async fn stop(&mut self) {
        self.tasks.shutdown().await;
    }
}

async fn serve(listener: TcpListener, script: Script, asked: Arc<Mutex<Vec<String>>>) {
    let mut kept = Vec::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        let target = read_target(&mut stream).await;
        asked.lock().expect("not poisoned").push(target);
        let next = script.lock().expect("not poisoned").pop_front();
        match next {
            Some((SILENT, _)) => kept.push(stream),
            Some((status, body)) => answer(&mut stream, status, &body).await,
            None => answer(&mut stream, 500, "nothing more in the script").await,
        }
    }
}

async fn read_target(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).await.expect("readable") == 0 {
            break;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("ASCII");
    head.split(' ').nth(1).unwrap_or_default().to_owned()
}

async fn answer(stream: &mut TcpStream, status: u16, body: &str) {
    let (status, length) = if status == CUT { (200, body.len() + 1) } else { (status, body.len()) };
    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    // A client that has seen enough may be gone already.
    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
}

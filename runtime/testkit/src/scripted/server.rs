//! The server: its queue, its records and the task that accepts connections.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::connection;
use super::dialect::ServerDialect;
use super::recorded::RecordedRequest;
use super::reply::Reply;
use super::strict::strict_fault_of;

type DefaultReply = Arc<dyn Fn(&RecordedRequest) -> Reply + Send + Sync>;

/// The server. Dropping it ends its task and closes every connection.
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Owns the accepting task, which owns the connections.
    _tasks: JoinSet<()>,
}

/// What the connections share.
pub(super) struct Shared {
    queue: Mutex<VecDeque<Reply>>,
    default: Mutex<DefaultReply>,
    requests: watch::Sender<Vec<RecordedRequest>>,
    strict: bool,
    pub(super) recording: bool,
}

/// How a server starts.
#[derive(Debug, Clone, Copy)]
pub struct Builder {
    strict: bool,
    recording: bool,
}

impl Builder {
    /// Answers 400 where the real providers refuse a request (see [`strict_fault_of`]).
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Keeps no records; for measurements, whose requests would fill the memory.
    #[must_use]
    pub fn without_records(mut self) -> Self {
        self.recording = false;
        self
    }

    /// Binds a free port of 127.0.0.1 and serves on the current runtime.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn start(self) -> ScriptedServer {
        let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await {
            Ok(listener) => listener,
            Err(error) => panic!("no port for the scripted server: {error}"),
        };
        let address = match listener.local_addr() {
            Ok(address) => address,
            Err(error) => panic!("the scripted server has no address: {error}"),
        };
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            default: Mutex::new(Arc::new(echo)),
            requests: watch::Sender::new(Vec::new()),
            strict: self.strict,
            recording: self.recording,
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&shared)));
        ScriptedServer { address, shared, _tasks: tasks }
    }
}

impl ScriptedServer {
    /// A server that records and is not strict; it echoes until told otherwise.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// A server of another kind.
    #[must_use]
    pub fn builder() -> Builder {
        Builder { strict: false, recording: true }
    }

    /// `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Puts a reply at the end of the queue; the next request without one gets it.
    pub fn push(&self, reply: Reply) {
        lock(&self.shared.queue).push_back(reply);
    }

    /// Decides what a request gets when the queue is empty. Without it: the newest user text as `echo: …`,
    /// and on `/embeddings` the made-up vectors of [`Reply::embeddings_of`].
    pub fn default_reply(&self, decide: impl Fn(&RecordedRequest) -> Reply + Send + Sync + 'static) {
        *lock(&self.shared.default) = Arc::new(decide);
    }

    /// The same reply whenever the queue is empty.
    pub fn always(&self, reply: Reply) {
        self.default_reply(move |_| reply.clone());
    }

    /// How many pushed replies nobody has asked for yet.
    #[must_use]
    pub fn left_in_queue(&self) -> usize {
        lock(&self.shared.queue).len()
    }

    /// Every request so far, in the order they were read.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.requests.borrow().clone()
    }

    /// Waits until so many requests have been read, and gives them all.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<RecordedRequest> {
        let mut requests = self.shared.requests.subscribe();
        // The sender lives as long as `self`, so the wait cannot fail.
        drop(requests.wait_for(|requests| requests.len() >= count).await);
        self.requests()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        self.shared.requests.send_modify(Vec::clear);
    }
}

impl Shared {
    /// Notes the request and gives its reply.
    pub(super) fn answer(&self, request: &RecordedRequest) -> Reply {
        if self.recording {
            self.requests.send_modify(|requests| requests.push(request.clone()));
        }
        if self.strict && request.method() == "POST" && !request.path().ends_with("/embeddings") {
            let dialect = ServerDialect::of(request.path());
            if let Some(fault) = strict_fault_of(dialect, request) {
                return Reply::refusal(dialect, 400, &fault);
            }
        }
        if let Some(reply) = lock(&self.queue).pop_front() {
            return reply;
        }
        let decide = Arc::clone(&lock(&self.default));
        decide(request)
    }
}

/// A base URL on which nothing listens: a port is taken and given back.
///
/// # Panics
/// When no port can be bound.
#[must_use]
pub fn refused_base_url() -> String {
    match std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr()) {
        Ok(address) => format!("http://{address}/v1"),
        Err(error) => panic!("no port to refuse on: {error}"),
    }
}

fn echo(request: &RecordedRequest) -> Reply {
    if request.method() == "POST" && request.path().ends_with("/embeddings") {
        Reply::embeddings_of(request)
    } else if request.method() == "POST" {
        Reply::text(format!("echo: {}", request.last_user_text()))
    } else {
        Reply::error(404, "invalid_request_error", None, "nothing is scripted for this address")
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    let mut count = 0;
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    count += 1;
                    start(&mut connections, stream, count, &shared);
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

fn start(connections: &mut JoinSet<()>, stream: TcpStream, number: u64, shared: &Arc<Shared>) {
    // Without it, small pieces would wait for one another's acknowledgement.
    drop(stream.set_nodelay(true));
    connections.spawn(connection::serve(stream, number, Arc::clone(shared)));
}

/// A test that panicked while holding the lock has failed already; the others go on.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

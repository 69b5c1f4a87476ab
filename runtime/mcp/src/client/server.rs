//! One server as everybody else sees it: how it stands, its tools, and the way to call them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleClient;
use rmcp::service::Peer;
use roster_model::source::{SourceState, Standing, ToolGroup};
use roster_model::time::{Clock, Timestamp};
use roster_model::tool::Tool;
use tokio::sync::{Notify, watch};

use super::config::ServerConfig;
use super::listing::Listing;
use super::secrets::Secrets;
use super::servers::Notice;
use super::tool::ServerTool;

/// A server.
pub(super) struct Server {
    pub(super) config: ServerConfig,
    pub(super) secrets: Arc<Secrets>,
    pub(super) notice: Arc<dyn Notice>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// Whether the first try is over, however it went.
    settled: watch::Sender<bool>,
    /// The server says that its tools are others now.
    pub(super) relist: Notify,
    /// A call found the connection broken.
    pub(super) suspect: Notify,
    /// Somebody asks to try again at once.
    pub(super) hurry: Notify,
    /// Why the newest message that could not be read was not. Whose answer it was is not known.
    pub(super) unread: watch::Sender<&'static str>,
    /// Calls that wait for their answer.
    under_way: AtomicUsize,
    calls: AtomicU64,
    errors: AtomicU64,
    reconnects: AtomicU64,
}

/// Where a server is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Connecting,
    Ready,
    Waiting,
    Disabled,
}

struct State {
    phase: Phase,
    since: Timestamp,
    revision: u64,
    tools: Arc<[Arc<dyn Tool>]>,
    left_out: Vec<String>,
    error: Option<String>,
    peer: Option<Peer<RoleClient>>,
    about: Option<String>,
    protocol: Option<String>,
}

/// Never the same twice in a process.
fn fresh_revision() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Server {
    pub(super) fn new(config: ServerConfig, clock: Arc<dyn Clock>, notice: Arc<dyn Notice>) -> Arc<Self> {
        let phase = if config.enabled { Phase::Connecting } else { Phase::Disabled };
        let state = State {
            phase,
            since: clock.now(),
            revision: fresh_revision(),
            tools: Arc::default(),
            left_out: Vec::new(),
            error: None,
            peer: None,
            about: None,
            protocol: None,
        };
        Arc::new(Self {
            secrets: Arc::new(Secrets::of(&config)),
            settled: watch::Sender::new(phase == Phase::Disabled),
            config,
            notice,
            clock,
            state: Mutex::new(state),
            relist: Notify::new(),
            suspect: Notify::new(),
            hurry: Notify::new(),
            unread: watch::Sender::new(""),
            under_way: AtomicUsize::new(0),
            calls: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            reconnects: AtomicU64::new(0),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.config.name
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection is there; its tools are not known yet.
    pub(super) fn met(&self, about: Option<String>, protocol: Option<String>) {
        let mut state = self.lock();
        (state.about, state.protocol) = (about, protocol);
    }

    /// It is ready with these tools. Tells who has to know, if they are others than before.
    pub(super) fn ready(self: &Arc<Self>, peer: &Peer<RoleClient>, listing: Listing) {
        let make = |spec| Arc::new(ServerTool::new(spec, Arc::clone(self))) as Arc<dyn Tool>;
        let changed = {
            let mut state = self.lock();
            let same = state.phase == Phase::Ready
                && state.tools.iter().map(|tool| tool.spec()).eq(listing.tools.iter())
                && state.left_out == listing.left_out;
            if !same {
                state.tools = listing.tools.into_iter().map(make).collect();
                state.left_out = listing.left_out;
                state.revision = fresh_revision();
            }
            if state.phase != Phase::Ready {
                (state.phase, state.since) = (Phase::Ready, self.clock.now());
            }
            state.peer = Some(peer.clone());
            state.error = None;
            !same
        };
        self.settle(changed);
    }

    /// It is not there, for this reason.
    pub(super) fn gone(&self, reason: String) {
        let changed = {
            let mut state = self.lock();
            let changed = state.phase != Phase::Waiting || state.error.as_ref() != Some(&reason);
            if state.phase != Phase::Waiting {
                (state.phase, state.since) = (Phase::Waiting, self.clock.now());
            }
            (state.peer, state.tools, state.error) = (None, Arc::default(), Some(reason));
            state.left_out.clear();
            if changed {
                state.revision = fresh_revision();
            }
            changed
        };
        self.settle(changed);
    }

    /// It is no longer kept: its tools, which hold it, are let go.
    pub(super) fn retire(&self) {
        let mut state = self.lock();
        (state.peer, state.tools) = (None, Arc::default());
        (state.phase, state.revision) = (Phase::Waiting, fresh_revision());
        state.error = Some("was ended".to_owned());
        drop(state);
        self.settled.send_replace(true);
    }

    fn settle(&self, changed: bool) {
        self.settled.send_replace(true);
        if changed {
            self.notice.tools_changed();
        }
    }

    /// Waits until the first try is over.
    pub(super) async fn settled(&self) {
        let mut settled = self.settled.subscribe();
        // The sender lives as long as this.
        let _ = settled.wait_for(|settled| *settled).await;
    }

    /// The way to the server, or why there is none.
    pub(super) fn peer(&self) -> Result<Peer<RoleClient>, String> {
        let state = self.lock();
        match &state.peer {
            Some(peer) if !peer.is_transport_closed() => Ok(peer.clone()),
            Some(_) => Err("has just ended".to_owned()),
            None => Err(match standing(&state) {
                Standing::Absent(reason) => reason,
                _ => "is not connected yet".to_owned(),
            }),
        }
    }

    /// The connection was made anew.
    pub(super) fn reconnected(&self) {
        self.reconnects.fetch_add(1, Ordering::Relaxed);
        self.notice.reconnected(self.name());
    }

    /// A call begins; [`Self::called`] tells of its end.
    pub(super) fn calling(&self) {
        self.under_way.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether no call waits for its answer.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) == 0
    }

    /// A call came to its end; `outcome` is `ok` or a machine code.
    pub(super) fn called(&self, outcome: &'static str) {
        self.under_way.fetch_sub(1, Ordering::Relaxed);
        self.calls.fetch_add(1, Ordering::Relaxed);
        if outcome != "ok" {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
        self.notice.called(self.name(), outcome);
    }

    pub(super) fn group(&self) -> ToolGroup {
        let state = self.lock();
        ToolGroup { revision: state.revision, tools: Arc::clone(&state.tools), standing: standing(&state) }
    }

    pub(super) fn state(&self) -> SourceState {
        let state = self.lock();
        SourceState {
            name: self.name().to_owned(),
            transport: self.config.transport(),
            state: match state.phase {
                Phase::Connecting => "connecting",
                Phase::Ready => "ready",
                Phase::Waiting => "waiting",
                Phase::Disabled => "disabled",
            },
            since: state.since,
            tools: state.tools.len(),
            server: state.about.clone(),
            protocol: state.protocol.clone(),
            error: state.error.clone(),
            left_out: state.left_out.clone(),
            calls: self.calls.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            reconnects: self.reconnects.load(Ordering::Relaxed),
        }
    }
}

fn standing(state: &State) -> Standing {
    match state.phase {
        Phase::Ready => Standing::Here,
        Phase::Connecting => Standing::Connecting,
        Phase::Disabled => Standing::Absent("is disabled in config/runtime.toml".to_owned()),
        Phase::Waiting => Standing::Absent(state.error.clone().unwrap_or_else(|| "is not connected".to_owned())),
    }
}

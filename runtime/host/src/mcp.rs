//! MCP servers as this project configures them: from `[mcp.servers]` to connections, and what comes of them to reloading
//! and the counters.

mod door;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use roster_engine::trace::Metrics;
use roster_engine::turn::{Limits, Services};
use roster_mcp::client::{Notice, Reach, ServerConfig, Servers};
use roster_model::source::{SourceState, Standing, ToolGroup, ToolSource};
use tokio_util::sync::CancellationToken;

use crate::clock::{RandomIds, SystemClock};
use crate::config::{AgentFile, McpReach, McpServer, RuntimeConfig, Setting};
use crate::environment;
use crate::error::HostError;
use crate::shutdown::WIND_UP;
pub(crate) use door::Gate;

/// What a child process gets of our own variables: where things are, in which language, and how the network is reached.
/// Everything else, keys above all, stays here unless `env` passes it on.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// The servers of a process: their tasks, and when they end.
pub(crate) struct Mcp {
    root: PathBuf,
    /// The connections; what agents' tools come from.
    pub(crate) servers: Arc<Servers>,
    told: Arc<Told>,
}

impl Mcp {
    /// No server is started yet. When the runtime drains, the servers stay until the last turn is over.
    ///
    /// # Errors
    /// [`HostError::Internal`] when no HTTP client can be made.
    pub(crate) fn new(root: &Path, services: &Arc<Services>) -> Result<Self, HostError> {
        // Whoever was first chose the same.
        drop(rustls::crypto::ring::default_provider().install_default());
        let end = CancellationToken::new();
        services.tracker.spawn(end_with(Arc::clone(services), end.clone()));
        let told = Arc::new(Told { metrics: Arc::clone(&services.metrics), changed: OnceLock::new() });
        let servers = Servers::new(
            services.tracker.clone(),
            end,
            Arc::clone(&services.clock),
            Arc::clone(&told) as Arc<dyn Notice>,
        );
        let servers = servers.map_err(|error| HostError::Internal(format!("no HTTP client: {error}")))?;
        Ok(Self { root: root.to_path_buf(), servers: Arc::new(servers), told })
    }

    /// Calls `changed` from now on when tools came or went.
    pub(crate) fn on_change(&self, changed: impl Fn() + Send + Sync + 'static) {
        // The first stays: there is one reloading a process.
        let _ = self.told.changed.set(Box::new(changed));
    }

    /// Puts these servers into effect. Inside the runtime.
    pub(crate) fn apply(&self, servers: &[McpServer]) {
        let configs: Vec<ServerConfig> = servers.iter().map(|server| self.config(server)).collect();
        self.servers.apply(&configs);
    }

    fn config(&self, server: &McpServer) -> ServerConfig {
        let reach = match &server.reach {
            McpReach::Command { command, env, cwd } => self.program(command, env, cwd),
            McpReach::Url { url, headers } => {
                let plain = |header: &Setting| (header.name.clone(), header.value.expose().to_owned());
                Reach::Http { url: url.expose().to_owned(), headers: headers.iter().map(plain).collect() }
            }
        };
        let McpServer { name, start_timeout, enabled, .. } = server;
        ServerConfig { name: name.clone(), reach, start_timeout: *start_timeout, enabled: *enabled }
    }

    fn program(&self, command: &[String], env: &[Setting], cwd: &Path) -> Reach {
        let mut words = command.iter().cloned();
        let program = words.next().unwrap_or_default();
        // A path is one in the project; a bare name is looked up in PATH.
        let program = match program.contains('/') {
            true => self.root.join(&program).to_string_lossy().into_owned(),
            false => program,
        };
        let own = |name: &str| env.iter().any(|setting| setting.name == name);
        let inherited = INHERITED.iter().filter(|name| !own(name));
        let inherited = inherited.filter_map(|name| Some(((*name).to_owned(), environment::variable(name)?)));
        let set = env.iter().map(|setting| (setting.name.clone(), setting.value.expose().to_owned()));
        Reach::Stdio {
            program,
            arguments: words.collect(),
            env: inherited.chain(set).collect(),
            secrets: env.iter().filter(|setting| setting.secret).map(|setting| setting.name.clone()).collect(),
            cwd: self.root.join(cwd),
        }
    }
}

/// Where news of servers go.
struct Told {
    metrics: Arc<Metrics>,
    changed: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Notice for Told {
    fn tools_changed(&self) {
        if let Some(changed) = self.changed.get() {
            changed();
        }
    }

    fn called(&self, server: &str, outcome: &'static str) {
        self.metrics.mcp_call(server, outcome);
    }

    fn reconnected(&self, server: &str) {
        self.metrics.mcp_reconnect(server);
    }
}

/// Ends the servers when the runtime drains and the last turn is over, or has to be.
async fn end_with(services: Arc<Services>, end: CancellationToken) {
    services.draining.cancelled().await;
    tokio::select! {
        () = services.idle() => {}
        () = services.stop.cancelled() => {}
    }
    end.cancel();
}

/// How long a command of the terminal waits for servers.
pub(crate) const SETTLE: Duration = Duration::from_secs(30);

/// The servers that an agent may use, itself or through the agents it asks.
pub(crate) fn used_by(agent: &str, agents: &[AgentFile], servers: &[McpServer]) -> Vec<McpServer> {
    let (mut open, mut seen, mut used) = (vec![agent], HashSet::new(), HashSet::new());
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let definition = agents.iter().find(|file| file.id.as_str() == id).and_then(|file| file.definition.as_ref());
        let Some(definition) = definition else { continue };
        open.extend(definition.agents.iter().map(|other| other.as_str()));
        let of_servers = definition.tools.iter().filter_map(|tool| tool.strip_prefix("mcp:")?.split_once('/'));
        used.extend(of_servers.map(|(server, _)| server));
    }
    let is_used = |server: &McpServer| used.contains(server.name.as_str());
    // The others are known by name: an agent that names them is not told that there are none.
    let or_off = |server: &McpServer| McpServer { enabled: server.enabled && is_used(server), ..server.clone() };
    servers.iter().map(or_off).collect()
}

/// The servers of a configuration that is only looked at: known by name, and not asked.
pub(crate) struct Unasked(Vec<String>);

impl Unasked {
    pub(crate) fn of(config: &RuntimeConfig) -> Self {
        Self(config.mcp.iter().map(|server| server.name.clone()).collect())
    }
}

impl ToolSource for Unasked {
    fn group(&self, server: &str) -> Option<ToolGroup> {
        let known = self.0.iter().any(|name| name == server);
        known.then(|| ToolGroup { revision: 0, tools: Arc::default(), standing: Standing::Unasked })
    }

    fn servers(&self) -> Vec<String> {
        self.0.clone()
    }

    fn states(&self) -> Vec<SourceState> {
        Vec::new()
    }
}

/// Connects to each server once and lets it go again; gives how each stood.
///
/// # Errors
/// As [`Mcp::new`].
pub(crate) async fn look(root: &Path, servers: &[McpServer]) -> Result<Vec<SourceState>, HostError> {
    let services = Arc::new(Services::new(Arc::new(SystemClock), Arc::new(RandomIds), Limits::default()));
    let mcp = Mcp::new(root, &services)?;
    mcp.apply(servers);
    mcp.servers.settled(SETTLE).await;
    let states = mcp.servers.states();
    services.draining.cancel();
    services.tracker.close();
    // Who does not end by then is killed with this process's runtime.
    let _ = tokio::time::timeout(WIND_UP, services.tracker.wait()).await;
    Ok(states)
}

//! A runtime that serves: its listeners, its ready lines, its end.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arc_swap::ArcSwap;
use roster_engine::turn::Services;
use roster_server::{App, Auth, HttpConfig, Scope, TokenGrant};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::assemble::{self, Assembly, Project};
use crate::config::{self, Proof, RuntimeConfig, Token};
use crate::conversations::Conversations;
use crate::error::{Exit, HostError};
use crate::log::LogFormat;
use crate::mcp::Gate;
use crate::reload::{self, Reload, Socket};
use crate::shutdown::{DRAIN, Signals, WIND_UP};
use crate::{environment, output};

/// Where to listen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The gateway's address when it is not `[gateway] listen`.
    pub gateway: Option<String>,
    /// Studio's address when it is not `[studio] listen`.
    pub studio: Option<String>,
    /// Whether the gateway is left out.
    pub no_gateway: bool,
    /// Whether Studio is left out.
    pub no_studio: bool,
    /// How problems are told on stderr.
    pub log_format: LogFormat,
}

/// Serves until a signal says to stop. Listeners are bound first, so that a taken port stops it before the store is
/// touched; the ready lines are printed when everything is.
///
/// # Errors
/// [`HostError`] for a configuration, address or database that cannot be used.
pub async fn serve(project: Project, plan: &Plan, mut signals: Signals) -> Result<Exit, HostError> {
    let config = project.config()?.clone();
    let listeners = Listeners::bind(plan, &config).await?;
    let assembly = Arc::new(assemble::open(&project)?);
    assembly.plugins.apply(&config.plugins);
    assembly.plugins.settle();
    assembly.export(&config);
    let http = Arc::new(ArcSwap::from_pointee(http_config(&config, listeners.gateway_address())));
    assembly.mcp.apply(&config.mcp);
    let gate = Gate::new(Arc::clone(&assembly.registry), &assembly.services, &offered(&config));
    let doors = (Arc::clone(&http), Arc::clone(&gate));
    let reload = start_reload(&project, &config, &assembly, &listeners, doors, plan.log_format).await?;
    gate.follow(reload.as_ref());
    let app = Arc::new(App {
        registry: Arc::clone(&assembly.registry),
        services: Arc::clone(&assembly.services),
        store: Arc::new(Conversations::new(Arc::clone(&assembly.store), Arc::clone(&assembly.plugins))),
        operator: Arc::clone(&assembly.operator),
        control: Some(Arc::clone(&reload) as _),
        servers: Arc::clone(&assembly.mcp.servers) as _,
        mcp: Some(gate),
        config: http,
        ready: Arc::new(AtomicBool::new(true)),
        version: env!("CARGO_PKG_VERSION"),
    });
    log_start(&project, &assembly);
    let _socket = Socket::open(&project.root, &reload, &assembly.services);
    let ready = listeners.ready_lines();
    listeners.start(&app);
    match output::print(ready) {
        // Nobody waits for the lines any more; that is no reason not to serve.
        Err(error) if error.exit() == Exit::Good => {}
        printed => printed?,
    }
    let first = signals.stop(&|| reload.signal()).await;
    drain(first, &assembly).await;
    Ok(Exit::Good)
}

/// Reads the files and goes on noticing their changes.
async fn start_reload(
    project: &Project,
    config: &RuntimeConfig,
    assembly: &Arc<Assembly>,
    listeners: &Listeners,
    (http, gate): (Arc<ArcSwap<HttpConfig>>, Arc<Gate>),
    format: LogFormat,
) -> Result<Arc<Reload>, HostError> {
    let (addresses, gateway) = (listeners.addresses(), listeners.gateway_address());
    let (services, parts) = (Arc::clone(&assembly.services), Arc::clone(assembly));
    let apply = move |config: &RuntimeConfig| {
        if let Some(open) = addresses.iter().find(|address| config::is_open(&config.auth, **address)) {
            return Err(format!("`auth.mode` is `\"none\"`, and others can reach {open}"));
        }
        http.store(Arc::new(http_config(config, gateway)));
        services.set_limits(assemble::limits(config));
        if let Some(recorder) = &services.recorder {
            recorder.set_sample(config.observability.sample);
        }
        services.recall.cache.set_budget(config.limits.vector_cache);
        parts.mcp.apply(&config.mcp);
        gate.allow(&offered(config));
        parts.plugins.apply(&config.plugins);
        parts.export(config);
        Ok(())
    };
    let names = Arc::clone(assembly);
    let reload = reload::start(reload::Start {
        root: project.root.clone(),
        config: config.clone(),
        variables: environment::variable,
        registry: Arc::clone(&assembly.registry),
        services: Arc::clone(&assembly.services),
        ledger: assembly.ledger(),
        catalog: Box::new(move |config| names.catalog(config).map_err(|error| error.to_string())),
        apply: Box::new(apply),
        format,
        run: format!("{:032x}", assembly.services.ids.fresh()),
        plugins: Arc::clone(&assembly.plugins),
    })
    .await?;
    let (told, also_told) = (Arc::clone(&reload), Arc::clone(&reload));
    assembly.mcp.on_change(move || also_told.tools_changed());
    assembly.plugins.on_change(move || told.tools_changed());
    // What came while nobody listened.
    reload.tools_changed();
    Ok(reload)
}

/// One line that says what is served.
fn log_start(project: &Project, assembly: &Assembly) {
    let snapshot = assembly.registry.snapshot();
    let serving = snapshot.serving().count();
    let rejected = snapshot.entries.len() - serving;
    let root = project.root.display();
    tracing::info!(%root, serving, not_serving = rejected, version = env!("CARGO_PKG_VERSION"), "serving");
}

/// Stops accepting, lets turns finish until [`DRAIN`] is over, interrupts the rest, closes the store.
async fn drain(signal: &'static str, assembly: &Assembly) {
    let services = Arc::clone(&assembly.services);
    services.draining.cancel();
    services.tracker.close();
    let turns = services.turns_running();
    tracing::info!(turns, "{signal}: draining for at most {} s; a second signal ends at once", DRAIN.as_secs());
    if timeout(DRAIN, services.tracker.wait()).await.is_err() {
        tracing::warn!(turns = services.turns_running(), "interrupting what still runs");
        services.stop.cancel();
        wind_up(&services).await;
    }
    assembly.close_store().await;
    tracing::info!("stopped");
}

async fn wind_up(services: &Services) {
    if timeout(WIND_UP, services.tracker.wait()).await.is_err() {
        tracing::error!(turns = services.turns_running(), "some tasks did not end");
    }
}

/// The listeners, bound and not yet accepting.
struct Listeners {
    gateway: Option<(TcpListener, SocketAddr)>,
    studio: Option<(TcpListener, SocketAddr)>,
}

impl Listeners {
    async fn bind(plan: &Plan, config: &RuntimeConfig) -> Result<Self, HostError> {
        let mut listeners = Self { gateway: None, studio: None };
        if !plan.no_gateway {
            let address = address(plan.gateway.as_deref(), config.gateway.listen, "--gateway")?;
            listeners.gateway = Some(bind(address, "gateway", "--gateway", config).await?);
        }
        if !plan.no_studio {
            let address = address(plan.studio.as_deref(), config.studio.listen, "--studio")?;
            listeners.studio = Some(bind(address, "studio", "--studio", config).await?);
        }
        Ok(listeners)
    }

    fn gateway_address(&self) -> Option<SocketAddr> {
        self.gateway.as_ref().map(|(_, address)| *address)
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        [&self.gateway, &self.studio].into_iter().flatten().map(|(_, address)| *address).collect()
    }

    fn ready_lines(&self) -> String {
        let named = [("gateway", &self.gateway), ("studio", &self.studio)];
        let lines = named
            .into_iter()
            .filter_map(|(name, bound)| bound.as_ref().map(|(_, address)| format!("{name} http://{address}\n")));
        lines.collect()
    }

    fn start(self, app: &Arc<App>) {
        let services = &app.services;
        if let Some((listener, _)) = self.gateway {
            let router = roster_server::gateway(app);
            services.tracker.spawn(roster_server::serve(listener, router, Arc::clone(services)));
        }
        if let Some((listener, _)) = self.studio {
            let router = roster_server::studio(app);
            services.tracker.spawn(roster_server::serve(listener, router, Arc::clone(services)));
        }
    }
}

fn address(asked: Option<&str>, configured: SocketAddr, option: &str) -> Result<SocketAddr, HostError> {
    let Some(asked) = asked else { return Ok(configured) };
    let found = asked.to_socket_addrs().ok().and_then(|found| found.min_by_key(SocketAddr::is_ipv6));
    found.ok_or_else(|| {
        HostError::environment(format!("`{option} {asked}` is no address"))
            .hint(format!("an address and a port, for example `{option} 127.0.0.1:8787`"))
    })
}

async fn bind(
    address: SocketAddr,
    name: &str,
    option: &str,
    config: &RuntimeConfig,
) -> Result<(TcpListener, SocketAddr), HostError> {
    if config::is_open(&config.auth, address) {
        let message = format!("{name} would listen on {address}, where others can reach it, without any auth");
        return Err(HostError::environment(message)
            .hint("set [auth] mode = \"token\" in config/runtime.toml, or allow_open = true there if that is meant"));
    }
    let bound = async {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    bound.await.map_err(|error: io::Error| {
        let reason = match error.kind() {
            io::ErrorKind::AddrInUse => "the port is taken".to_owned(),
            _ => error.to_string(),
        };
        HostError::environment(format!("{name} cannot listen on {address}: {reason}")).hint(format!(
            "stop what listens there, or choose another address with `{option} ADDR` (port 0 takes any free one) or \
             [{name}] listen in config/runtime.toml"
        ))
    })
}

fn http_config(config: &RuntimeConfig, gateway_address: Option<SocketAddr>) -> HttpConfig {
    HttpConfig {
        gateway_cors: config.gateway.cors.clone(),
        studio_cors: config.studio.cors.clone(),
        auth: match &config.auth {
            config::Auth::None { .. } => Auth::None,
            config::Auth::Tokens(tokens) => Auth::Tokens(tokens.iter().map(grant).collect()),
        },
        body_limit: config.limits.body,
        requests_per_minute: config.limits.requests_per_minute,
        gateway_address,
    }
}

fn grant(token: &Token) -> TokenGrant {
    let sha256 = match &token.proof {
        Proof::Sha256(hash) => *hash,
        Proof::Value(secret) => Sha256::digest(secret.expose().as_bytes()).into(),
    };
    TokenGrant {
        sha256,
        subject: token.subject.clone(),
        resource: token.resource.clone(),
        scopes: token.scopes.iter().filter_map(|scope| Scope::parse(scope)).collect(),
    }
}

#[cfg(test)]
mod tests;

/// Ids of the agents that are tools at `/mcp`.
fn offered(config: &RuntimeConfig) -> Vec<String> {
    config.mcp_agents.iter().map(|agent| agent.id.clone()).collect()
}

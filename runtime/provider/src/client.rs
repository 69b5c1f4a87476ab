//! HTTP connections, shared by all providers.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder, Proxy, Url, redirect};
use roster_model::id::IdSource;
use roster_model::time::Clock;

use crate::retry::{Pace, Steady};

/// The way to a provider. Providers with equal ones share connections.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Route {
    /// Certificate authorities trusted beside the system's, each a PEM text with one or more certificates.
    pub extra_ca_pem: Vec<Vec<u8>>,
    /// Through which proxy.
    pub proxy: ProxyChoice,
    /// How long making a connection may take. Default 10 s.
    pub connect_timeout: Duration,
}

/// Through which proxy a provider is reached.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub enum ProxyChoice {
    /// As the environment says (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`); loopback directly.
    #[default]
    System,
    /// Through none.
    Direct,
    /// Through this one; may hold credentials.
    Through(String),
}

impl Default for Route {
    fn default() -> Self {
        Self { extra_ca_pem: Vec::new(), proxy: ProxyChoice::System, connect_timeout: Duration::from_secs(10) }
    }
}

impl fmt::Debug for Route {
    /// No credentials of a proxy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proxy = match &self.proxy {
            ProxyChoice::System => "system",
            ProxyChoice::Direct => "none",
            ProxyChoice::Through(_) => "through one",
        };
        f.debug_struct("Route")
            .field("extra_authorities", &self.extra_ca_pem.len())
            .field("proxy", &proxy)
            .field("connect_timeout", &self.connect_timeout)
            .finish()
    }
}

/// What all connections share.
pub struct ClientOptions {
    /// Reads `Retry-After` dates.
    pub clock: Arc<dyn Clock>,
    /// Jitter of the waits between attempts.
    pub ids: Arc<dyn IdSource>,
}

impl ClientOptions {
    /// With this clock and these dice.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self { clock, ids }
    }
}

/// Why connections cannot be made at all.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// An extra authority that cannot be read.
    #[error("extra certificate authority {number} holds no readable PEM certificate")]
    BadAuthority {
        /// Which one, counted from 1.
        number: usize,
        /// The cause, where there is more to say than that no certificate is in it.
        #[source]
        source: Option<reqwest::Error>,
    },
    /// A proxy's address that is none.
    #[error("the proxy's address is no http or https address")]
    BadProxy,
    /// TLS or the proxy settings of the system cannot be used.
    #[error("the HTTP client cannot be set up: {reason}")]
    Setup {
        /// The innermost cause in words.
        reason: String,
        /// The cause.
        #[source]
        source: reqwest::Error,
    },
}

/// The pools of connections: HTTP/2 where the server offers it, the system's proxies except for loopback, no
/// redirects. Clones share the pools. Nothing is loaded before the first provider asks.
#[derive(Clone)]
pub struct HttpClient {
    inner: Arc<Inner>,
}

struct Inner {
    options: ClientOptions,
    /// One pool for each way, loopback apart.
    pools: Mutex<HashMap<(Route, bool), Client>>,
}

impl HttpClient {
    /// Pools with these options; still empty.
    #[must_use]
    pub fn new(options: ClientOptions) -> Self {
        Self { inner: Arc::new(Inner { options, pools: Mutex::default() }) }
    }

    /// The pool for this address by this way.
    ///
    /// # Errors
    /// [`ClientError`] when TLS cannot be set up with the authorities given, or the proxy is none.
    pub(crate) fn for_url(&self, url: &Url, route: &Route) -> Result<Client, ClientError> {
        let is_loopback = is_loopback(url);
        let mut pools = self.inner.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (route.clone(), is_loopback);
        if let Some(client) = pools.get(&key) {
            return Ok(client.clone());
        }
        let client = connect(route, is_loopback)?;
        pools.insert(key, client.clone());
        Ok(client)
    }

    /// The waits between attempts, by the clock handed in.
    pub(crate) fn pace(&self) -> Arc<dyn Pace> {
        let options = &self.inner.options;
        Arc::new(Steady { clock: Arc::clone(&options.clock), ids: Arc::clone(&options.ids) })
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn connect(route: &Route, is_loopback: bool) -> Result<Client, ClientError> {
    // Set once per process; whoever was first chose the same or wanted another on purpose.
    drop(rustls::crypto::ring::default_provider().install_default());
    let authorities = authorities(route)?;
    match builder(route, is_loopback)?.tls_certs_merge(authorities.iter().cloned()).build() {
        Ok(client) => Ok(client),
        Err(error) => {
            // A small container may hold no authorities at all; plain HTTP and the extra ones must still work.
            tracing::warn!(reason = innermost(&error), "the system's certificate authorities cannot be used");
            builder(route, is_loopback)?
                .tls_certs_only(authorities)
                .build()
                .map_err(|source| ClientError::Setup { reason: innermost(&source), source })
        }
    }
}

fn authorities(route: &Route) -> Result<Vec<Certificate>, ClientError> {
    let mut all = Vec::new();
    for (place, pem) in route.extra_ca_pem.iter().enumerate() {
        let bad = |source| ClientError::BadAuthority { number: place + 1, source };
        let some = Certificate::from_pem_bundle(pem).map_err(|error| bad(Some(error)))?;
        if some.is_empty() {
            return Err(bad(None));
        }
        all.extend(some);
    }
    Ok(all)
}

fn builder(route: &Route, is_loopback: bool) -> Result<ClientBuilder, ClientError> {
    let builder = Client::builder()
        .user_agent(concat!("roster/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(route.connect_timeout)
        .tcp_nodelay(true)
        .redirect(redirect::Policy::none())
        .pool_idle_timeout(Duration::from_secs(90))
        // A dead peer behind a silent network is noticed also on connections that many calls share.
        .http2_keep_alive_interval(Duration::from_secs(20))
        .http2_keep_alive_timeout(Duration::from_secs(20))
        .http2_adaptive_window(true);
    Ok(match &route.proxy {
        ProxyChoice::System if is_loopback => builder.no_proxy(),
        ProxyChoice::System => builder,
        ProxyChoice::Direct => builder.no_proxy(),
        // What the library says of a bad address shows the address.
        ProxyChoice::Through(address) => builder.proxy(Proxy::all(address).map_err(|_| ClientError::BadProxy)?),
    })
}

/// The last cause in the chain: the one that says what happened rather than where. The outermost error of the HTTP
/// library shows the address, with any credentials in it, so it is never the answer.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let Some(mut cause) = error.source() else { return "no further reason is known".to_owned() };
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests;

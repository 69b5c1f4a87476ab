//! Which addresses may be connected to.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use roster_model::BoxFuture;

/// Resolves a host's name.
pub trait Lookup: Send + Sync + 'static {
    /// The addresses of `host`.
    ///
    /// # Errors
    /// The system's.
    fn lookup(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The system's own resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A name that leads into a private network.
#[derive(Debug, thiserror::Error)]
#[error("the address lies in a private network")]
pub(super) struct Private;

/// Gives a connection only addresses that are public. What it gives is what is connected to: there is no second look-up.
pub(super) struct PublicOnly {
    lookup: Arc<dyn Lookup>,
}

impl PublicOnly {
    pub(super) fn new(lookup: Arc<dyn Lookup>) -> Self {
        Self { lookup }
    }
}

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let looking = self.lookup.lookup(name.as_str().to_owned());
        Box::pin(async move {
            let found = looking.await?;
            let public: Vec<SocketAddr> =
                found.iter().filter(|ip| is_public(**ip)).map(|ip| SocketAddr::new(*ip, 0)).collect();
            if public.is_empty() && !found.is_empty() {
                return Err(Private.into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

/// The address an URL names without a name.
pub(super) fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Whether an address is one of the public internet: those of the special-purpose registries (RFC 6890 and its registry
/// at IANA) are not, nor are IPv6 addresses that carry such an IPv4 address.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        // Shared by carriers (RFC 6598); a cloud's metadata service lies there.
        || (a == 100 && b & 0xc0 == 64)
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && b & 0xfe == 18);
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // 6to4.
        [0x2002, high, low, ..] => embedded(high, low),
        // Teredo, benchmarks, ORCHID and the other protocol assignments.
        [0x2001, second, ..] if second < 0x200 => false,
        [0x2001, 0xdb8, ..] => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        // Global unicast; everything else is local, multicast or reserved.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

//! What is known of the connection a request came on.

use std::net::IpAddr;

/// The connection of a request; put into its extensions by `serve`. A request without one (a test's, through the router
/// alone) is treated as coming from loopback to a loopback listener, the stricter case.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// Who calls.
    pub address: IpAddr,
    /// Whether the listener is bound to loopback: then a foreign `Host` is refused, and pages of loopback may call.
    pub loopback: bool,
}

impl Default for Peer {
    fn default() -> Self {
        Self { address: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), loopback: true }
    }
}

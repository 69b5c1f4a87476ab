//! The hosts a definition lists.

use std::fmt;

use reqwest::Url;
use roster_model::tool::SettingsError;
use serde_json::{Map, Value};

/// Hosts that may be asked.
#[derive(Debug, Clone)]
pub(super) struct Hosts(Vec<Host>);

/// One entry: `docs.rs`, `*.example.com`, `localhost:8080`.
#[derive(Debug, Clone)]
struct Host {
    name: String,
    /// Whether hosts below it are meant instead of it.
    below: bool,
    /// Left out: the port of the scheme.
    port: Option<u16>,
}

impl Hosts {
    /// Reads the setting `hosts`.
    pub(super) fn read(settings: &Map<String, Value>) -> Result<Self, SettingsError> {
        let Some(value) = settings.get("hosts") else {
            let help = "add [tool_settings.http_fetch] with a line such as hosts = [\"docs.rs\", \"*.example.com\"]";
            return Err(SettingsError { key: String::new(), ..fault("`hosts` is missing", help) });
        };
        let list = value.as_array().filter(|list| !list.is_empty());
        let entries =
            list.map(|list| list.iter().map(|entry| entry.as_str().and_then(Host::parse)).collect::<Vec<_>>());
        let Some(entries) = entries else {
            return Err(fault("`hosts` must be a list of at least one host", HELP));
        };
        match entries.iter().position(Option::is_none) {
            Some(at) => Err(fault(&format!("`hosts[{at}]` is no host"), HELP)),
            None => Ok(Self(entries.into_iter().flatten().collect())),
        }
    }

    /// Whether this address may be asked.
    pub(super) fn allow(&self, url: &Url) -> bool {
        self.0.iter().any(|host| host.allows(url))
    }
}

const HELP: &str = "write the host alone, as in \"docs.rs\", \"*.example.com\" (all below it) or \"localhost:8080\"";

impl Host {
    fn parse(text: &str) -> Option<Self> {
        let (below, host) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if host.is_empty() || host.contains(['/', '@', '?', '#', '*', '\\']) || host.contains(char::is_whitespace) {
            return None;
        }
        // As an address is written: lower case, other scripts in ASCII. The scheme has a port nobody writes.
        let url = Url::parse(&format!("https://{host}")).ok()?;
        let port = url.port().or_else(|| host.ends_with(":443").then_some(443));
        // A name may end with the dot of the root; what is left has no empty part.
        let name = url.host_str()?;
        let name = name.strip_suffix('.').unwrap_or(name);
        let legal = port != Some(0) && !host.ends_with(':') && name.split('.').all(|part| !part.is_empty());
        legal.then(|| Self { name: name.to_owned(), below, port })
    }

    fn allows(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else { return false };
        let host = host.strip_suffix('.').unwrap_or(host);
        let named = match self.below {
            true => host.strip_suffix(&self.name).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            false => host == self.name,
        };
        let port = match self.port {
            Some(port) => url.port_or_known_default() == Some(port),
            None => url.port().is_none(),
        };
        named && port
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Host { name, below, port }) in self.0.iter().enumerate() {
            let (comma, star) = (if at > 0 { ", " } else { "" }, if *below { "*." } else { "" });
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            write!(out, "{comma}`{star}{name}{port}`")?;
        }
        Ok(())
    }
}

/// Host and port of an address, for people.
pub(super) fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn fault(message: &str, help: &str) -> SettingsError {
    SettingsError { key: "hosts".to_owned(), message: message.to_owned(), help: Some(help.to_owned()) }
}

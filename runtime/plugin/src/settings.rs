//! What an operator says of a plugin: `[plugins.<key>]`, read and checked by the host.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

/// Where a plugin runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// In a process of its own.
    Process,
    /// In the runtime's process.
    InProcess,
}

impl Isolation {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::InProcess => "inprocess",
        }
    }
}

/// When a plugin's process is started again after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restart {
    /// Crashes in a row, without a good answer between, before it is given up for a while.
    pub max: u32,
    /// For how long it is given up, and how far apart crashes may be to count together.
    pub window: Duration,
    /// The first pause; the restart after a single crash has none.
    pub backoff_min: Duration,
    /// The longest pause.
    pub backoff_max: Duration,
}

/// What a plugin may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of address space beyond what the runtime's binary takes itself; its own process only.
    pub memory: u64,
    /// Open files; its own process only.
    pub open_files: u64,
    /// Bytes of one output.
    pub output: usize,
}

/// What a plugin may ask of the host besides logging.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Grant {
    /// Values of its own that outlive it.
    Kv,
    /// Numbers of its own among the metrics.
    Metric,
    /// One secret, by the name of its variable.
    Secret(String),
    /// One host, as it stands in an address: `api.example.org`, `127.0.0.1:8080`.
    Http(String),
}

impl Grant {
    /// Reads `kv`, `metric`, `secret:NAME`, `http:HOST`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':') {
            None if text == "kv" => Some(Self::Kv),
            None if text == "metric" => Some(Self::Metric),
            Some(("secret", name)) if is_variable(name) => Some(Self::Secret(name.to_owned())),
            Some(("http", host)) if is_host(host) => Some(Self::Http(host.to_ascii_lowercase())),
            _ => None,
        }
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(char::is_numeric)
}

/// A name, an IPv4 address, or an IPv6 address in brackets; then perhaps a port.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let named = |part: &str| {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !part.is_empty() && part.len() <= 63 && part.chars().all(legal)
    };
    let is_port =
        |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && !matches!(port.parse(), Ok(0_u16) | Err(_));
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let legal = match inner {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => host.len() <= 253 && host.split('.').all(named),
    };
    legal && port.is_none_or(is_port)
}

/// A plugin as the configuration wants it.
#[derive(Clone, PartialEq)]
pub struct Settings {
    /// Its name in definitions, before the colon.
    pub key: String,
    /// Its file, as written.
    pub file: String,
    /// Where it is looked for, in order.
    pub folders: Vec<PathBuf>,
    /// Where it runs, unless its manifest asks for a process.
    pub isolation: Isolation,
    /// The only library that is loaded, 64 hex digits in small letters.
    pub sha256: Option<String>,
    /// Calls at once of a plugin that blocks.
    pub max_concurrency: usize,
    /// After this a call is given up.
    pub call_timeout: Duration,
    /// How long a cancelled call may go on.
    pub cancel_grace: Duration,
    /// How long other calls may go on before the process is killed for one that hangs.
    pub kill_grace: Duration,
    /// How long loading may take.
    pub start_timeout: Duration,
    /// How often its process is asked whether it is there; one that did not answer until the next time is killed.
    pub ping: Duration,
    /// How long the calls of a replaced generation may go on.
    pub drain_timeout: Duration,
    /// Restarting.
    pub restart: Restart,
    /// Limits.
    pub limits: Limits,
    /// What it may ask.
    pub grants: Vec<Grant>,
    /// Its environment; its own process only.
    pub env: Vec<(String, String)>,
    /// Generations whose code may stay in the runtime's process before it must be started anew.
    pub max_generations: usize,
    /// Whether a new library may lack what agents use.
    pub allow_breaking: bool,
    /// Whether a changed file is taken up by itself.
    pub watch: bool,
    /// Its own configuration, secrets resolved.
    pub config: Map<String, Value>,
}

impl Settings {
    /// The defaults of a plugin with this key, whose file has the same name.
    #[must_use]
    pub fn new(key: &str, folders: Vec<PathBuf>) -> Self {
        Self {
            key: key.to_owned(),
            file: key.to_owned(),
            folders,
            isolation: Isolation::Process,
            sha256: None,
            max_concurrency: 8,
            call_timeout: Duration::from_secs(30),
            cancel_grace: Duration::from_secs(5),
            kill_grace: Duration::from_secs(1),
            start_timeout: Duration::from_secs(10),
            ping: Duration::from_secs(5),
            drain_timeout: Duration::from_secs(30),
            restart: Restart {
                max: 5,
                window: Duration::from_secs(60),
                backoff_min: Duration::from_millis(100),
                backoff_max: Duration::from_secs(10),
            },
            limits: Limits { memory: 512 << 20, open_files: 256, output: 8 << 20 },
            grants: Vec::new(),
            env: Vec::new(),
            max_generations: 16,
            allow_breaking: false,
            watch: true,
            config: Map::new(),
        }
    }
}

/// Without values: secrets are among them.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { key, file, isolation, .. } = self;
        f.debug_struct("Settings")
            .field("key", key)
            .field("file", file)
            .field("isolation", isolation)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Grant;

    #[test]
    fn a_grant_names_a_host_that_can_be_asked() {
        for good in ["api.example.org", "127.0.0.1:8080", "localhost", "[::1]", "[::1]:443", "A-b_c.example", "x:65535"]
        {
            assert_eq!(Grant::parse(&format!("http:{good}")), Some(Grant::Http(good.to_ascii_lowercase())), "{good}");
        }
        for bad in
            ["", ".", "..", "x:0", "x:", ":80", "x:65536", "x:+1", "a..b", ".a", "a.", "[::1", "::1", "[x]", "a/b", "*"]
        {
            assert_eq!(Grant::parse(&format!("http:{bad}")), None, "{bad}");
        }
    }
}

//! `config/runtime.toml`: from its bytes to a checked configuration.

mod mcp;
mod read;

use std::net::SocketAddr;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use roster_engine::definition::table::Checker;
use roster_engine::definition::{Problem, keep_first, syntax, text, view::View};
use roster_model::id::ResourceId;

use super::models::ModelNames;
use super::plugins::PluginsConfig;
use super::secret::{Secret, mask, scrub};
use super::shapes::RUNTIME;
use super::{Environment, expand};
use crate::paths::RUNTIME_FILE;
pub(crate) use mcp::unknown_agents;
pub use mcp::{McpReach, McpServer, OfferedAgent, Setting};

/// The configuration of a runtime; paths are relative to the root.
#[derive(Debug, Clone, PartialEq)]
pub struct RuntimeConfig {
    /// `[project] name`.
    pub project: Option<String>,
    /// `[gateway]`.
    pub gateway: Listener,
    /// `[studio]`.
    pub studio: Listener,
    /// `[storage]`.
    pub storage: StorageConfig,
    /// What names of models mean.
    pub models: ModelNames,
    /// `[models.providers]`, in the order of the file; `demo` is not among them.
    pub providers: Vec<ProviderConfig>,
    /// `[auth]`.
    pub auth: Auth,
    /// `[limits]`.
    pub limits: Limits,
    /// `[observability]`.
    pub observability: ObservabilityConfig,
    /// `[reload]`.
    pub reload: ReloadConfig,
    /// `[gateway.mcp] agents`: who may be asked through `/mcp`; `*` stands for all.
    pub mcp_agents: Vec<OfferedAgent>,
    /// `[mcp.servers]`, in the order of the file.
    pub mcp: Vec<McpServer>,
    /// `[plugins]`.
    pub plugins: PluginsConfig,
}

/// How changes of files are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReloadConfig {
    /// Whether the system is asked to tell of changes. Default true.
    pub watch: bool,
    /// How often the files are looked at besides; `None`: never. Default 2 s.
    pub poll: Option<Duration>,
}

impl Default for ReloadConfig {
    fn default() -> Self {
        Self { watch: true, poll: Some(Duration::from_secs(2)) }
    }
}

/// A listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Where; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Further browser origins; `*` stands for all.
    pub cors: Vec<String>,
}

/// The two databases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageConfig {
    /// User data. Relative to the root, or absolute.
    pub sessions: PathBuf,
    /// Derived data, likewise.
    pub observability: PathBuf,
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderConfig {
    /// Its name: what stands before the `/`.
    pub name: String,
    /// How to speak to it: `openai`.
    pub dialect: String,
    /// Where it is, without a final `/`.
    pub base_url: String,
    /// Its key.
    pub key: ProviderKey,
    /// Whether answers are asked for as a stream.
    pub stream: bool,
    /// The way to it and its limits.
    pub reach: Reach,
}

/// The way to a provider, and how long it may take; what is not written has the provider room's default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// For making a connection.
    pub connect: Option<Duration>,
    /// From sending a request to the first piece of its answer.
    pub first_token: Option<Duration>,
    /// Between two pieces of an answer.
    pub idle: Option<Duration>,
    /// A PEM file of authorities trusted beside the system's. Relative to the root, or absolute.
    pub ca_file: Option<PathBuf>,
    /// Through which proxy.
    pub proxy: ProxyConfig,
    /// Failures in a row after which it is left alone; 0: never.
    pub breaker_failures: Option<u32>,
    /// For how long.
    pub breaker_rest: Option<Duration>,
}

/// Through which proxy a provider is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ProxyConfig {
    /// As the environment says.
    #[default]
    System,
    /// Through none.
    Direct,
    /// Through this one; may hold credentials.
    Through(Secret),
}

/// A provider's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderKey {
    /// None is sent.
    None,
    /// This one.
    Set(Secret),
    /// The variable that should hold it is not set: turns are told so.
    Missing {
        /// The variable's name.
        variable: String,
    },
}

/// Who may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// Whoever reaches the listener.
    None {
        /// Whether that is meant beyond loopback too.
        allow_open: bool,
    },
    /// Whoever holds one of these.
    Tokens(Vec<Token>),
}

/// A token and what it opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What a caller's token is compared with.
    pub proof: Proof,
    /// Whose it is.
    pub subject: String,
    /// The owner of what its holder says.
    pub resource: ResourceId,
    /// `chat`, `studio`, `admin`.
    pub scopes: Vec<String>,
}

/// What a token is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// Its SHA-256.
    Sha256([u8; 32]),
    /// Itself, from a variable.
    Value(Secret),
}

/// What may be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The largest body, in bytes.
    pub body: usize,
    /// The longest turn.
    pub turn_timeout: Duration,
    /// Turns at once.
    pub concurrent_turns: usize,
    /// Bytes of vectors held in memory for semantic recall.
    pub vector_cache: usize,
    /// Bytes of one tool's result that a model is fed; the whole is stored.
    pub tool_result: usize,
    /// Requests of one caller a minute; 0: no bound.
    pub requests_per_minute: u32,
}

/// What is kept of turns besides the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservabilityConfig {
    /// How long.
    pub retention: Duration,
    /// How much, in bytes.
    pub max_size: u64,
    /// Which share of turns, 0 to 1.
    pub sample: f64,
    /// Plugins' exporters that spans go to as well.
    pub exporters: Vec<ExporterEntry>,
}

/// An exporter of a plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct ExporterEntry {
    /// `plugin:component`.
    pub name: String,
    /// Where it is named, as a problem with no words yet.
    pub place: Problem,
}

/// What became of `config/runtime.toml`.
#[derive(Debug)]
pub struct LoadedRuntime {
    /// The configuration; `None` when an error stands among the problems.
    pub config: Option<RuntimeConfig>,
    /// Everything that is wrong, in the order of the file.
    pub problems: Vec<Problem>,
    /// The file's text with literal secrets masked, for showing places.
    pub source: String,
    /// Where the values stand that take effect at start only, by `table.key`; those that are not written are not here.
    pub at_start: Vec<(&'static str, Range<usize>)>,
}

/// Table and key of each value that takes effect at start only, and their name.
const AT_START: [(&str, &str, &str); 7] = [
    ("plugins", "cache_dir", "plugins.cache_dir"),
    ("gateway", "listen", "gateway.listen"),
    ("studio", "listen", "studio.listen"),
    ("storage", "sessions", "storage.sessions"),
    ("storage", "observability", "storage.observability"),
    ("observability", "retention", "observability.retention"),
    ("observability", "max_size", "observability.max_size"),
];

impl LoadedRuntime {
    /// A file that is no text, or cannot be read.
    #[must_use]
    pub(crate) fn refused(problem: Problem) -> Self {
        Self { config: None, problems: vec![problem], source: String::new(), at_start: Vec::new() }
    }
}

/// Whether `auth` lets everybody in at an address that others can reach: refused unless it is meant.
#[must_use]
pub fn is_open(auth: &Auth, listen: SocketAddr) -> bool {
    matches!(auth, Auth::None { allow_open: false }) && !listen.ip().is_loopback()
}

/// Loads the configuration: every problem in one pass.
#[must_use]
pub fn load_runtime(bytes: &[u8], environment: Environment<'_>) -> LoadedRuntime {
    let text = match text::decode(RUNTIME_FILE, bytes) {
        Ok(text) => text,
        Err(problem) => return LoadedRuntime::refused(*problem),
    };
    let source = mask(&text);
    let mut parsed = syntax::parse(RUNTIME_FILE, &text);
    parsed.problems = scrub(parsed.problems, &text, &source);
    let mut checker = Checker::new(RUNTIME_FILE, &text, &RUNTIME, &mut parsed);
    expand::expand(&mut parsed.root, environment, &mut checker);
    checker.check(&parsed.root);
    let root = View(parsed.root.get_ref());
    let places = AT_START.iter().filter_map(|(table, key, name)| Some((*name, root.table(table)?.span(key)?)));
    let at_start = places.collect();
    let config = read::config(root, &text, environment, &mut checker);
    let config = if checker.is_clean() { config } else { None };
    let mut problems = checker.problems;
    problems.sort_by_key(|problem| (problem.line, problem.column));
    keep_first(&mut problems, RUNTIME_FILE);
    LoadedRuntime { config, problems, source, at_start }
}

//! Tools that come and go while the runtime runs: those of MCP servers.

use std::sync::Arc;

use serde::Serialize;

use crate::time::Timestamp;
use crate::tool::Tool;

/// Whether a server's tools are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// They are.
    Here,
    /// Not yet: it is being connected to for the first time.
    Connecting,
    /// They are not, for this reason: a fragment that follows the server's name.
    Absent(String),
    /// Nobody asked: files are only looked at.
    Unasked,
}

/// The tools of one server as they are now.
#[derive(Clone)]
pub struct ToolGroup {
    /// Another number whenever any of the rest is another; never used twice in a process.
    pub revision: u64,
    /// The tools, in the server's order. Their specs are named as definitions write them: `mcp:files/read`.
    pub tools: Arc<[Arc<dyn Tool>]>,
    /// Whether they are there.
    pub standing: Standing,
}

/// How a server stands, for people and operators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceState {
    /// Its name in the configuration.
    pub name: String,
    /// How it is reached: `stdio` or `http`.
    pub transport: &'static str,
    /// `connecting`, `ready`, `waiting` (it could not be reached or ended; it is tried again) or `disabled`.
    pub state: &'static str,
    /// Since when.
    pub since: Timestamp,
    /// How many tools it offers now.
    pub tools: usize,
    /// What it calls itself, with its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The version of the protocol that was agreed upon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Tools that were left out, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Calls so far.
    pub calls: u64,
    /// Those that failed.
    pub errors: u64,
    /// How often the connection was made anew after the first time.
    pub reconnects: u64,
}

/// Where tools come from that are not built in.
pub trait ToolSource: Send + Sync + 'static {
    /// The tools of a server by its name in the configuration; `None`: there is no such server, and its tools can never
    /// come.
    fn group(&self, server: &str) -> Option<ToolGroup>;

    /// The servers there are, in order.
    fn servers(&self) -> Vec<String>;

    /// How each of them stands.
    fn states(&self) -> Vec<SourceState>;

    /// Somebody wants to know now: servers that wait for their next try are tried at once.
    fn hurry(&self) {}
}

/// No servers at all.
impl ToolSource for () {
    fn group(&self, _server: &str) -> Option<ToolGroup> {
        None
    }

    fn servers(&self) -> Vec<String> {
        Vec::new()
    }

    fn states(&self) -> Vec<SourceState> {
        Vec::new()
    }
}

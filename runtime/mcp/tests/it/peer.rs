//! MCP servers written in `sh`, good and bad ones, and the world they are connected in.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use roster_mcp::client::{Notice, Reach, ServerConfig, Servers};
use roster_model::id::{AgentId, TurnId};
use roster_model::source::{SourceState, Standing, ToolSource};
use roster_model::time::{Clock, Timestamp};
use roster_model::tool::{Tool, ToolContext, ToolError};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long a test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// What every server of these tests begins with: `answer RESULT` answers the request in `$line`.
const HEAD: &str = r#"
id() { printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p'; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$(id)" "$1"; }
text() { answer '{"content":[{"type":"text","text":"'"$1"'"}]}'; }
tool='{"name":"one","description":"Does one thing.","inputSchema":{"type":"object"}}'
hello='{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"sh","version":"1"}}'
while IFS= read -r line; do case "$line" in
"#;
/// How every good server goes on, after what it does in its own way.
const TAIL: &str = r#"
*'"method":"initialize"'*) answer "$hello";;
*'"method":"tools/list"'*) answer "{\"tools\":[$tool]}";;
*'"method":"ping"'*) answer '{}';;
esac; done
"#;

/// A server whose own ways are these branches of a `case` over the line that came.
pub(crate) fn server(ways: &str) -> String {
    format!("{HEAD}{ways}{TAIL}")
}

/// Servers in a folder of their own.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) servers: Arc<Servers>,
    pub(crate) tracker: TaskTracker,
    pub(crate) end: CancellationToken,
    news: Arc<News>,
}

/// Counts what is told.
struct News {
    changes: watch::Sender<u64>,
    calls: Mutex<Vec<String>>,
}

impl Notice for News {
    fn tools_changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn called(&self, server: &str, outcome: &'static str) {
        self.calls.lock().expect("lock").push(format!("{server} {outcome}"));
    }

    fn reconnected(&self, _server: &str) {}
}

struct Now;

impl Clock for Now {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(0)
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let (tracker, end) = (TaskTracker::new(), CancellationToken::new());
        let news = Arc::new(News { changes: watch::Sender::new(0), calls: Mutex::default() });
        // The same provider of TLS as everywhere; without one no client is made.
        drop(rustls::crypto::ring::default_provider().install_default());
        let servers =
            Servers::new(tracker.clone(), end.clone(), Arc::new(Now), Arc::clone(&news) as _).expect("a client");
        Self { folder: tempfile::tempdir().expect("a folder"), servers: Arc::new(servers), tracker, end, news }
    }

    /// With one server `x` that is this script.
    pub(crate) fn with(script: &str) -> Self {
        let world = Self::new();
        world.servers.apply(&[world.config("x", script)]);
        world
    }

    pub(crate) fn config(&self, name: &str, script: &str) -> ServerConfig {
        let path = |text: &str| self.folder.path().join(text).to_string_lossy().into_owned();
        ServerConfig {
            name: name.to_owned(),
            reach: Reach::Stdio {
                program: "sh".to_owned(),
                arguments: vec!["-c".to_owned(), script.to_owned()],
                env: vec![
                    ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
                    ("NOTES".to_owned(), path("notes")),
                    ("FLAG".to_owned(), path("flag")),
                ],
                secrets: Vec::new(),
                cwd: self.folder.path().to_owned(),
            },
            start_timeout: PATIENCE,
            enabled: true,
        }
    }

    pub(crate) fn state(&self) -> SourceState {
        self.servers.states().into_iter().next().expect("a server")
    }

    /// Waits until the server is as wanted; told of each change.
    pub(crate) async fn until(&self, what: &str, wanted: impl Fn(&SourceState) -> bool) {
        let mut changes = self.news.changes.subscribe();
        let waiting = async {
            while !wanted(&self.state()) {
                changes.changed().await.expect("news");
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        waited.unwrap_or_else(|_| panic!("not {what}: {:?}", self.state()));
    }

    pub(crate) async fn ready(&self) {
        self.until("ready", |state| state.state == "ready").await;
    }

    pub(crate) fn standing(&self) -> Standing {
        self.servers.group("x").expect("a server").standing
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let group = self.servers.group("x").expect("a server");
        let wanted = format!("mcp:x/{name}");
        Arc::clone(group.tools.iter().find(|tool| tool.spec().name == wanted).expect("the tool"))
    }

    pub(crate) async fn call(&self, name: &str) -> Result<Value, ToolError> {
        let tool = self.tool(name);
        let call = tool.call(Map::new(), context());
        tokio::time::timeout(PATIENCE, call).await.expect("an answer in time")
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.news.calls.lock().expect("lock").clone()
    }

    /// Waits until a file of the folder holds this.
    pub(crate) async fn noted(&self, file: &str, wanted: &str) -> String {
        let path = self.folder.path().join(file);
        let waiting = async {
            loop {
                let text = read(&path);
                if text.contains(wanted) {
                    return text;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        waited.unwrap_or_else(|_| panic!("`{wanted}` never came: {}", read(&path)))
    }

    /// Ends everything, and waits for it.
    pub(crate) async fn close(&self) {
        self.end.cancel();
        self.tracker.close();
        tokio::time::timeout(PATIENCE, self.tracker.wait()).await.expect("all tasks end");
    }
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

pub(crate) fn context() -> ToolContext {
    ToolContext {
        agent: AgentId::new("a").expect("legal"),
        turn: TurnId::new("t").expect("legal"),
        key: None,
        call_id: "c".to_owned(),
    }
}

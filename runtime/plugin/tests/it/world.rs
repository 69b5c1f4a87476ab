//! A folder with one plugin in it, and the plugins that are configured from it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use roster_abi::contract::CallContext;
use roster_abi::contract::Fetched;
use roster_model::BoxFuture;
use roster_model::id::{AgentId, ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::time::{Clock, Timestamp};
use roster_model::tool::{ToolContext, ToolError};
use roster_plugin::asks::{Fetch, FetchError};
use roster_plugin::bridge::tool::tools;
use roster_plugin::call::{Call, CallError, Payload};
use roster_plugin::plugin::{Ask, Plugin};
use roster_plugin::set::{Parts, Plugins, Used};
use roster_plugin::settings::{Isolation, Settings};
use serde_json::{Map, Value};

use crate::liar::liar;

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000)
    }
}

/// A network that repeats what it is asked.
struct Echo;

impl Fetch for Echo {
    fn fetch(&self, request: roster_abi::contract::Fetch) -> BoxFuture<'_, Result<Fetched, FetchError>> {
        Box::pin(async move { Ok(Fetched { status: 200, body: request.url, ..Fetched::default() }) })
    }
}

/// The binary of the own processes, built beside the tests.
fn child() -> PathBuf {
    let us = std::env::current_exe().expect("us");
    let path = us.parent().and_then(Path::parent).expect("the target folder").join("examples/child");
    assert!(path.exists(), "run `cargo build -p roster-plugin --example child` first");
    path
}

/// One plugin, `liar`, and its file.
pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) plugins: Plugins,
    /// How often something changed.
    pub(crate) changes: Arc<AtomicUsize>,
}

impl World {
    /// The lying plugin with these macros, in this process.
    pub(crate) fn inside(macros: &[&str]) -> Self {
        Self::with(macros, |_| {})
    }

    /// The same in a process of its own.
    pub(crate) fn outside(macros: &[&str]) -> Self {
        Self::new(macros, Isolation::Process, Vec::new(), |_| {})
    }

    pub(crate) fn with(macros: &[&str], change: impl FnOnce(&mut Settings)) -> Self {
        Self::new(macros, Isolation::InProcess, Vec::new(), change)
    }

    pub(crate) fn new(
        macros: &[&str],
        isolation: Isolation,
        used: Vec<Used>,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings::new("liar", vec![folder.path().to_path_buf()]);
        settings.isolation = isolation;
        // A busy machine is slow: what takes long at the start is no failure of these tests.
        settings.start_timeout = Duration::from_secs(60);
        settings.file = "libliar.so".to_owned();
        place(&liar(macros), &folder.path().join("libliar.so"));
        change(&mut settings);
        let changes = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&changes);
        let plugins = Plugins::new(Parts {
            cache: folder.path().join(".temp/plugins"),
            // The argument means nothing; it tells this world's processes from those of other tests.
            child: (child(), vec![folder.path().into()]),
            kv: folder.path().join(".temp/kv"),
            fetch: Arc::new(Echo),
            secrets: Box::new(|name| (name == "STATION").then(|| "s3cret".to_owned())),
            runtime: tokio::runtime::Handle::current(),
            clock: Arc::new(Fixed),
            in_use: Box::new(move |_| used.clone()),
            changed: Box::new(move || {
                counted.fetch_add(1, Ordering::SeqCst);
            }),
        })
        .expect("plugins");
        plugins.configure(vec![settings]);
        plugins.settle(Duration::from_secs(60));
        Self { folder, plugins, changes }
    }

    pub(crate) fn plugin(&self) -> Arc<Plugin> {
        self.plugins.get("liar").expect("configured")
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("libliar.so")
    }

    /// Processes of its plugin that are alive.
    pub(crate) fn children(&self) -> usize {
        let mark = self.folder.path().as_os_str().as_encoded_bytes();
        let entries = std::fs::read_dir("/proc").expect("procfs");
        let lines = entries.flatten().filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        lines.filter(|line| line.split(|byte| *byte == 0).any(|argument| argument == mark)).count()
    }

    /// Puts another library in the place of the plugin's, by renaming.
    pub(crate) fn replace(&self, library: &Path) {
        let beside = self.folder.path().join(".new");
        place(library, &beside);
        std::fs::rename(beside, self.file()).expect("renamed");
    }

    /// Calls a tool as a turn would.
    pub(crate) async fn tool(&self, id: &str, arguments: Value) -> Result<Value, ToolError> {
        let name = format!("liar:{id}");
        let all = tools(&self.plugin());
        let Some((_, maker)) = all.iter().find(|(known, _)| *known == name) else {
            return Err(ToolError { code: "unknown", message: format!("no tool `{name}`") });
        };
        let tool = maker.make(&Map::new()).expect("no settings");
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        tool.call(arguments, context()).await
    }

    pub(crate) async fn call(
        &self,
        id: &str,
        arguments: Value,
        chunks: bool,
        timeout: Option<Duration>,
    ) -> Result<Call, CallError> {
        let context = CallContext::default();
        let input = Payload::json(&arguments);
        self.plugin().call(Ask { component: id, method: "invoke", input, context: &context, chunks, timeout }).await
    }

    /// Waits for a condition, at most 20 s.
    pub(crate) async fn until(&self, is: impl Fn(&Self) -> bool) {
        for _ in 0..4_000 {
            if is(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it did not come about: {:#?}", self.plugin().status());
    }

    /// Waits until a tool answers so.
    pub(crate) async fn until_tool(&self, id: &str, answer: Value) {
        for _ in 0..4_000 {
            if self.tool(id, Value::Null).await.as_ref() == Ok(&answer) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it never answered {answer}: {:#?}", self.plugin().status());
    }
}

/// Copies a library to where nobody else may write.
pub(crate) fn place(from: &Path, to: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::copy(from, to).expect("copied");
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(0o755)).expect("chmod");
}

fn context() -> ToolContext {
    let resource = ResourceId::new("user:a").expect("legal");
    let thread = ThreadId::new("t1").expect("legal");
    ToolContext {
        agent: AgentId::new("tester").expect("legal"),
        turn: TurnId::new("turn_1").expect("legal"),
        key: Some(ThreadKey { resource, thread }),
        call_id: "call_1".to_owned(),
    }
}

//! Tools that answer what the test file says instead of being run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use roster_model::BoxFuture;
use roster_model::source::{SourceState, ToolGroup, ToolSource};
use roster_model::tool::{SettingsError, Tool, ToolContext, ToolError, ToolMaker, ToolSpec};
use serde_json::{Map, Value};

use super::file::Stub;
use super::judge::{Fault, holds};
use super::tape::Tape;

/// The results of a test file.
pub(super) struct Stubs {
    stubs: Vec<Stub>,
    tape: Arc<Tape>,
    /// The tools that stand behind a name so far.
    met: Mutex<BTreeSet<String>>,
}

impl Stubs {
    /// These results; what is called without one is told to `tape`.
    pub(super) fn new(stubs: Vec<Stub>, tape: Arc<Tape>) -> Arc<Self> {
        Arc::new(Self { stubs, tape, met: Mutex::default() })
    }

    /// The makers, those of named tools replaced.
    pub(super) fn makers(
        self: &Arc<Self>,
        makers: BTreeMap<String, Arc<dyn ToolMaker>>,
    ) -> BTreeMap<String, Arc<dyn ToolMaker>> {
        let mut replaced = makers;
        for (name, maker) in replaced.iter_mut().filter(|(name, _)| self.names(name)) {
            let maker_of = StubMaker { name: name.clone(), maker: Arc::clone(maker), stubs: Arc::clone(self) };
            *maker = Arc::new(maker_of);
        }
        replaced
    }

    /// The servers, named tools of theirs replaced.
    pub(super) fn servers(self: &Arc<Self>, servers: Arc<dyn ToolSource>) -> Arc<dyn ToolSource> {
        Arc::new(StubServers { servers, stubs: Arc::clone(self) })
    }

    fn names(&self, name: &str) -> bool {
        self.stubs.iter().any(|stub| stub.name == name)
    }

    /// Names of the file behind which no agent has a tool.
    pub(super) fn unmet(&self) -> Vec<String> {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let names: BTreeSet<&String> = self.stubs.iter().map(|stub| &stub.name).collect();
        names.into_iter().filter(|name| !met.contains(*name)).cloned().collect()
    }

    fn over(self: &Arc<Self>, name: &str, tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        Arc::new(StubTool { name: name.to_owned(), tool, stubs: Arc::clone(self) })
    }

    fn answer(&self, name: &str, arguments: &Map<String, Value>) -> Result<Value, ToolError> {
        let fits = |stub: &&Stub| stub.name == name && holds(arguments, &stub.when);
        let failed = |message: String| ToolError { code: "stub", message };
        match self.stubs.iter().find(fits) {
            Some(Stub { result: Some(result), .. }) => Ok(result.clone()),
            Some(Stub { error, .. }) => Err(failed(error.clone().unwrap_or_default())),
            None => {
                let what = format!("`{name}` is called with arguments for which [[tools]] has no result");
                self.tape.fault(Fault { got: Some(Value::Object(arguments.clone()).to_string()), ..Fault::new(&what) });
                Err(failed(what))
            }
        }
    }
}

/// The tool's own maker looks at its settings first.
struct StubMaker {
    name: String,
    maker: Arc<dyn ToolMaker>,
    stubs: Arc<Stubs>,
}

impl ToolMaker for StubMaker {
    fn make(&self, settings: &Map<String, Value>) -> Result<Arc<dyn Tool>, SettingsError> {
        self.maker.make(settings).map(|tool| self.stubs.over(&self.name, tool))
    }
}

struct StubServers {
    servers: Arc<dyn ToolSource>,
    stubs: Arc<Stubs>,
}

impl ToolSource for StubServers {
    fn group(&self, server: &str) -> Option<ToolGroup> {
        let group = self.servers.group(server)?;
        let replaced = |tool: &Arc<dyn Tool>| {
            let name = tool.spec().name.clone();
            if self.stubs.names(&name) { self.stubs.over(&name, Arc::clone(tool)) } else { Arc::clone(tool) }
        };
        Some(ToolGroup { tools: group.tools.iter().map(replaced).collect(), ..group })
    }

    fn servers(&self) -> Vec<String> {
        self.servers.servers()
    }

    fn states(&self) -> Vec<SourceState> {
        self.servers.states()
    }

    fn hurry(&self) {
        self.servers.hurry();
    }
}

struct StubTool {
    name: String,
    tool: Arc<dyn Tool>,
    stubs: Arc<Stubs>,
}

impl Tool for StubTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn call(&self, arguments: Map<String, Value>, _context: ToolContext) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move { self.stubs.answer(&self.name, &arguments) })
    }
}

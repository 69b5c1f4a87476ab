//! Agents whose tools come from servers that come and go.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use roster_engine::registry::{AgentState, ChangeKind, prepare};
use roster_model::BoxFuture;
use roster_model::source::{SourceState, Standing, ToolGroup, ToolSource};
use roster_model::tool::{Tool, ToolContext, ToolError, ToolSpec};
use serde_json::{Map, Value, json};

use crate::double::{World, candidate};
use crate::registry::{id, problems};

struct Remote(ToolSpec);

impl Tool for Remote {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, _arguments: Map<String, Value>, _context: ToolContext) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async { Ok(Value::Null) })
    }
}

#[derive(Default)]
struct Servers(Mutex<BTreeMap<String, ToolGroup>>);

impl Servers {
    fn set(&self, revision: u64, standing: Standing, tools: &[(&str, Value)]) {
        let tool = |(name, schema): &(&str, Value)| {
            let (name, input_schema) = (format!("mcp:files/{name}"), schema.clone());
            Arc::new(Remote(ToolSpec { name, description: String::new(), input_schema })) as Arc<dyn Tool>
        };
        let group = ToolGroup { revision, standing, tools: tools.iter().map(tool).collect() };
        self.0.lock().unwrap().insert("files".to_owned(), group);
    }
}

impl ToolSource for Servers {
    fn group(&self, server: &str) -> Option<ToolGroup> {
        self.0.lock().unwrap().get(server).cloned()
    }

    fn servers(&self) -> Vec<String> {
        self.0.lock().unwrap().keys().cloned().collect()
    }

    fn states(&self) -> Vec<SourceState> {
        Vec::new()
    }
}

const PLAIN: &str = "id = \"plain\"\ninstructions = \"x\"\n";

fn user(tools: &str) -> String {
    format!("id = \"user\"\ninstructions = \"x\"\nmemory = \"create_memory\"\ntools = [{tools}]\n")
}

fn offered(world: &World) -> Vec<(String, u64)> {
    let snapshot = world.registry.snapshot();
    let agent = snapshot.agent(&id("user")).expect("serving");
    agent.tools.iter().map(|tool| (tool.offered.name.clone(), tool.timeout.as_secs())).collect()
}

fn world(servers: &Arc<Servers>, tools: &str) -> World {
    let mut world = World::new(&[PLAIN]);
    world.catalog.servers = Arc::clone(servers) as _;
    world.load(&[&user(tools), PLAIN]);
    world
}

fn object() -> Value {
    json!({"type": "object"})
}

#[tokio::test]
async fn agents_serve_without_a_server_and_become_whole_when_it_comes() {
    let servers = Arc::new(Servers::default());
    servers.set(1, Standing::Absent("cannot be reached".to_owned()), &[]);
    let world = world(&servers, "\"pay\", \"mcp:files/*\"");
    assert_eq!(offered(&world), [("pay".to_owned(), 60)]);
    let found = problems(&world, "user").join("\n");
    assert!(found.contains("warning[server_absent]") && found.contains("`files` cannot be reached"), "{found}");
    assert_eq!(world.registry.snapshot().entry(&id("user")).unwrap().state, AgentState::Serving);

    servers.set(2, Standing::Here, &[("read", object()), ("write", object())]);
    let before = world.registry.snapshot();
    let candidates = [user("\"pay\", \"mcp:files/*\"").as_str(), PLAIN].iter().map(|file| candidate(file)).collect();
    let prepared = prepare(&world.catalog, &before, candidates, Vec::new());
    let changes: Vec<_> = prepared.changes.iter().map(|change| (change.agent.as_str(), change.kind)).collect();
    assert_eq!(changes, [("user", ChangeKind::Rebound)], "the other agent is left alone");
    assert!(prepared.factory_calls.is_empty(), "its memory stays");
    world.registry.publish(prepared);
    let names: Vec<String> = offered(&world).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["pay", "files_read", "files_write"]);
    assert!(problems(&world, "user").is_empty());
}

#[tokio::test]
async fn a_tool_named_by_itself_keeps_its_own_settings() {
    let servers = Arc::new(Servers::default());
    servers.set(1, Standing::Here, &[("read", object()), ("write", object())]);
    let settings = "\"mcp:files/*\", \"mcp:files/write\"]\n[tool_settings.\"mcp:files/*\"]\ntimeout = \"5s\"\n\
                    [tool_settings.\"mcp:files/write\"]\ntimeout = \"9s\"\n#";
    let world = world(&servers, settings);
    assert_eq!(offered(&world), [("files_read".to_owned(), 5), ("files_write".to_owned(), 9)]);
}

#[tokio::test]
async fn what_a_server_does_not_have_is_a_warning_and_a_bad_schema_costs_one_tool() {
    let servers = Arc::new(Servers::default());
    servers.set(1, Standing::Here, &[("read", object()), ("bad", json!({"type": "object", "required": 5}))]);
    let world = world(&servers, "\"mcp:files/*\", \"mcp:files/raed\"");
    assert_eq!(offered(&world), [("files_read".to_owned(), 60)]);
    let found = problems(&world, "user").join("\n");
    assert!(found.contains("warning[tool_schema]: tool `mcp:files/bad` is left out"), "{found}");
    assert!(found.contains("warning[tool_absent]: the MCP server `files` has no tool `raed` now"), "{found}");
}

#[tokio::test]
async fn a_server_nobody_configured_is_an_error_with_a_guess() {
    let servers = Arc::new(Servers::default());
    servers.set(1, Standing::Here, &[]);
    let world = world(&servers, "\"mcp:flies/read\"");
    let snapshot = world.registry.snapshot();
    let entry = snapshot.entry(&id("user")).unwrap();
    assert_eq!(entry.state, AgentState::Rejected);
    assert_eq!(entry.problems[0].code, "unknown_server");
    assert_eq!(entry.problems[0].help.as_deref(), Some("did you mean `files`?"));
}

#[tokio::test]
async fn settings_of_their_own_are_refused() {
    let servers = Arc::new(Servers::default());
    servers.set(1, Standing::Here, &[("read", object())]);
    let world = world(&servers, "\"mcp:files/read\"]\n[tool_settings.\"mcp:files/read\"]\nfolder = \"x\"\n#");
    let found = problems(&world, "user").join("\n");
    assert!(found.contains("error[tool_setting]") && found.contains("unknown key `folder`"), "{found}");
}

//! The schemas say what the loaders say, and are checked in.

#![expect(clippy::disallowed_methods, reason = "samples and schemas are files of this project")]

use std::path::{Path, PathBuf};

use roster_engine::definition::view::json_of;
use roster_engine::definition::{self, syntax};
use serde_json::Value;
use toml::de::DeValue;

use crate::config::{load_registry, load_runtime, read_project, schema};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn accepts(schema: &Value, text: &str) -> bool {
    let parsed = syntax::parse("x.toml", text);
    let value = json_of(&DeValue::Table(parsed.root.into_inner()));
    jsonschema::draft7::new(schema).unwrap().is_valid(&value)
}

#[test]
fn runtime_schema_and_loader_agree() {
    let schema = schema::runtime();
    let texts = [
        ("[project]\n", true),
        ("", false),
        ("[project]\nname = \"x\"\n[gateway]\nlisten = \"${ADDR}\"\n", true),
        ("[project]\n[gateway]\nlisten = \"here\"\n", false),
        ("[project]\n[gateway]\nlisten = 8787\n", false),
        ("[project]\n[gateway]\ncors = [\"https://a.example\"]\n", true),
        ("[project]\n[gateway]\ncors = [\"https://a.example/x\"]\n", false),
        ("[project]\n[storage]\nsessions = \"roster.db\"\n", false),
        ("[project]\n[storage]\nobservability = \"duckdb:x\"\n", true),
        ("[project]\n[models]\ndefault = \"demo/pro\"\nfast = \"demo/flash\"\n", true),
        ("[project]\n[models]\ndefault = \"pro\"\n", false),
        ("[project]\n[models]\n\"a b\" = \"demo/pro\"\n", false),
        ("[project]\n[models.providers.p]\nbase_url = \"http://h\"\n", true),
        ("[project]\n[models.providers.p]\nbase_url = \"h\"\n", false),
        ("[project]\n[models.providers.p]\nbase_url = \"http://h\"\ndialect = \"gemini\"\n", true),
        ("[project]\n[models.providers.p]\nbase_url = \"http://h\"\napi_key = \"x\"\napi_key_env = \"X\"\n", false),
        ("[project]\n[models.providers.demo]\nbase_url = \"http://h\"\n", false),
        ("[project]\n[auth]\nmode = \"jwt\"\n", false),
        ("[project]\n[[auth.tokens]]\nsubject = \"a\"\n[auth]\n", false),
        ("[project]\n[auth]\nmode = \"token\"\ntokens = [{ subject = \"a\", env = \"ADDR\" }]\n", true),
        ("[project]\n[auth]\nmode = \"token\"\ntokens = [{ subject = \"a\" }]\n", false),
        ("[project]\n[auth]\nmode = \"token\"\ntokens = [{ subject = \"a\", env = \"ADDR\", scopes = [] }]\n", false),
        ("[project]\n[limits]\nbody = \"4MiB\"\nturn_timeout = \"1m\"\n", true),
        ("[project]\n[limits]\nbody = \"4 MiB\"\n", false),
        ("[project]\n[limits]\ntool_result = \"8KiB\"\n", true),
        ("[project]\n[limits]\ntool_result = \"01000B\"\n", true),
        ("[project]\n[limits]\ntool_result = \"999B\"\n", false),
        ("[project]\n[limits]\ntool_result = 0\n", false),
        ("[project]\n[observability]\nsample = 1.5\n", false),
        ("[project]\n[plugins]\nwatch = true\n[mcp.servers.x]\ncommand = [\"x\"]\n", true),
        (
            "[project]\n[mcp.servers.x]\ncommand = \"npx\"\nargs = [\"-y\"]\nenv = { A = \"${ADDR}\" }\ncwd = \".\"\n",
            true,
        ),
        ("[project]\n[mcp.servers.x]\nurl = \"https://h/mcp?k=1\"\nheaders = { X = \"y\" }\n", true),
        ("[project]\n[mcp.servers.x]\ncommand = []\n", false),
        ("[project]\n[mcp.servers.x]\n", false),
        ("[project]\n[mcp.servers.x]\nurl = \"https://h\"\ncommand = [\"x\"]\n", false),
        ("[project]\n[mcp.servers.x]\nurl = \"https://h\"\nargs = [\"x\"]\n", false),
        ("[project]\n[mcp.servers.x]\ncommand = [\"x\"]\nheaders = { X = \"y\" }\n", false),
        ("[project]\n[mcp.servers.\"a b\"]\ncommand = [\"x\"]\n", false),
        ("[project]\n[mcp]\nserver = 1\n", false),
        ("[project]\n[gateway.mcp]\nagents = [\"chat-agent\", \"*\"]\n", true),
        ("[project]\n[gateway.mcp]\nagents = [\"No Id\"]\n", false),
        ("[project]\n[studio.mcp]\nagents = []\n", false),
        ("[project]\nnam = \"x\"\n", false),
    ];
    let environment = |name: &str| (name == "ADDR").then(|| "127.0.0.1:0".to_owned());
    for (text, good) in texts {
        let loaded = load_runtime(text.as_bytes(), &environment);
        assert_eq!(loaded.config.is_some(), good, "loader: {text}\n{:?}", loaded.problems);
        assert_eq!(accepts(&schema, text), good, "schema: {text}");
    }
}

#[test]
fn registry_schema_and_loader_agree() {
    let schema = schema::registry();
    let lines = [
        ("a = \"a.toml\"", true),
        ("\"a.b\" = \"deep/a.toml\"", true),
        ("A = \"a.toml\"", false),
        ("a = 3", false),
        ("a = \"../a.toml\"", false),
        ("a = \"/a.toml\"", false),
        ("a = \"a/../b.toml\"", false),
        ("a = \"a.test.toml\"", false),
        ("a = \".a.toml\"", false),
        ("a = \"x/.a.toml\"", false),
        ("a = \"a.md\"", false),
        ("a = \".toml\"", false),
    ];
    for (line, good) in lines {
        let text = format!("[agents]\n{line}\n");
        assert_eq!(load_registry(text.as_bytes()).problems.is_empty(), good, "loader: {line}");
        assert_eq!(accepts(&schema, &text), good, "schema: {line}");
    }
}

#[test]
fn the_samples_are_clean_and_their_schemas_accept_them() {
    let root = repository();
    let project = read_project(&root, &|_| None);
    assert!(project.all_problems().is_empty(), "{:?}", project.all_problems());
    assert_eq!(project.agents.len(), 6);
    assert!(project.unregistered.is_empty());
    let read = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
    assert!(accepts(&schema::runtime(), &read("config/runtime.toml")));
    assert!(accepts(&schema::registry(), &read("config/registry.toml")));
    for agent in &project.agents {
        let text = read(&agent.file);
        assert!(text.starts_with("#:schema ../docs/schema/agent.schema.json\n"), "{}", agent.file);
        assert!(accepts(&definition::schema::agent(), &text), "{}", agent.file);
    }
}

#[test]
fn the_checked_in_schemas_are_fresh() {
    for (name, schema) in [("runtime", schema::runtime()), ("registry", schema::registry())] {
        let path = repository().join(format!("docs/schema/{name}.schema.json"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, definition::schema::to_text(&schema)).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        let hint = format!("stale: refresh it by `roster schema {name} > docs/schema/{name}.schema.json`");
        assert!(found == definition::schema::to_text(&schema), "{hint}");
    }
}

//! JSON Schemas of the two files of `config/`.

use roster_engine::definition::schema::of_file;
use serde_json::{Value, json};

use super::shapes::{REGISTRY, RUNTIME};

/// The schema of `config/runtime.toml`.
#[must_use]
pub fn runtime() -> Value {
    let mut schema = of_file(&RUNTIME, "The runtime of Roster", true);
    // A provider has its key from one place, a token its proof.
    let provider = &mut schema["properties"]["models"]["properties"]["providers"]["additionalProperties"];
    provider["not"] = json!({ "required": ["api_key", "api_key_env"] });
    let token = &mut schema["properties"]["auth"]["properties"]["tokens"]["items"];
    token["oneOf"] = json!([{ "required": ["sha256"] }, { "required": ["env"] }]);
    // A server is a program or an address, and each has its own keys.
    let server = &mut schema["properties"]["mcp"]["properties"]["servers"]["additionalProperties"];
    let only = |one: &str, others: &[&str]| {
        let without: Vec<Value> = others.iter().map(|key| json!({ "required": [key] })).collect();
        json!({ "required": [one], "not": { "anyOf": without } })
    };
    server["oneOf"] = json!([only("command", &["url", "headers"]), only("url", &["command", "args", "env", "cwd"])]);
    schema
}

/// The schema of `config/registry.toml`.
#[must_use]
pub fn registry() -> Value {
    of_file(&REGISTRY, "The registry of Roster", false)
}

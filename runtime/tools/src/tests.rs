//! What holds for every built-in tool, and reading settings.

use super::*;
use roster_model::BoxFuture;
use roster_model::id::{AgentId, TurnId};
use roster_model::time::Timestamp;
use roster_model::tool::{SettingsError, ToolContext};
use serde_json::{Map, Value, json};

/// A clock that stands still.
pub(crate) struct Fixed(pub(crate) i64);

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0)
    }
}

pub(crate) fn context() -> ToolContext {
    ToolContext {
        agent: AgentId::new("clerk").expect("legal"),
        turn: TurnId::new("turn_1").expect("legal"),
        key: None,
        call_id: "call_1".to_owned(),
    }
}

pub(crate) fn object(value: &Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

/// A client that never leaves the machine: no proxy of the environment, no waiting idle connections.
pub(crate) fn client() -> reqwest::Client {
    // A second installation is refused and harmless: tests of one process share the provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("a client")
}

/// A project whose folders are all there and empty.
struct Empty;

impl docs::Folders for Empty {
    fn look(&self, _: &str) -> Result<(), docs::Unreadable> {
        Ok(())
    }

    fn list<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<docs::Listing, docs::Unreadable>> {
        Box::pin(async { Ok(docs::Listing::default()) })
    }

    fn read<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<String, docs::Unreadable>> {
        Box::pin(async { Err(docs::Unreadable::Missing) })
    }
}

fn kit() -> Kit {
    let client = client();
    let fetch = web::FetchMaker::new(Arc::new(web::SystemLookup)).expect("clients");
    Kit { client, clock: Arc::new(Fixed(0)), folders: Arc::new(Empty), fetch }
}

/// Settings a tool cannot do without.
fn needed(tool: &str) -> Value {
    match tool {
        "search_docs" => json!({"folder": "docs"}),
        "http_fetch" => json!({"hosts": ["docs.rs"]}),
        _ => json!({}),
    }
}

#[test]
fn every_tool_bears_its_name_and_a_closed_object_schema() {
    let tools = builtin(kit());
    let names: Vec<&str> = tools.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["get_time", "get_weather", "search_docs", "http_fetch"]);
    for (name, maker) in &tools {
        let tool = maker.make(&object(&needed(name))).expect("legal settings");
        let spec = tool.spec();
        assert_eq!(&spec.name, name);
        assert!(!spec.description.is_empty());
        assert_eq!(spec.input_schema["type"], "object");
        assert_eq!(spec.input_schema["additionalProperties"], false);
        for (key, property) in spec.input_schema["properties"].as_object().expect("properties") {
            assert!(property["description"].is_string(), "{name}: {key} is described");
        }
    }
}

fn refusal(tool: &str, settings: &Value) -> SettingsError {
    let tools = builtin(kit());
    let (_, maker) = tools.iter().find(|(name, _)| name == tool).expect("a built-in tool");
    maker.make(&object(settings)).err().expect("refused")
}

fn check_refusal(tool: &str, settings: &Value, key: &str, message: &str, help: &str) {
    let fault = refusal(tool, settings);
    assert_eq!((fault.key.as_str(), fault.message.as_str(), fault.help.as_deref()), (key, message, Some(help)));
}

#[test]
fn unknown_settings_are_refused_with_what_was_meant() {
    let unknown = |key: &str, tool: &str| format!("unknown setting `{key}` of tool `{tool}`");
    let check = |tool, settings: Value, key, help| check_refusal(tool, &settings, key, &unknown(key, tool), help);
    check("get_weather", json!({"base_ulr": "http://h"}), "base_ulr", "did you mean `base_url`?");
    check("get_weather", json!({"Geocoding_URL": "http://h"}), "Geocoding_URL", "did you mean `geocoding_url`?");
    check("get_weather", json!({"zzz": 1}), "zzz", "known settings: `base_url`, `geocoding_url`");
    check("get_time", json!({"zone": "UTC"}), "zone", "this tool has no settings of its own");
}

#[test]
fn addresses_are_checked() {
    let help = "for example `base_url = \"https://api.open-meteo.com/v1\"`";
    let check =
        |value: Value, message| check_refusal("get_weather", &json!({"base_url": value}), "base_url", message, help);
    check(json!(7), "`base_url` must be a text");
    check(json!("weather"), "`base_url` is no web address");
    check(json!(""), "`base_url` is no web address");
    check(json!("file:///etc/passwd"), "`base_url` must begin with `http://` or `https://`");
    check(json!("https://me:secret@host/v1"), "`base_url` must not hold credentials");
    check(json!("https://host/v1?apikey=1"), "`base_url` must not hold a query or a fragment");
}

#[test]
fn an_address_without_a_path_gets_the_version() {
    let check = |text: &str, expected: &str| {
        let url = settings::base_url(&object(&json!({"k": text})), "k", "unused", "search").expect("legal");
        assert_eq!(url.as_str(), expected);
    };
    check("http://127.0.0.1:9", "http://127.0.0.1:9/v1");
    check("http://127.0.0.1:9/", "http://127.0.0.1:9/v1");
    check(" https://host/v1/ ", "https://host/v1");
    check("https://host/mirror/v2", "https://host/mirror/v2");
    check("https://host/v3/search", "https://host/v3");
    check("https://host/search/", "https://host/v1");
    check("https://host/research", "https://host/research");
}

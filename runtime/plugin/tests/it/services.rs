//! What a plugin may ask of the host: by grant, in both modes.

use roster_plugin::settings::{Grant, Isolation};
use serde_json::{Value, json};

use crate::world::World;

async fn ask(world: &World, service: &str, input: Value) -> Result<Value, String> {
    world.tool("ask", json!({"service": service, "input": input})).await.map_err(|error| error.message)
}

fn granted(isolation: Isolation) -> World {
    World::new(&[], isolation, Vec::new(), |settings| {
        settings.grants = ["kv", "metric", "secret:STATION", "secret:UNSET", "http:api.example.org"]
            .iter()
            .filter_map(|text| Grant::parse(text))
            .collect();
    })
}

async fn everything(world: &World) {
    assert_eq!(ask(world, "kv.get", json!({"key": "a/../b"})).await, Ok(json!({"value": null})));
    assert_eq!(ask(world, "kv.put", json!({"key": "a/../b", "value": {"n": 1}})).await, Ok(json!({})));
    assert_eq!(ask(world, "kv.put", json!({"key": "c", "value": 2})).await, Ok(json!({})));
    assert_eq!(ask(world, "kv.get", json!({"key": "a/../b"})).await, Ok(json!({"value": {"n": 1}})));
    assert_eq!(ask(world, "kv.list", json!({"prefix": "a"})).await, Ok(json!({"keys": ["a/../b"]})));
    assert_eq!(ask(world, "kv.delete", json!({"key": "c"})).await, Ok(json!({})));
    assert_eq!(ask(world, "kv.list", json!({})).await, Ok(json!({"keys": ["a/../b"]})));
    assert!(ask(world, "kv.put", json!({"key": "", "value": 1})).await.expect_err("no key").contains("120 bytes"));
    assert_eq!(ask(world, "secret.get", json!({"name": "STATION"})).await, Ok(json!({"value": "s3cret"})));
    assert!(ask(world, "secret.get", json!({"name": "UNSET"})).await.expect_err("unset").contains("not set"));
    assert!(ask(world, "secret.get", json!({"name": "PATH"})).await.expect_err("denied").contains("secret:PATH"));
    let fetched = ask(world, "http.fetch", json!({"url": "https://api.example.org/x"})).await.expect("granted");
    assert_eq!(fetched["body"], "https://api.example.org/x");
    let denied = ask(world, "http.fetch", json!({"url": "https://evil.example/"})).await.expect_err("denied");
    assert!(denied.contains("http:evil.example"), "{denied}");
    assert!(ask(world, "http.fetch", json!({"url": "https://api.example.org:8443/"})).await.is_err(), "another port");
    assert!(ask(world, "http.fetch", json!({"url": "https://api.example.org@evil.example/"})).await.is_err());
    assert_eq!(ask(world, "metric.add", json!({"name": "rain", "value": 1.5})).await, Ok(json!({})));
    assert_eq!(world.plugin().counters.custom()["rain"], 1.5);
    assert!(ask(world, "metric.add", json!({"name": "rain", "value": -1})).await.is_err());
    assert!(ask(world, "tool.call", json!({})).await.expect_err("not there").contains("tool.call"));
}

#[tokio::test(flavor = "multi_thread")]
async fn granted_services_answer_and_others_say_what_to_grant() {
    everything(&granted(Isolation::InProcess)).await;
    everything(&granted(Isolation::Process)).await;
}

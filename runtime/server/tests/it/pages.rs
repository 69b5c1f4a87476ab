//! Studio's page, the registry, the document.

use http::StatusCode;
use serde_json::{Value, json};

use crate::world::World;

#[tokio::test]
async fn the_registry_as_operators_see_it() {
    let world = World::new();
    let body = world.studio("/admin/registry").await.json();
    assert_eq!(body["generation"], 1);
    let states: Vec<(&str, &str)> = body["agents"]
        .as_array()
        .expect("agents")
        .iter()
        .map(|agent| (agent["id"].as_str().expect("id"), agent["state"].as_str().expect("state")))
        .collect();
    assert_eq!(
        states,
        [("clerk", "serving"), ("echo", "serving"), ("broken", "rejected"), ("off", "disabled"), ("keeper", "serving")]
    );
    let clerk = &body["agents"][0];
    assert_eq!((&clerk["file"], &clerk["generation"]), (&json!("agents/clerk.toml"), &json!(1)));
    assert_eq!(clerk["tools"], json!([{"name": "add", "offered": "add"}]));
    assert_eq!(clerk["problems"], json!([]));
    let problem = &body["agents"][2]["problems"][0];
    assert_eq!(problem["severity"], "error");
    assert_eq!((&problem["line"], &problem["file"]), (&json!(3), &json!("agents/broken.toml")));
    assert_eq!(body["unregistered"][0]["file"], "agents/stray.toml");
}

#[tokio::test]
async fn the_page_is_plain_and_may_only_talk_home() {
    let world = World::new();
    world.configure(|config| config.gateway_address = Some("0.0.0.0:9000".parse().expect("legal")));
    let page = world.studio("/").await;
    assert_eq!(page.status, StatusCode::OK);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'") && policy.contains("script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe"));
    assert!(page.text.contains("curl -N http://127.0.0.1:9000/api/chat") && page.text.contains("version 9.9.9"));
    assert!(!page.text.contains("{{"), "every mark is filled");
}

#[tokio::test]
async fn the_document_carries_the_version() {
    let world = World::new();
    let document: Value = world.get("/openapi.json").await.json();
    assert_eq!(document["info"]["version"], "9.9.9");
    assert!(document["paths"]["/api/chat"]["post"].is_object());
}

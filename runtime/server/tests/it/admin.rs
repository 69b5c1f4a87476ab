//! The operator's routes: reloading, history, pins, and what became of an agent whose file is gone or broken.

use axum::body::Body;
use http::{Method, StatusCode};
use roster_engine::definition::Problem;
use roster_engine::registry::{Candidate, ControlError};
use roster_model::id::AgentId;
use roster_model::ledger::LedgerEntry;
use roster_model::storage::{StoreError, StoreErrorKind};
use roster_model::time::Timestamp;
use serde_json::{Value, json};

use crate::chat::ask as question;
use crate::world::{World, ask, candidate, send};

const ROUTES: &[(&str, &str)] = &[
    ("POST", "/admin/reload"),
    ("GET", "/admin/events"),
    ("GET", "/admin/agents/clerk/history"),
    ("POST", "/admin/agents/clerk/pin"),
];

fn agent(registry: &Value, id: &str) -> Value {
    let agents = registry["agents"].as_array().expect("agents");
    agents.iter().find(|agent| agent["id"] == id).expect("listed").clone()
}

/// Another text for `echo`.
fn rewrite(line: &mut Candidate) {
    *line = candidate(&("echo", "id = \"echo\"\ninstructions = \"Echo twice.\"\n"));
}

/// The file of `clerk` cannot be read as a definition any more.
fn broken(line: &mut Candidate) {
    line.definition = None;
    line.problems = vec![Problem::error("syntax", "agents/clerk.toml", "no TOML")];
}

#[tokio::test]
async fn a_reload_answers_with_the_registry_after_it() {
    let world = World::new();
    let before = world.studio("/admin/registry").await.json();
    world.operator.change("echo", rewrite);
    let answer = world.post_studio("/admin/reload", &Value::Null).await;
    assert_eq!(answer.status, StatusCode::OK);
    let after = answer.json();
    assert_eq!(after, world.studio("/admin/registry").await.json());
    assert_eq!((&before["generation"], &after["generation"]), (&json!(1), &json!(2)));
    let of = |registry: &Value, id: &str| {
        let agent = agent(registry, id);
        (agent["generation"].clone(), agent["fingerprint"].as_str().expect("served").to_owned())
    };
    assert_eq!(of(&before, "clerk"), of(&after, "clerk"), "unchanged");
    let ((was, old), (is, new)) = (of(&before, "echo"), of(&after, "echo"));
    assert_eq!((was, is), (json!(1), json!(2)));
    assert!(old != new && new.len() == 64, "{old} {new}");
    assert_eq!(agent(&after, "broken")["fingerprint"], Value::Null);
}

#[tokio::test]
async fn a_reload_needs_no_body_and_no_content_type() {
    let world = World::new();
    let mut request = ask(Method::POST, "/admin/reload", Body::empty());
    request.headers_mut().clear();
    assert_eq!(send(&world.studio, request).await.status, StatusCode::OK);
}

fn entry(generation: u64, change: &str) -> LedgerEntry {
    LedgerEntry {
        run: "run_1".to_owned(),
        generation,
        at: Timestamp::from_millis(1_893_456_000_000),
        agent: AgentId::new("clerk").expect("legal"),
        change: change.to_owned(),
        fingerprint: "ab".repeat(32),
        keys: vec!["instructions".to_owned()],
    }
}

#[tokio::test]
async fn a_history_is_told_newest_first_and_bounded() {
    let world = World::new();
    *world.operator.ledger.lock().unwrap() = vec![entry(3, "changed"), entry(1, "added")];
    let history = world.studio("/admin/agents/clerk/history").await.json();
    assert_eq!((&history["id"], &history["pinned"]), (&json!("clerk"), &Value::Null));
    let newest = json!({"run": "run_1", "generation": 3, "at": "2030-01-01T00:00:00.000Z", "agent": "clerk",
        "change": "changed", "fingerprint": "ab".repeat(32), "keys": ["instructions"]});
    assert_eq!(history["entries"][0], newest);
    assert_eq!(history["entries"][1]["change"], "added");
    let one = world.studio("/admin/agents/clerk/history?limit=1").await.json();
    assert_eq!(one["entries"], json!([newest]));
    for limit in ["0", "1001", "-1", "x"] {
        let answer = world.studio(&format!("/admin/agents/clerk/history?limit={limit}")).await;
        assert_eq!(answer.plain_error(), (400, "invalid_request".into()), "{limit}");
    }
    for nobody in ["nobody", "No%20Id", "..%2Fx"] {
        let answer = world.studio(&format!("/admin/agents/{nobody}/history")).await;
        assert_eq!(answer.plain_error(), (404, "agent_not_found".into()), "{nobody}");
    }
}

#[tokio::test]
async fn a_pin_is_set_shown_everywhere_and_taken_away() {
    let world = World::new();
    let registry = world.studio("/admin/registry").await.json();
    assert_eq!(agent(&registry, "echo")["pinned"], Value::Null);
    let fingerprint = agent(&registry, "echo")["fingerprint"].clone();
    let pinned = world.post_studio("/admin/agents/echo/pin", &json!({"fingerprint": fingerprint})).await;
    assert_eq!(pinned.status, StatusCode::OK);
    assert_eq!((&pinned.json()["id"], &pinned.json()["pinned"]), (&json!("echo"), &fingerprint));
    assert_eq!(agent(&world.studio("/admin/registry").await.json(), "echo"), pinned.json());
    assert_eq!(world.studio("/admin/agents/echo/history").await.json()["pinned"], fingerprint);
    let unpinned = world.post_studio("/admin/agents/echo/pin", &json!({"fingerprint": null})).await.json();
    assert_eq!(unpinned["pinned"], Value::Null);
}

#[tokio::test]
async fn a_pin_must_say_what_it_means() {
    let world = World::new();
    for body in [json!({}), json!({"fingerprint": 1}), json!({"fingerprint": null, "force": true}), json!(null)] {
        let answer = world.post_studio("/admin/agents/echo/pin", &body).await;
        assert_eq!(answer.plain_error(), (400, "invalid_request".into()), "{body}");
    }
    let mut request = ask(Method::POST, "/admin/agents/echo/pin", Body::from("{\"fingerprint\":null}"));
    request.headers_mut().insert("content-type", "text/plain".parse().expect("legal"));
    assert_eq!(send(&world.studio, request).await.plain_error(), (415, "unsupported_media_type".into()));
    assert_eq!(world.app.registry.snapshot().generation, 1, "nothing was published");
    let unknown = world.post_studio("/admin/agents/echo/pin", &json!({"fingerprint": "0".repeat(64)})).await;
    assert_eq!(unknown.plain_error(), (404, "version_not_found".into()));
    let nobody = world.post_studio("/admin/agents/nobody/pin", &json!({"fingerprint": null})).await;
    assert_eq!(nobody.plain_error(), (404, "agent_not_found".into()));
}

#[tokio::test]
async fn what_cannot_be_fulfilled_has_its_status() {
    let world = World::new();
    let id = AgentId::new("echo").expect("legal");
    let unservable =
        ControlError::Unservable { agent: id, fingerprint: "ab12".into(), reason: "unknown tool `gone`".into() };
    let ledger = ControlError::Ledger(StoreError::new(StoreErrorKind::Internal, "secret words of the database"));
    for (error, status, code) in [
        (unservable, 409, "version_unservable"),
        (ledger, 503, "ledger_unavailable"),
        (ControlError::Stopping, 503, "draining"),
    ] {
        world.operator.fail(error);
        let answer = world.post_studio("/admin/agents/echo/pin", &json!({"fingerprint": null})).await;
        assert_eq!(answer.plain_error(), (status, code.to_owned()));
        assert!(!answer.text.contains("secret"), "{}", answer.text);
        assert_eq!(answer.headers.contains_key("retry-after"), status == 503, "{code}");
    }
}

#[tokio::test]
async fn where_nobody_reloads_the_registry_can_still_be_read() {
    let world = World::uncontrolled();
    for (method, path) in ROUTES {
        let body = if path.ends_with("pin") { "{\"fingerprint\":null}" } else { "" };
        let request = ask(method.parse().expect("a method"), path, Body::from(body));
        assert_eq!(send(&world.studio, request).await.plain_error(), (503, "not_available".into()), "{path}");
    }
    assert_eq!(world.studio("/admin/registry").await.status, StatusCode::OK);
}

/// A line whose file is gone is listed for operators and for nobody else.
#[tokio::test]
async fn an_agent_without_a_file_has_left_service() {
    let world = World::new();
    world.operator.change("clerk", |line| {
        broken(line);
        line.gone = true;
    });
    world.operator.publish();
    let chat = world.post("/api/chat", &question("clerk", None, "hi")).await;
    assert_eq!(chat.plain_error(), (404, "file_missing".into()));
    assert_eq!(chat.json()["error"], "agent `clerk` has no file any more");
    let openai = world.post("/v1/chat/completions", &question("clerk", None, "hi")).await;
    assert_eq!(openai.openai_error(), (404, "file_missing".into(), Some("model".into())));
    assert_eq!(world.get("/v1/models/clerk").await.openai_error().1, "file_missing");
    for list in ["/api/models", "/v1/models"] {
        assert!(!world.get(list).await.text.contains("clerk"), "{list}");
    }
    let listed = agent(&world.studio("/admin/registry").await.json(), "clerk");
    assert_eq!((&listed["gone"], &listed["state"]), (&json!(true), &json!("rejected")));
    assert_eq!(agent(&world.studio("/admin/registry").await.json(), "echo").get("gone"), None);
    assert!(world.model.asked().is_empty());
}

#[tokio::test]
async fn a_broken_file_keeps_the_last_good_version_serving() {
    let world = World::new();
    let before = agent(&world.studio("/admin/registry").await.json(), "clerk");
    world.operator.change("clerk", broken);
    world.operator.publish();
    world.post("/api/chat", &question("clerk", None, "hi")).await.frames();
    assert!(world.get("/api/models").await.text.contains("clerk"));
    let after = agent(&world.studio("/admin/registry").await.json(), "clerk");
    assert_eq!(after["state"], "serving_last_good");
    assert_eq!((&after["fingerprint"], &after["generation"]), (&before["fingerprint"], &before["generation"]));
    assert_eq!(after["problems"][0]["code"], "syntax");
}

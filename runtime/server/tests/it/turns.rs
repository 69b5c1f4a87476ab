//! `/api/turns`: turns that wait for a person.

use axum::body::Body;
use http::Method;
use roster_server::{Auth, Scope};
use serde_json::{Value, json};

use crate::chat;
use crate::double::{call, stop, words};
use crate::world::{Answer, World, bearer, grant, send};

/// `guard` adds only when a person agrees.
const GUARD: &[(&str, &str)] = &[(
    "guard",
    "id = \"guard\"\ninstructions = \"x\"\nmemory = \"create_memory\"\ntools = [\"add\"]\n[tool_settings.add]\napproval = \"always\"\n",
)];

async fn suspended(world: &World) -> (String, String) {
    world.model.say(call("add", r#"{"a": 2, "b": 3}"#));
    let frames = world.post("/api/chat", &chat::ask("guard", Some("c"), "2 + 3?")).await.frames();
    let [called, done] = frames.as_slice() else { panic!("{frames:?}") };
    assert_eq!((&called["type"], &called["metadata"]["approval"]), (&json!("tool_call"), &json!(true)));
    assert_eq!((&done["type"], &done["metadata"]["finishReason"]), (&json!("done"), &json!("suspended")));
    assert!(done["metadata"]["messageId"].is_string());
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    (text(&done["metadata"]["turnId"]), text(&called["metadata"]["id"]))
}

fn code(answer: &Answer) -> (u16, String) {
    answer.plain_error()
}

#[tokio::test]
async fn an_approved_call_runs_and_the_answer_is_one_object() {
    let world = World::with(GUARD);
    let (turn, id) = suspended(&world).await;
    let listed = world.get("/api/turns?status=suspended").await.json();
    let one = &listed["turns"][0];
    assert_eq!((&one["id"], &one["agent"], &one["conversationId"]), (&json!(turn), &json!("guard"), &json!("c")));
    assert_eq!(one["calls"], json!([{"id": id, "name": "add", "arguments": {"a": 2, "b": 3}}]));
    assert!(one["expiresAt"].is_string() && one.get("resource").is_none());
    let message = &world.get("/api/conversations/c/messages").await.json()["messages"][1];
    assert_eq!((&message["status"], &message["toolCalls"][0]["id"]), (&json!("suspended"), &json!(id)));
    world.model.say([words("5"), stop()]);
    let answer = world.post(&format!("/api/turns/{turn}/approve"), &json!({"callId": id})).await.json();
    assert_eq!((&answer["content"], &answer["finishReason"]), (&json!("5"), &json!("stop")));
    assert_eq!((&answer["turnId"], &answer["conversationId"]), (&json!(turn), &json!("c")));
    assert_eq!(answer["toolCalls"], json!([{"id": id, "name": "add", "result": {"sum": 5}, "duration": 0}]));
    assert_eq!(world.get("/api/turns").await.json(), json!({"turns": []}));
    let message = &world.get("/api/conversations/c/messages").await.json()["messages"][1];
    assert_eq!((&message["content"], message.get("status")), (&json!("5"), None));
}

#[tokio::test]
async fn a_decision_is_streamed_when_asked_for() {
    let world = World::with(GUARD);
    let (turn, id) = suspended(&world).await;
    let mut request =
        crate::world::ask(Method::POST, &format!("/api/turns/{turn}/decline"), r#"{"reason":"no sums"}"#.into());
    request.headers_mut().insert("accept", "text/event-stream".parse().expect("legal"));
    let frames = send(&world.gateway, request).await.frames();
    assert_eq!((&frames[0]["type"], &frames[0]["metadata"]["id"]), (&json!("tool_result"), &json!(id)));
    assert!(frames[0]["metadata"]["error"].as_str().expect("text").contains("no sums"));
    let done = &frames.last().expect("done")["metadata"];
    assert_eq!((&done["finishReason"], &done["turnId"]), (&json!("stop"), &json!(turn)));
}

#[tokio::test]
async fn what_cannot_be_decided_is_said() {
    let world = World::with(GUARD);
    let (turn, _) = suspended(&world).await;
    let approve = format!("/api/turns/{turn}/approve");
    assert_eq!(code(&world.post(&approve, &json!({"callId": "none"})).await), (404, "call_not_found".into()));
    assert_eq!(code(&world.post("/api/turns/turn_x/approve", &json!({})).await), (404, "turn_not_found".into()));
    assert_eq!(code(&world.post(&approve, &json!({"resource": "shop"})).await), (404, "turn_not_found".into()));
    assert_eq!(code(&world.post(&approve, &json!({"reason": 5})).await), (400, "invalid_request".into()));
    assert_eq!(code(&world.get("/api/turns?status=running").await), (400, "invalid_request".into()));
    world.post(&approve, &json!({})).await.json();
    for path in ["approve", "decline"] {
        let again = world.post(&format!("/api/turns/{turn}/{path}"), &json!({})).await;
        assert_eq!(code(&again), (409, "turn_not_suspended".into()));
    }
    let (turn, _) = suspended(&world).await;
    world.clock.advance(roster_model::suspension::EXPIRES_AFTER);
    let late = world.post(&format!("/api/turns/{turn}/approve"), &json!({})).await;
    assert_eq!(code(&late), (409, "approval_expired".into()));
    world.post("/api/chat", &chat::ask("guard", Some("c"), "hello")).await.frames();
    let overtaken = world.post(&format!("/api/turns/{turn}/approve"), &json!({})).await;
    assert_eq!(code(&overtaken), (409, "turn_not_suspended".into()));
}

/// TO-g2.
#[tokio::test]
async fn nobody_decides_about_anothers_turn() {
    let world = World::with(GUARD);
    world.configure(|config| {
        let grants = [("alice", Scope::Chat), ("bob", Scope::Chat), ("root", Scope::Admin)];
        config.auth = Auth::Tokens(grants.iter().map(|(name, scope)| grant(name, &[*scope])).collect());
    });
    let post = async |token: &str, path: &str, body: Value| {
        let request = crate::world::ask(Method::POST, path, body.to_string().into());
        send(&world.gateway, bearer(request, token)).await
    };
    let get = |path: &str| crate::world::ask(Method::GET, path, Body::empty());
    world.model.say(call("add", r#"{"a": 2, "b": 3}"#));
    let frames = post("alice", "/api/chat", chat::ask("guard", Some("c"), "2 + 3?")).await.frames();
    let turn = frames[1]["metadata"]["turnId"].as_str().expect("turn");
    let approve = format!("/api/turns/{turn}/approve");
    let answer = post("bob", &approve, json!({"resource": "user:alice"})).await;
    assert_eq!(code(&answer), (404, "turn_not_found".into()));
    let listed = send(&world.gateway, bearer(get("/api/turns?resource=user:alice"), "bob")).await.json();
    assert_eq!(listed, json!({"turns": []}));
    let refused = send(&world.studio, bearer(get("/admin/turns"), "alice")).await;
    assert_eq!(code(&refused), (403, "missing_scope".into()));
    let all = send(&world.studio, bearer(get("/admin/turns"), "root")).await.json();
    assert_eq!((&all["turns"][0]["id"], &all["turns"][0]["resource"]), (&json!(turn), &json!("user:alice")));
    assert_eq!(post("alice", &approve, json!({})).await.json()["finishReason"], "stop");
}

/// A turn of `user:alice` that waits, in a world with owners and an operator, and how the operator asks.
async fn of_alice(world: &World) -> (String, String) {
    world.configure(|config| {
        let grants = [("alice", Scope::Chat), ("root", Scope::Admin)];
        config.auth = Auth::Tokens(grants.iter().map(|(name, scope)| grant(name, &[*scope])).collect());
    });
    world.model.say(call("add", r#"{"a": 2, "b": 3}"#));
    let body = chat::ask("guard", Some("c"), "2 + 3?").to_string();
    let asked = bearer(crate::world::ask(Method::POST, "/api/chat", body.into()), "alice");
    let frames = send(&world.gateway, asked).await.frames();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    (text(&frames[1]["metadata"]["turnId"]), text(&frames[0]["metadata"]["id"]))
}

async fn operator(world: &World, path: &str, body: Value, token: &str) -> Answer {
    let request = crate::world::ask(Method::POST, path, body.to_string().into());
    send(&world.studio, bearer(request, token)).await
}

#[tokio::test]
async fn an_operator_decides_about_the_turn_of_another_owner() {
    let world = World::with(GUARD);
    let (turn, id) = of_alice(&world).await;
    let page = send(&world.studio, bearer(crate::world::ask(Method::GET, "/", Body::empty()), "root")).await;
    assert!(page.text.contains("Waiting for a person") && page.text.contains(&turn), "{}", page.text);
    let public = send(&world.studio, crate::world::ask(Method::GET, "/", Body::empty())).await;
    assert!(!public.text.contains(&turn) && !public.text.contains("user:alice"));
    let approve = format!("/admin/turns/{turn}/approve");
    assert_eq!(code(&operator(&world, &approve, json!({}), "alice").await), (403, "missing_scope".into()));
    let unknown = operator(&world, "/admin/turns/turn_x/decline", json!({}), "root").await;
    assert_eq!(code(&unknown), (404, "turn_not_found".into()));
    let misspelt = operator(&world, &approve, json!({"callid": id}), "root").await;
    assert_eq!(code(&misspelt), (400, "invalid_request".into()));
    world.model.say([words("5"), stop()]);
    let answer = operator(&world, &approve, json!({"callId": id}), "root").await.json();
    assert_eq!((&answer["content"], &answer["finishReason"]), (&json!("5"), &json!("stop")));
    assert_eq!(code(&operator(&world, &approve, json!({}), "root").await), (409, "turn_not_suspended".into()));
    let rows = world.rows("user:alice", "c").await;
    assert_eq!((rows.len(), rows[1].message.text().as_str()), (2, "5"), "in her own conversation");
}

#[tokio::test]
async fn what_waits_for_an_agent_that_is_off_can_be_declined_and_not_approved() {
    let world = World::with(GUARD);
    let (turn, id) = suspended(&world).await;
    world.operator.change("guard", |line| {
        let mut definition = line.definition.as_deref().expect("good").clone();
        definition.enabled = false;
        line.definition = Some(definition.into());
    });
    world.operator.publish();
    let refused = world.post(&format!("/api/turns/{turn}/approve"), &json!({})).await;
    assert_eq!(code(&refused), (409, "turn_not_resumable".into()));
    assert!(refused.text.contains("agent `guard` does not serve now"), "{}", refused.text);
    let answer = world.post(&format!("/api/turns/{turn}/decline"), &json!({"reason": "late"})).await.json();
    assert_eq!((&answer["turnId"], &answer["finishReason"]), (&json!(turn), &json!("interrupted")));
    assert_eq!(answer["toolCalls"][0]["id"], json!(id));
    assert!(answer["toolCalls"][0]["error"].as_str().expect("words").contains("late"), "{answer}");
    assert_eq!(world.get("/api/turns").await.json(), json!({"turns": []}));
    let again = world.post(&format!("/api/turns/{turn}/decline"), &json!({})).await;
    assert_eq!(code(&again), (409, "turn_not_suspended".into()));
}

#[tokio::test]
async fn the_openai_door_says_what_waits_beside_the_choices() {
    let world = World::with(GUARD);
    let body = |stream| {
        json!({"model": "guard", "conversation_id": "o", "resource": "ai-chat", "stream": stream,
            "messages": [{"role": "user", "content": "2 + 3?"}]})
    };
    world.model.say(call("add", r#"{"a": 2, "b": 3}"#));
    let whole = world.post("/v1/chat/completions", &body(false)).await.json();
    assert_eq!(whole["choices"][0]["finish_reason"], "stop");
    let waits = &whole["roster"];
    assert_eq!((&waits["status"], &waits["calls"][0]["name"]), (&json!("suspended"), &json!("add")));
    let turn = waits["turn_id"].as_str().expect("turn");
    assert_eq!(world.post(&format!("/api/turns/{turn}/approve"), &json!({})).await.json()["finishReason"], "stop");
    world.model.say(call("add", r#"{"a": 2, "b": 3}"#));
    let frames = world.post("/v1/chat/completions", &body(true)).await.frames();
    let with: Vec<&Value> = frames.iter().filter(|frame| frame.get("roster").is_some()).collect();
    assert_eq!(with.len(), 1);
    assert_eq!(
        (&with[0]["choices"][0]["finish_reason"], &with[0]["roster"]["calls"][0]["name"]),
        (&json!("stop"), &json!("add"))
    );
}

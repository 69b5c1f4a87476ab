//! `/api/conversations`, and whose they are.

use http::StatusCode;
use serde_json::json;

use crate::chat::ask;
use crate::world::{World, key};

/// TO-g1: decoded exactly once, a key and nothing else.
#[tokio::test]
async fn an_odd_id_works_everywhere() {
    const ODD: &str = "t/1#x?y%41 漢";
    const ENCODED: &str = "t%2F1%23x%3Fy%2541%20%E6%BC%A2";
    let world = World::new();
    let made = world.post("/api/conversations", &json!({"id": ODD, "title": "T", "resource": "shop"})).await;
    assert_eq!(made.status, StatusCode::CREATED);
    let fields =
        json!({"id": ODD, "title": "T", "description": "", "updatedAt": "2030-01-01T00:00:00.000Z", "messageCount": 0});
    assert_eq!(made.json(), fields);
    world.post("/api/chat", &ask("clerk", Some(ODD), "hi")).await.frames();
    let read = world.get(&format!("/api/conversations/{ENCODED}/messages?resource=shop")).await;
    assert_eq!(read.json()["id"], ODD);
    assert_eq!(read.json()["messages"].as_array().map(Vec::len), Some(2));
    let mastra = world.studio(&format!("/api/memory/threads/{ENCODED}/messages?resourceId=shop")).await;
    assert_eq!(mastra.json()["messages"][0]["threadId"], ODD);
    let twice =
        world.get("/api/conversations/t%252F1%2523x%253Fy%252541%2520%25E6%25BC%25A2/messages?resource=shop").await;
    assert_eq!(twice.plain_error(), (404, "conversation_not_found".into()));
    let deleted = world.delete(&format!("/api/conversations/{ENCODED}?resource=shop")).await;
    assert_eq!((deleted.status, deleted.text.as_str()), (StatusCode::NO_CONTENT, ""));
    assert!(world.rows("shop", ODD).await.is_empty());
    let again = world.delete(&format!("/api/conversations/{ENCODED}?resource=shop")).await;
    assert_eq!(again.plain_error(), (404, "conversation_not_found".into()));
}

#[tokio::test]
async fn ids_that_are_none_are_refused() {
    let world = World::new();
    for path in ["secret%00", "%ff", &"x".repeat(513)] {
        let answer = world.get(&format!("/api/conversations/{path}/messages")).await;
        assert_eq!(answer.plain_error(), (400, "invalid_request".into()), "{path}");
    }
    for name in ["../secret", "..", "/etc/passwd", "..\\secret", "secret\0", "%2e%2e%2fsecret", "..%252fsecret", ""] {
        let answer = world.post("/api/chat", &ask(name, None, "hi")).await;
        assert_eq!(answer.plain_error(), (404, "model_not_found".into()), "{name:?}");
        assert_eq!(answer.json()["error"], format!("unknown model: {name}"));
    }
    for path in ["..%2fsecret", "%2e%2e%2fsecret", "..%252fsecret", "..%5Csecret", "secret%00"] {
        let answer = world.get(&format!("/v1/models/{path}")).await;
        assert_eq!(answer.openai_error().0, 404, "{path}");
    }
}

#[tokio::test]
async fn create_is_made_once_and_read_again() {
    let world = World::new();
    world.post("/api/conversations", &json!({"id": "c", "title": "first"})).await;
    let again = world.post("/api/conversations", &json!({"id": "c", "title": "second"})).await;
    assert_eq!((again.status, &again.json()["title"]), (StatusCode::OK, &json!("first")));
    let fresh = world.post("/api/conversations", &json!({})).await;
    assert!(fresh.json()["id"].as_str().expect("id").starts_with("thread_"));
    let request = http::Request::post("/api/conversations").body(axum::body::Body::empty()).expect("legal");
    let bare = crate::world::send(&world.gateway, request).await;
    assert_eq!(bare.status, StatusCode::CREATED);
    let list = world.get("/api/conversations").await.json();
    assert_eq!(list["conversations"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn the_list_is_paged_newest_first() {
    let world = World::new();
    for number in 0..5 {
        world.post("/api/conversations", &json!({"id": format!("c{number}")})).await;
    }
    world
        .post(
            "/api/chat",
            &json!({"model": "clerk", "conversationId": "c1", "resource": "ai-chat",
        "messages": [{"role": "user", "content": "hi"}]}),
        )
        .await
        .frames();
    let ids = |page: &serde_json::Value| -> Vec<String> {
        let rows = page["conversations"].as_array().expect("rows");
        rows.iter().map(|row| row["id"].as_str().expect("id").to_owned()).collect()
    };
    let first = world.get("/api/conversations?limit=2").await.json();
    assert_eq!(ids(&first), ["c1", "c4"]);
    assert_eq!(first["conversations"][0]["messageCount"], 2);
    let second =
        world.get(&format!("/api/conversations?limit=2&after={}", first["next"].as_str().expect("next"))).await.json();
    assert_eq!(ids(&second), ["c3", "c2"]);
    let third =
        world.get(&format!("/api/conversations?limit=2&after={}", second["next"].as_str().expect("next"))).await.json();
    assert_eq!(ids(&third), ["c0"]);
    assert!(third.get("next").is_none());
    for bad in ["limit=0", "limit=x", "limit=1001", "after=nonsense"] {
        let answer = world.get(&format!("/api/conversations?{bad}")).await;
        assert_eq!(answer.plain_error(), (400, "invalid_request".into()), "{bad}");
    }
}

#[tokio::test]
async fn messages_are_paged_backwards() {
    let world = World::new();
    for number in 0..3 {
        world.post("/api/chat", &ask("clerk", Some("c"), &format!("q{number}"))).await.frames();
    }
    let path = "/api/conversations/c/messages?resource=shop&limit=2";
    let newest = world.get(path).await.json();
    assert_eq!(newest["messages"][0]["content"], "q2");
    assert_eq!(newest["messages"][1]["content"], "echo: q2");
    assert_eq!(newest["messages"][1]["createdAt"], "2030-01-01T00:00:00.000Z");
    let before = newest["messages"][0]["id"].as_str().expect("id");
    let older = world.get(&format!("{path}&before={before}")).await.json();
    assert_eq!(older["messages"][0]["content"], "q1");
    let unknown = world.get(&format!("{path}&before=nobody")).await;
    assert_eq!(unknown.plain_error(), (404, "message_not_found".into()));
    let nowhere = world.get("/api/conversations/none/messages?before=nobody").await;
    assert_eq!(nowhere.plain_error(), (404, "conversation_not_found".into()));
}

#[tokio::test]
async fn same_thread_id_under_two_resources_is_two_threads() {
    let world = World::new();
    for resource in ["alice", "bob"] {
        let body = json!({"model": "clerk", "conversationId": "c", "resource": resource,
            "messages": [{"role": "user", "content": format!("I am {resource}")}]});
        world.post("/api/chat", &body).await.frames();
        assert_eq!(world.model.prompt(), format!("system: Be brief. | user: I am {resource}"));
    }
    world.delete("/api/conversations/c?resource=bob").await;
    assert_eq!(world.rows("alice", "c").await.len(), 2);
    assert!(world.app.store.thread(&key("bob", "c")).await.expect("read").is_none());
}

#[tokio::test]
async fn the_definitions_resource_is_the_default_of_its_turns() {
    let world = World::new();
    world.post("/api/chat", &ask("clerk", Some("c"), "hi")).await.frames();
    world.post("/api/chat", &ask("keeper", Some("k"), "hi")).await.frames();
    assert_eq!(world.rows("shop", "c").await.len(), 2);
    assert_eq!(world.rows("ai-chat", "k").await.len(), 2);
    let bad = json!({"model": "clerk", "resource": "", "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(world.post("/api/chat", &bad).await.plain_error().0, 400);
}

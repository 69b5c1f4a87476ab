//! Recorded as `threads-crud` and `isolation`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{fine, issue, make, thread};
use crate::world::World;

const THREADS: &str = "/api/memory/threads?agentId=clerk";

#[tokio::test]
async fn threads_are_made_with_and_without_an_id() {
    let world = World::new();
    let body = json!({"resourceId": "crud", "title": "My thread", "metadata": {"k": "v"}, "threadId": "c1"});
    let made = thread(&world.post(THREADS, &body).await);
    assert_eq!(
        (&made["id"], &made["title"], &made["metadata"]),
        (&json!("c1"), &json!("My thread"), &json!({"k": "v"}))
    );
    let fresh = thread(&world.post(THREADS, &json!({"resourceId": "crud"})).await);
    assert_eq!((&fresh["title"], &fresh["metadata"]), (&json!(""), &Value::Null), "ours: `metadata` is always there");
    assert!(!fresh["id"].as_str().expect("an id").is_empty());
}

/// Ours: the original makes an existing thread anew, and gives it to whoever asks.
#[tokio::test]
async fn an_id_that_exists_keeps_its_thread_and_its_owner() {
    let world = World::new();
    let body = json!({"resourceId": "crud", "title": "One", "metadata": {"k": "v"}, "threadId": "c1"});
    let before = thread(&world.post(THREADS, &body).await);
    world.clock.advance(Duration::from_secs(1));
    let again = thread(&world.post(THREADS, &json!({"resourceId": "crud", "title": "Again", "threadId": "c1"})).await);
    assert_eq!((&again["title"], &again["metadata"]), (&json!("Again"), &json!({"k": "v"})));
    assert_eq!(again["createdAt"], before["createdAt"]);
    let other = thread(&world.post(THREADS, &json!({"resourceId": "crud2", "title": "Other", "threadId": "c1"})).await);
    assert_eq!((&other["resourceId"], &other["title"]), (&json!("crud2"), &json!("Other")));
    let mine = world.get("/api/memory/threads/c1?resourceId=crud").await;
    assert_eq!(thread(&mine)["title"], "Again", "two owners, two threads");
}

#[tokio::test]
async fn what_cannot_be_made_is_refused() {
    let world = World::new();
    issue(&world.post(THREADS, &json!({"title": "x"})).await, "Invalid request body", "resourceId");
    issue(&world.post(THREADS, &json!({"resourceId": 7})).await, "Invalid request body", "resourceId");
    issue(&world.post(THREADS, &json!([])).await, "Invalid request body", "root");
    let body = json!({"resourceId": "crud", "title": "x"});
    issue(&world.post("/api/memory/threads", &body).await, "Invalid query parameters", "agentId");
    let unknown = world.post("/api/memory/threads?agentId=nope", &body).await;
    assert_eq!(
        (unknown.status.as_u16(), unknown.json()),
        (404, json!({"error": "Agent not found", "code": "agent_not_found"}))
    );
    let memoryless = world.post("/api/memory/threads?agentId=echo", &body).await;
    assert_eq!(memoryless.plain_error(), (400, "no_memory".into()));
}

#[tokio::test]
async fn only_the_fields_that_are_given_change() {
    let world = World::new();
    make(&world, "crud", "c1", "One").await;
    let path = "/api/memory/threads/c1?agentId=clerk";
    let both = thread(&world.patch(path, &json!({"title": "Renamed", "metadata": {"z": 1}})).await);
    assert_eq!((&both["title"], &both["metadata"]), (&json!("Renamed"), &json!({"z": 1})));
    let title = thread(&world.patch(path, &json!({"title": "Renamed2"})).await);
    assert_eq!((&title["title"], &title["metadata"]), (&json!("Renamed2"), &json!({"z": 1})));
    let metadata = thread(&world.patch(path, &json!({"metadata": {"y": 2}})).await);
    assert_eq!((&metadata["title"], &metadata["metadata"]), (&json!("Renamed2"), &json!({"y": 2})));
    let missing = world.patch("/api/memory/threads/none?agentId=clerk", &json!({"title": "x"})).await;
    assert_eq!(missing.plain_error(), (404, "thread_not_found".into()));
    issue(&world.patch(path, &json!({"title": 1})).await, "Invalid request body", "title");
}

#[tokio::test]
async fn a_deleted_thread_is_gone() {
    let world = World::new();
    make(&world, "crud", "c1", "One").await;
    issue(&world.delete("/api/memory/threads/c1").await, "Invalid query parameters", "agentId");
    // Ours: another owner's thread is 404, where the original says 403.
    let wrong = world.delete("/api/memory/threads/c1?agentId=clerk&resourceId=zzz").await;
    assert_eq!(wrong.plain_error(), (404, "thread_not_found".into()));
    let path = "/api/memory/threads/c1?agentId=clerk";
    assert_eq!(fine(&world.delete(path).await), json!({"result": "Thread deleted"}));
    assert_eq!(world.delete(path).await.plain_error(), (404, "thread_not_found".into()));
    assert_eq!(world.get(path).await.plain_error(), (404, "thread_not_found".into()));
}

/// What the stock Studio does: the agent's id stands for its owner, and the thread it makes is in its list.
#[tokio::test]
async fn a_thread_made_under_an_agents_id_is_in_that_agents_list() {
    let world = World::new();
    let made = thread(&world.post_studio(THREADS, &json!({"resourceId": "clerk", "threadId": "s1"})).await);
    assert_eq!(made["resourceId"], "clerk");
    let listed = world.studio("/api/memory/threads?resourceId=clerk&agentId=clerk").await.json();
    assert_eq!(listed["threads"][0]["id"], "s1");
    assert_eq!(world.get("/api/memory/threads/s1?resourceId=shop").await.json()["resourceId"], "shop");
}

//! Clones, forks and transfers.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{fine, keys, make, thread};
use crate::chat::ask;
use crate::double::{Say, stop, words};
use crate::world::{World, key};

/// `mc1` of `mc` with three messages; the first is of 2026, the others of the test's now (2030).
async fn filled(world: &World) {
    make(world, "mc", "mc1", "My thread").await;
    let message = |id: &str, text: &str, at: &str| json!({"id": id, "role": "user", "content": text, "threadId": "mc1", "resourceId": "mc", "createdAt": at});
    let batch = json!({"messages": [
        message("sm1", "saved v1", "2026-01-01T00:00:00.000Z"),
        message("sm2", "saved v2", "2030-01-01T00:00:00.000Z"),
        message("sm3", "saved v3", "2030-01-01T00:00:00.000Z")]});
    fine(&world.post("/api/memory/save-messages?agentId=clerk", &batch).await);
}

const CLONE: &str = "/api/memory/threads/mc1/clone?agentId=clerk";

fn texts(copied: &Value) -> Vec<&str> {
    let list = copied["clonedMessages"].as_array().expect("a list").iter();
    list.map(|message| message["content"]["content"].as_str().expect("text")).collect()
}

#[tokio::test]
async fn a_clone_has_new_ids_and_old_times() {
    let world = World::new();
    filled(&world).await;
    let copied = fine(&world.post(CLONE, &json!({"newThreadId": "mc1-clone"})).await);
    assert_eq!(keys(&copied), ["clonedMessages", "messageIdMap", "thread"]);
    assert_eq!(copied["thread"]["title"], "Clone of My thread");
    let clone = &copied["thread"]["metadata"]["clone"];
    assert_eq!(keys(clone), ["clonedAt", "lastMessageId", "sourceThreadId"]);
    assert_eq!((&clone["sourceThreadId"], &clone["lastMessageId"]), (&json!("mc1"), &json!("sm3")));
    assert_eq!(keys(&copied["messageIdMap"]), ["sm1", "sm2", "sm3"]);
    let first = &copied["clonedMessages"][0];
    assert_eq!((&first["id"], &first["threadId"]), (&copied["messageIdMap"]["sm1"], &json!("mc1-clone")));
    assert_eq!(first["createdAt"], "2026-01-01T00:00:00.000Z");
    fine(&world.delete("/api/memory/threads/mc1?agentId=clerk").await);
    let left = fine(&world.get("/api/memory/threads/mc1-clone/messages?agentId=clerk").await);
    assert_eq!(left["total"], 3, "it does not hang on its source");
    let stored = thread(&world.get("/api/memory/threads/mc1-clone?resourceId=mc").await);
    assert_eq!(stored, copied["thread"], "what is answered is what is stored");
}

#[tokio::test]
async fn a_clone_may_take_a_part_and_a_fork_ends_at_a_message() {
    let world = World::new();
    filled(&world).await;
    for (options, expected) in [
        (json!({"messageLimit": 1}), vec!["saved v3"]),
        (json!({"untilMessageId": "sm2"}), vec!["saved v1", "saved v2"]),
        (json!({"untilMessageId": "sm2", "messageLimit": 1}), vec!["saved v2"]),
        (json!({"messageFilter": {"messageIds": ["sm1", "sm3"]}}), vec!["saved v1", "saved v3"]),
        (json!({"messageFilter": {"startDate": "2029-01-01T00:00:00Z"}}), vec!["saved v2", "saved v3"]),
        (json!({"messageFilter": {"endDate": "2029-01-01T00:00:00Z"}}), vec!["saved v1"]),
        (json!({"messageFilter": {"messageIds": []}}), vec![]),
    ] {
        let body = json!({"title": "Part", "metadata": {"m": 1}, "options": options});
        let copied = fine(&world.post(CLONE, &body).await);
        assert_eq!(texts(&copied), expected, "{options}");
        assert_eq!((&copied["thread"]["title"], &copied["thread"]["metadata"]["m"]), (&json!("Part"), &json!(1)));
        let id = copied["thread"]["id"].as_str().expect("an id");
        let path = format!("/api/memory/threads/{id}/messages?resourceId=mc");
        assert_eq!(fine(&world.get(&path).await)["total"], expected.len(), "{options}");
        assert_eq!(copied["messageIdMap"].as_object().expect("a map").len(), expected.len());
    }
}

/// The copy is whole; only what is told of it is bounded.
#[tokio::test]
async fn the_answer_to_a_large_clone_says_what_it_leaves_out() {
    let world = World::new();
    make(&world, "mc", "mc1", "").await;
    let words = "x".repeat(3 << 20);
    for id in ["a", "b", "c"] {
        let message = json!({"id": id, "role": "user", "content": words, "threadId": "mc1", "resourceId": "mc"});
        fine(&world.post("/api/memory/save-messages?agentId=clerk", &json!({"messages": [message]})).await);
    }
    let copied = fine(&world.post(CLONE, &json!({"newThreadId": "large"})).await);
    // Words stand twice in a message: in its parts, and joined.
    assert_eq!((texts(&copied).len(), &copied["leftOut"]), (1, &json!(2)));
    assert_eq!(keys(&copied["messageIdMap"]), ["a"]);
    assert_eq!(world.rows("mc", "large").await.len(), 2, "a page is bounded as well");
    let read = fine(&world.get("/api/memory/threads/large/messages?resourceId=mc&agentId=clerk").await);
    assert_eq!(read["total"], 3);
}

#[tokio::test]
async fn what_cannot_be_cloned_is_refused() {
    let world = World::new();
    filled(&world).await;
    let missing = world.post("/api/memory/threads/none/clone?agentId=clerk", &json!({})).await;
    assert_eq!(missing.json(), json!({"error": "Source thread not found", "code": "thread_not_found"}));
    // Ours: 404, where the original says 403.
    let other = world.post(CLONE, &json!({"resourceId": "mc-other"})).await;
    assert_eq!(other.plain_error(), (404, "thread_not_found".into()));
    make(&world, "mc", "taken", "x").await;
    let taken = world.post(CLONE, &json!({"newThreadId": "taken"})).await;
    assert_eq!(taken.plain_error(), (409, "thread_exists".into()));
    let fork = world.post(CLONE, &json!({"options": {"untilMessageId": "sm9"}})).await;
    assert_eq!(fork.plain_error(), (404, "message_not_found".into()));
}

#[tokio::test]
async fn a_thread_is_handed_over_whole() {
    let world = World::new();
    filled(&world).await;
    let path = "/api/memory/threads/mc1/transfer?agentId=clerk";
    let moved = thread(&world.post(path, &json!({"resourceId": "crud3"})).await);
    assert_eq!((&moved["resourceId"], &moved["title"]), (&json!("crud3"), &json!("My thread")));
    assert!(world.rows("mc", "mc1").await.is_empty());
    assert_eq!(world.rows("crud3", "mc1").await.len(), 3);
    make(&world, "mc", "mc1", "x").await;
    let there = world.post(&format!("{path}&resourceId=mc"), &json!({"resourceId": "crud3"})).await;
    assert_eq!(there.plain_error(), (409, "thread_exists".into()));
    let missing = world.post("/api/memory/threads/none/transfer?agentId=clerk", &json!({"resourceId": "x"})).await;
    assert_eq!(missing.plain_error(), (404, "thread_not_found".into()));
    super::issue(&world.post(path, &json!({})).await, "Invalid request body", "resourceId");
}

#[tokio::test]
async fn a_thread_with_a_running_turn_is_not_handed_over() {
    let world = World::new();
    let gate = Arc::new(tokio::sync::Notify::new());
    world.model.say([words("one "), Say::Wait(Arc::clone(&gate)), words("two"), stop()]);
    let body = ask("keeper", Some("k"), "count");
    let answering = world.post("/api/chat", &body);
    let asking = async {
        while world.model.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        let busy = world.post("/api/memory/threads/k/transfer?agentId=keeper", &json!({"resourceId": "other"})).await;
        assert_eq!(busy.plain_error(), (409, "thread_busy".into()));
        gate.notify_one();
    };
    let (answer, ()) = tokio::join!(answering, asking);
    answer.frames();
    let moved = world.post("/api/memory/threads/k/transfer?agentId=keeper", &json!({"resourceId": "other"})).await;
    assert_eq!(thread(&moved)["resourceId"], "other");
    assert!(world.app.store.thread(&key("other", "k")).await.expect("read").is_some());
}

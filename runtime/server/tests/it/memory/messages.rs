//! Recorded as `messages-crud`.

use serde_json::{Value, json};

use super::{MESSAGE, fine, issue, keys, make};
use crate::world::{World, key};

const SAVE: &str = "/api/memory/save-messages?agentId=clerk";
const DELETE: &str = "/api/memory/messages/delete?agentId=clerk";

fn batch() -> Value {
    json!({"messages": [
        {"id": "sm1", "role": "user", "type": "text", "content": "saved v1", "threadId": "mc1", "resourceId": "mc", "createdAt": "2026-01-01T00:00:00.000Z"},
        {"id": "sm2", "role": "assistant", "content": {"format": 2, "parts": [{"type": "text", "text": "saved v2"}]}, "threadId": "mc1", "resourceId": "mc"},
        {"id": "sm3", "role": "user", "content": [{"type": "text", "text": "saved v3"}], "threadId": "mc1", "resourceId": "mc"}]})
}

#[tokio::test]
async fn messages_are_saved_in_order_and_read_back() {
    let world = World::new();
    make(&world, "mc", "mc1", "My thread").await;
    let saved = fine(&world.post(SAVE, &batch()).await);
    let read = fine(&world.get("/api/memory/threads/mc1/messages?agentId=clerk").await);
    assert_eq!(read["messages"], saved["messages"]);
    let list = read["messages"].as_array().expect("a list");
    assert_eq!(list.len(), 3);
    for (number, message) in list.iter().enumerate() {
        assert_eq!(keys(message), MESSAGE);
        assert_eq!(message["id"], format!("sm{}", number + 1));
        let text = format!("saved v{}", number + 1);
        assert_eq!((&message["content"]["format"], &message["content"]["content"]), (&json!(2), &json!(text)));
        assert_eq!(message["content"]["parts"][0]["text"], text);
    }
    assert_eq!(list[0]["createdAt"], "2026-01-01T00:00:00.000Z");
    assert_eq!(list[1]["createdAt"], "2030-01-01T00:00:00.000Z");
    assert_eq!(fine(&world.post(SAVE, &json!({"messages": []})).await), json!({"messages": []}));
}

/// The form that is read can be saved again elsewhere, part for part.
#[tokio::test]
async fn every_kind_of_part_comes_back() {
    let world = World::new();
    make(&world, "mc", "mc1", "").await;
    let parts = json!([
        {"type": "reasoning", "reasoning": "hm", "details": [{"type": "text", "text": "hm"}]},
        {"type": "tool-invocation", "toolInvocation": {"state": "result", "toolCallId": "1", "toolName": "add", "args": {"a": 1}, "result": {"sum": 1}}},
        {"type": "step-start"},
        {"type": "tool-invocation", "toolInvocation": {"state": "call", "toolCallId": "2", "toolName": "add", "args": {}}},
        {"type": "file", "data": "https://a.example/b.png", "mimeType": "image/png"},
        {"type": "error", "error": {"name": "provider_error", "message": "down"}},
        {"type": "text", "text": "done"}]);
    let message = json!({"role": "assistant", "content": {"format": 2, "parts": parts, "metadata": {"m": 1}}, "threadId": "mc1", "resourceId": "mc"});
    let saved = fine(&world.post(SAVE, &json!({"messages": [message]})).await);
    let mut back = saved["messages"][0]["content"]["parts"].clone();
    for part in back.as_array_mut().expect("parts") {
        assert!(part.as_object_mut().expect("a part").remove("createdAt").is_some());
    }
    assert_eq!(back, parts);
    assert_eq!(saved["messages"][0]["content"]["metadata"], json!({"m": 1}));
}

#[tokio::test]
async fn what_cannot_be_saved_is_refused_and_nothing_is_written() {
    let world = World::new();
    make(&world, "mc", "mc1", "").await;
    let one = |extra: Value| {
        let mut message = json!({"role": "user", "content": "x", "threadId": "mc1", "resourceId": "mc"});
        for (name, value) in extra.as_object().expect("an object") {
            message[name] = value.clone();
        }
        json!({"messages": [{"role": "user", "content": "fine", "threadId": "mc1", "resourceId": "mc"}, message]})
    };
    for (extra, field) in [
        (json!({"threadId": null}), "messages.1.threadId"),
        (json!({"resourceId": null}), "messages.1.resourceId"),
        (json!({"role": "alien"}), "messages.1.role"),
        (json!({"content": 7}), "messages.1.content"),
        (json!({"content": {"parts": 7}}), "messages.1.content.parts"),
        (json!({"content": [{"type": "hologram"}]}), "messages.1.content.0.type"),
        (json!({"content": [{"type": "text"}]}), "messages.1.content.0.text"),
        (
            json!({"content": [{"type": "tool-invocation", "toolInvocation": {"toolCallId": "1", "toolName": "f"}}]}),
            "messages.1.content",
        ),
        (json!({"id": "x".repeat(10_000)}), "messages.1.id"),
    ] {
        issue(&world.post(SAVE, &one(extra)).await, "Invalid request body", field);
    }
    issue(&world.post(SAVE, &json!({})).await, "Invalid request body", "messages");
    let elsewhere = world.post(SAVE, &one(json!({"resourceId": "other"}))).await;
    assert_eq!(elsewhere.plain_error(), (404, "thread_not_found".into()), "ours: 404, where the original says 403");
    assert!(world.rows("mc", "mc1").await.is_empty());
}

/// Ours: the original replaces a message whose id is sent again.
#[tokio::test]
async fn a_message_is_never_replaced() {
    let world = World::new();
    make(&world, "mc", "mc1", "").await;
    fine(&world.post(SAVE, &batch()).await);
    assert_eq!(world.post(SAVE, &batch()).await.plain_error(), (409, "message_conflict".into()));
    assert_eq!(world.rows("mc", "mc1").await.len(), 3);
}

/// Recorded as `delete message …`; ours counts only what was there, and only the owner's.
#[tokio::test]
async fn messages_are_deleted_in_every_way_of_naming_them() {
    let world = World::new();
    make(&world, "mc", "mc1", "").await;
    fine(&world.post(SAVE, &batch()).await);
    let path = format!("{DELETE}&resourceId=mc");
    for (ids, message) in [
        (json!("sm1"), "1 message deleted"),
        (json!([{"id": "sm2"}, "unknown"]), "1 message deleted"),
        (json!({"id": "sm3"}), "1 message deleted"),
        (json!([]), "0 messages deleted"),
    ] {
        let deleted = fine(&world.post(&path, &json!({"messageIds": ids})).await);
        assert_eq!(deleted, json!({"success": true, "message": message}));
    }
    assert!(world.rows("mc", "mc1").await.is_empty());
    issue(&world.post(&path, &json!({})).await, "Invalid request body", "messageIds");
    issue(&world.post(&path, &json!({"messageIds": 7})).await, "Invalid request body", "messageIds");
}

#[tokio::test]
async fn an_id_in_two_threads_must_be_said_of_which() {
    let world = World::new();
    for thread in ["a", "b"] {
        make(&world, "mc", thread, "").await;
        let message = json!({"id": "same", "role": "user", "content": "x", "threadId": thread, "resourceId": "mc"});
        fine(&world.post(SAVE, &json!({"messages": [message]})).await);
    }
    let unsaid = json!({"messageIds": "same", "resourceId": "mc"});
    assert_eq!(world.post(DELETE, &unsaid).await.plain_error(), (400, "thread_required".into()));
    let said = json!({"messageIds": "same", "resourceId": "mc", "threadId": "b"});
    fine(&world.post(DELETE, &said).await);
    assert_eq!((world.rows("mc", "a").await.len(), world.rows("mc", "b").await.len()), (1, 0));
    assert!(world.app.store.thread(&key("mc", "b")).await.expect("read").is_some());
    // Without an owner the one owner of that thread is meant.
    fine(&world.post(DELETE, &json!({"messageIds": "same", "threadId": "a"})).await);
    assert!(world.rows("mc", "a").await.is_empty());
}

/// The owner of the agent is looked at first; without any of them there, the one owner who has them is meant.
#[tokio::test]
async fn without_an_owner_the_one_owner_of_the_messages_is_meant() {
    let world = World::new();
    let fill = async |resource: &str, thread: &str, id: &str| {
        make(&world, resource, thread, "").await;
        let message = json!({"id": id, "role": "user", "content": "x", "threadId": thread, "resourceId": resource});
        fine(&world.post(SAVE, &json!({"messages": [message]})).await);
    };
    fill("mc", "mc1", "far").await;
    fill("shop", "s1", "near").await;
    fill("mc", "mc2", "near").await;
    for (owner, thread) in [("one", "t"), ("two", "t")] {
        fill(owner, thread, "both").await;
    }
    let delete = async |ids: Value| world.post(DELETE, &json!({"messageIds": ids})).await;
    assert_eq!(fine(&delete(json!(["none", "far"])).await)["message"], "1 message deleted");
    assert_eq!(fine(&delete(json!("near")).await)["message"], "1 message deleted");
    assert!(world.rows("shop", "s1").await.is_empty());
    assert_eq!(world.rows("mc", "mc2").await.len(), 1, "the agent's owner goes before others");
    assert_eq!(delete(json!("both")).await.plain_error(), (400, "resource_required".into()));
    assert_eq!(fine(&delete(json!("none")).await)["message"], "0 messages deleted");
}

/// `t` of the owner `mc` holds m0 … m9, `u` holds u0 … u2; another owner has a `u` too.
async fn ten(world: &World) {
    for (owner, thread, name, count) in [("mc", "t", "m", 10), ("mc", "u", "u", 3), ("other", "u", "o", 3)] {
        make(world, owner, thread, "").await;
        let message = |n: i32| json!({"id": format!("{name}{n}"), "role": "user", "content": "x", "threadId": thread, "resourceId": owner});
        let messages: Vec<Value> = (0..count).map(message).collect();
        fine(&world.post(SAVE, &json!({"messages": messages})).await);
    }
}

async fn listed(world: &World, query: &str, include: &Value) -> Value {
    let include = include.to_string().replace('{', "%7B").replace('}', "%7D").replace('"', "%22");
    fine(&world.get(&format!("/api/memory/threads/t/messages?resourceId=mc{query}&include={include}")).await)
}

fn ids(list: &Value) -> Vec<&str> {
    let list = list["messages"].as_array().expect("a list").iter();
    list.map(|message| message["id"].as_str().expect("an id")).collect()
}

#[tokio::test]
async fn included_messages_come_beside_the_page_with_their_neighbours() {
    let world = World::new();
    ten(&world).await;
    let near = json!([{"id": "m2", "withPreviousMessages": 1, "withNextMessages": 2}]);
    for (query, expected) in [
        ("&perPage=2", vec!["m1", "m2", "m3", "m4", "m8", "m9"]),
        ("&perPage=2&orderBy[direction]=DESC", vec!["m9", "m8", "m4", "m3", "m2", "m1"]),
        ("&perPage=3&orderBy[direction]=ASC", vec!["m0", "m1", "m2", "m3", "m4"]),
        ("&perPage=0", vec!["m1", "m2", "m3", "m4"]),
        ("&perPage=9&filter=%7B%22roles%22:%5B%22assistant%22%5D%7D", vec!["m1", "m2", "m3", "m4"]),
    ] {
        let list = listed(&world, query, &near).await;
        assert_eq!(ids(&list), expected, "{query}");
    }
    let list = listed(&world, "&perPage=2", &near).await;
    assert_eq!(
        (&list["total"], &list["hasMore"]),
        (&json!(10), &json!(true)),
        "what is included is no part of the page"
    );
    let ends = json!([{"id": "m0", "withPreviousMessages": 50}, {"id": "m9", "withNextMessages": 50}, {"id": "none"}]);
    assert_eq!(ids(&listed(&world, "&perPage=0", &ends).await), ["m0", "m9"]);
    let elsewhere = json!([{"id": "u1", "threadId": "u", "withNextMessages": 1}, {"id": "u0", "threadId": "u"},
        {"id": "u1", "threadId": "u"}, {"id": "o0", "threadId": "u"}, {"id": "u1"}]);
    let list = listed(&world, "&perPage=1", &elsewhere).await;
    assert_eq!(ids(&list), ["m9", "u0", "u1", "u2"]);
    assert_eq!((&list["messages"][1]["threadId"], &list["messages"][1]["resourceId"]), (&json!("u"), &json!("mc")));
}

#[tokio::test]
async fn an_include_that_cannot_be_done_is_refused() {
    let world = World::new();
    ten(&world).await;
    for include in [
        "7",
        "%5B7%5D",
        "%5B%7B%7D%5D",
        "%5B%7B%22id%22:%22%22%7D%5D",
        "%5B%7B%22id%22:%22m1%22,%22withNextMessages%22:51%7D%5D",
        "%5B%7B%22id%22:%22m1%22,%22withNextMessages%22:-1%7D%5D",
    ] {
        let answer = world.get(&format!("/api/memory/threads/t/messages?resourceId=mc&include={include}")).await;
        issue(&answer, "Invalid query parameters", "include");
    }
    let eleven = [r#"{"id":"m1"}"#; 11].join(",").replace('{', "%7B").replace('}', "%7D").replace('"', "%22");
    let answer = world.get(&format!("/api/memory/threads/t/messages?resourceId=mc&include=%5B{eleven}%5D")).await;
    issue(&answer, "Invalid query parameters", "include");
}

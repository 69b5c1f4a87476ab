//! The routes that are ours: what the model was fed, and erasing an owner.

use std::sync::Arc;

use roster_model::feed::FeedRecord;
use roster_model::id::TurnId;
use roster_model::time::Timestamp;
use serde_json::json;

use super::{fine, make};
use crate::chat::ask;
use crate::double::{Say, words};
use crate::world::{KEEPERS, World, key};

#[tokio::test]
async fn what_was_fed_is_told_by_turn() {
    let world = World::new();
    make(&world, "shop", "c", "").await;
    let record = |turn: &str, step: u32| FeedRecord {
        turn: TurnId::new(turn).expect("legal"),
        step,
        at: Timestamp::from_millis(0),
        record: json!({"turn": turn}).to_string(),
    };
    for records in [vec![record("turn_1", 1), record("turn_1", 2)], vec![record("turn_2", 1)]] {
        let written = world.app.store.put_feed(vec![(key("shop", "c"), records)], Timestamp::from_millis(0)).await;
        written.expect("written");
    }
    let newest = fine(&world.get("/api/memory/threads/c/feed?resourceId=shop").await);
    let expected = json!({"turn": "turn_2", "step": 1, "at": "1970-01-01T00:00:00.000Z", "record": {"turn": "turn_2"}});
    assert_eq!(newest, json!({"threadId": "c", "records": [expected]}));
    let named = fine(&world.studio("/api/memory/threads/c/feed?turn=turn_1").await);
    assert_eq!(named["records"].as_array().expect("a list").len(), 2);
    let none = fine(&world.get("/api/memory/threads/c/feed?turn=turn_9").await);
    assert_eq!(none["records"], json!([]));
    let elsewhere = world.get("/api/memory/threads/c/feed?resourceId=eve").await;
    assert_eq!(elsewhere.plain_error(), (404, "thread_not_found".into()));
}

#[tokio::test]
async fn erasing_an_owner_removes_all_and_counts_it() {
    let world = World::with(KEEPERS);
    for thread in ["a", "b"] {
        let mut body = ask("clerk", Some(thread), "hi");
        body["resource"] = json!("user:1");
        world.post("/api/chat", &body).await.frames();
    }
    let working = json!({"workingMemory": "# User", "resourceId": "user:1"});
    fine(&world.post("/api/memory/threads/a/working-memory?agentId=noter", &working).await);
    world.post("/api/chat", &ask("clerk", Some("kept"), "hi")).await.frames();
    let erased = fine(&world.delete("/api/memory/resources/user:1").await);
    assert_eq!(erased, json!({"threads": 2, "messages": 4, "indexEntries": 0, "workingMemories": 1}));
    assert!(world.rows("user:1", "a").await.is_empty());
    let read = world.get("/api/memory/threads/a/working-memory?agentId=noter&resourceId=user:1").await;
    assert!(fine(&read)["workingMemory"].is_null());
    assert_eq!(world.rows("shop", "kept").await.len(), 2, "others keep theirs");
    // An agent's id is no owner here: `clerk` would mean everybody who named none.
    let alias = fine(&world.delete("/api/memory/resources/clerk").await);
    assert_eq!(alias["threads"], 0);
    assert_eq!(world.rows("shop", "kept").await.len(), 2);
}

#[tokio::test]
async fn erasing_an_owner_ends_its_turns() {
    let world = World::new();
    world.model.say([words("one "), Say::Wait(Arc::default())]);
    let mut body = ask("clerk", Some("c"), "count");
    body["resource"] = json!("user:1");
    let erasing = async {
        while world.model.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        fine(&world.delete("/api/memory/resources/user:1").await)
    };
    let (answer, erased) = tokio::join!(world.post("/api/chat", &body), erasing);
    assert_eq!(erased["threads"], 1);
    let frames = answer.frames();
    assert_eq!(frames.last().expect("done")["type"], "done");
    world.model.cut(1).await;
    assert!(world.rows("user:1", "c").await.is_empty());
    let left = fine(&world.get("/api/memory/threads?resourceId=user:1").await);
    assert_eq!(left["total"], 0);
}

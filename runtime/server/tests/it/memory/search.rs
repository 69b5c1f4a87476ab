//! Recorded as `semantic-recall-thread` (its search of an agent without recall).

use serde_json::{Value, json};

use super::{fine, issue, keys};
use crate::chat::ask;
use crate::world::{KEEPERS, World};

fn ids(results: &Value) -> Vec<&str> {
    let list = results["results"].as_array().expect("a list").iter();
    list.map(|result| result["content"].as_str().expect("text")).collect()
}

#[tokio::test]
async fn words_are_found_in_a_thread_and_over_the_owners_threads() {
    let world = World::new();
    for (thread, text) in [("a", "my cat is named Whiskers"), ("a", "and the dog?"), ("b", "a CAT in the sun")] {
        world.post("/api/chat", &ask("clerk", Some(thread), text)).await.frames();
    }
    let path = "/api/memory/search?agentId=clerk&resourceId=shop&searchQuery=cat";
    let found = fine(&world.get(&format!("{path}&threadId=a")).await);
    assert_eq!(keys(&found), ["count", "query", "results", "searchScope", "searchType"]);
    assert_eq!((&found["searchScope"], &found["searchType"]), (&json!("thread"), &json!("text")));
    assert_eq!(ids(&found), ["echo: my cat is named Whiskers", "my cat is named Whiskers"], "newest first");
    let result = &found["results"][0];
    assert_eq!(keys(result), ["content", "context", "createdAt", "id", "role", "threadId", "threadTitle"]);
    assert_eq!(result["threadTitle"], "a", "a thread without a title is told by its id");
    assert_eq!(result["context"]["before"][0]["content"], "my cat is named Whiskers");
    assert_eq!(keys(&result["context"]["after"][0]), ["content", "createdAt", "id", "role"]);
    let everywhere = fine(&world.get(path).await);
    assert_eq!((&everywhere["count"], &everywhere["searchScope"]), (&json!(4), &json!("resource")));
    assert_eq!(fine(&world.get(&format!("{path}&limit=1")).await)["count"], 1);
    let elsewhere = world.get("/api/memory/search?agentId=clerk&resourceId=eve&searchQuery=cat").await;
    assert_eq!(fine(&elsewhere)["count"], 0);
    let studio = world.studio("/api/memory/search?agentId=clerk&resourceId=clerk&searchQuery=cat").await;
    assert_eq!(fine(&studio)["count"], 4);
}

#[tokio::test]
async fn a_search_needs_its_words_and_an_agent() {
    let world = World::new();
    issue(&world.get("/api/memory/search?agentId=clerk").await, "Invalid query parameters", "searchQuery");
    issue(&world.get("/api/memory/search?searchQuery=x").await, "Invalid query parameters", "agentId");
    let none = world.get("/api/memory/search?agentId=clerk&searchQuery=x&threadId=none").await;
    assert_eq!(none.plain_error(), (404, "thread_not_found".into()));
    let silent = world.get("/api/memory/search?agentId=clerk&searchQuery=...").await;
    assert_eq!(fine(&silent)["count"], 0);
}

#[tokio::test]
async fn an_agent_that_recalls_searches_by_meaning() {
    let world = World::with(KEEPERS);
    for (thread, text) in [("a", "listen"), ("b", "quiz")] {
        let mut body = ask("finder", Some(thread), text);
        body["resource"] = json!("user:R");
        world.post("/api/chat", &body).await.frames();
    }
    // No word in common, the same letters.
    let path = "/api/memory/search?agentId=finder&resourceId=user:R&searchQuery=silent&limit=1";
    // Vectors are written after the answer.
    let found = tokio::time::timeout(std::time::Duration::from_secs(20), async {
        loop {
            let found = fine(&world.get(path).await);
            if found["results"][0]["content"] == "listen" {
                return found;
            }
            tokio::task::yield_now().await;
        }
    });
    let found = found.await.expect("indexed in time");
    assert_eq!(
        (&found["searchType"], &found["searchScope"], &found["count"]),
        (&json!("semantic"), &json!("resource"), &json!(1))
    );
    let result = &found["results"][0];
    assert_eq!((&result["threadId"], &result["context"]["before"]), (&json!("a"), &json!([])));
    assert_eq!(result["context"]["after"][0]["content"], "echo: listen");
    let in_thread = fine(&world.get(&format!("{path}&threadId=b")).await);
    assert_eq!((&in_thread["searchScope"], &in_thread["results"][0]["threadId"]), (&json!("thread"), &json!("b")));
    let config = fine(&world.get("/api/memory/config?agentId=finder").await);
    let recall = json!({"topK": 4, "messageRange": {"before": 0, "after": 1}, "scope": "resource", "threshold": 0.0});
    assert_eq!(config["config"]["semanticRecall"], recall);
    let eve = fine(&world.get("/api/memory/search?agentId=finder&resourceId=eve&searchQuery=silent").await);
    assert_eq!(eve["count"], 0);
}

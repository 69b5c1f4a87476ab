//! Recorded as `working-memory-…`, `client-errors` and `studio-requests`.

use http::StatusCode;
use serde_json::{Value, json};

use super::{fine, issue, keys};
use crate::world::{KEEPERS, World};

const KEYS: &[&str] = &["source", "threadExists", "workingMemory", "workingMemoryTemplate"];

fn path(thread: &str, query: &str) -> String {
    format!("/api/memory/threads/{thread}/working-memory?{query}")
}

#[tokio::test]
async fn an_owners_working_memory_is_set_and_read_in_every_thread() {
    let world = World::with(KEEPERS);
    let query = "agentId=noter&resourceId=user:W";
    let before = fine(&world.get(&path("wm1", query)).await);
    assert_eq!(keys(&before), KEYS);
    assert_eq!(
        before,
        json!({"workingMemory": null, "source": "resource", "threadExists": false,
            "workingMemoryTemplate": {"format": "markdown", "content": "# User\n- Name:"}})
    );
    let body = json!({"workingMemory": "# User\n- Name: Carl", "resourceId": "user:W"});
    assert_eq!(fine(&world.post(&path("wm1", "agentId=noter"), &body).await), json!({"success": true}));
    let after = fine(&world.get(&path("wm2", query)).await);
    assert_eq!((&after["workingMemory"], &after["source"]), (&json!("# User\n- Name: Carl"), &json!("resource")));
    let other = fine(&world.get(&path("wm1", "agentId=noter&resourceId=user:X")).await);
    assert_eq!(other["workingMemory"], Value::Null);
    fine(&world.post(&path("wm1", query), &json!({"workingMemory": null})).await);
    assert_eq!(fine(&world.get(&path("wm2", query)).await)["workingMemory"], Value::Null);
}

/// TO-a6: an owner nobody named is everybody's, so what is kept stays in the thread.
#[tokio::test]
async fn a_default_owner_keeps_working_memory_to_the_thread() {
    let world = World::with(KEEPERS);
    for thread in ["a", "b"] {
        let body = json!({"resourceId": "noter", "threadId": thread});
        fine(&world.post("/api/memory/threads?agentId=noter", &body).await);
    }
    let query = "agentId=noter&resourceId=noter";
    fine(&world.post(&path("a", query), &json!({"workingMemory": "A's"})).await);
    let (a, b) = (fine(&world.get(&path("a", query)).await), fine(&world.get(&path("b", query)).await));
    assert_eq!((&a["workingMemory"], &a["source"]), (&json!("A's"), &json!("thread")));
    assert_eq!((&b["workingMemory"], &b["threadExists"]), (&Value::Null, &json!(true)));
    assert_eq!(fine(&world.get(&path("a", "agentId=noter")).await)["workingMemory"], "A's");
}

#[tokio::test]
async fn a_threads_working_memory_needs_its_thread() {
    let world = World::with(KEEPERS);
    let query = "agentId=former&resourceId=user:S";
    let read = fine(&world.get(&path("f1", query)).await);
    assert_eq!(read["workingMemoryTemplate"], json!({"format": "json", "content": "{\"name\":\"\",\"likes\":[]}"}));
    assert_eq!(read["source"], "thread");
    let body = json!({"workingMemory": "{\"name\":\"Bob\"}"});
    assert_eq!(world.post(&path("f1", query), &body).await.plain_error(), (404, "thread_not_found".into()));
    fine(&world.post("/api/memory/threads?agentId=former", &json!({"resourceId": "user:S", "threadId": "f1"})).await);
    fine(&world.post(&path("f1", query), &body).await);
    assert_eq!(fine(&world.get(&path("f1", query)).await)["workingMemory"], "{\"name\":\"Bob\"}");
    issue(
        &world.post(&path("f1", query), &json!({"workingMemory": "no object"})).await,
        "Invalid request body",
        "workingMemory",
    );
    let large = json!({"workingMemory": format!("{{\"name\":\"{}\"}}", "x".repeat(16 * 1024))});
    let refused = world.post(&path("f1", query), &large).await;
    assert_eq!(refused.plain_error(), (413, "working_memory_too_large".into()));
}

/// Studio asks this of every agent.
#[tokio::test]
async fn an_agent_without_working_memory_says_so() {
    let world = World::new();
    for agent in ["clerk", "echo"] {
        let read = fine(&world.studio(&path("none", &format!("agentId={agent}&resourceId={agent}"))).await);
        assert_eq!(keys(&read), KEYS);
        assert_eq!((&read["workingMemory"], &read["workingMemoryTemplate"]), (&Value::Null, &Value::Null));
    }
    let body = json!({"workingMemory": "x", "resourceId": "r"});
    assert_eq!(world.post(&path("t", "agentId=clerk"), &body).await.plain_error(), (400, "no_working_memory".into()));
    issue(&world.get(&path("t", "resourceId=r")).await, "Invalid query parameters", "agentId");
}

#[tokio::test]
async fn status_and_config_tell_the_policies() {
    let world = World::with(KEEPERS);
    let status = |agent: &str| format!("/api/memory/status?agentId={agent}");
    assert_eq!(fine(&world.get(&status("clerk")).await), json!({"result": true, "memoryType": "local"}));
    assert_eq!(fine(&world.get(&status("echo")).await), json!({"result": false}));
    assert_eq!(world.get(&status("nope")).await.status, StatusCode::NOT_FOUND);
    issue(&world.get("/api/memory/status").await, "Invalid query parameters", "agentId");
    let config = |agent: &str| format!("/api/memory/config?agentId={agent}");
    assert_eq!(fine(&world.get(&config("echo")).await), json!({"config": null}));
    assert_eq!(
        fine(&world.get(&config("clerk")).await),
        json!({"config": {"lastMessages": 10, "semanticRecall": false, "generateTitle": false,
            "workingMemory": {"enabled": false, "template": ""}, "observationalMemory": {"enabled": false}}})
    );
    let noter = fine(&world.get(&config("noter")).await);
    assert_eq!(noter["config"]["lastMessages"], false);
    let template = json!({"enabled": true, "template": "# User\n- Name:", "scope": "resource"});
    assert_eq!(noter["config"]["workingMemory"], template);
    let former = fine(&world.get(&config("former")).await);
    assert_eq!(former["config"]["workingMemory"]["schema"]["properties"]["name"], json!({"type": "string"}));
}

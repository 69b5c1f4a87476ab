//! The memory routes of the Mastra REST against recorded exchanges of the original: statuses and keys.
//!
//! Each exchange is written down as it was recorded; where ours decides otherwise the test says so with `ours:`.

mod copies;
mod messages;
mod search;
mod threads;
mod upkeep;
mod working;

use http::StatusCode;
use serde_json::Value;

use crate::world::{Answer, World};

/// The keys of an object.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

const THREAD: &[&str] = &["createdAt", "id", "metadata", "resourceId", "title", "updatedAt"];
const MESSAGE: &[&str] = &["content", "createdAt", "id", "resourceId", "role", "threadId"];

/// A thread, checked to have the recorded keys.
fn thread(answer: &Answer) -> Value {
    let body = fine(answer);
    assert_eq!(keys(&body), THREAD);
    body
}

fn fine(answer: &Answer) -> Value {
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()
}

/// A refusal, checked to tell the field as its clients expect.
fn issue(answer: &Answer, title: &str, field: &str) {
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.text);
    let body = answer.json();
    assert_eq!(body["error"], title);
    assert_eq!(body["issues"][0]["field"], field, "{body}");
    assert!(body["issues"][0]["message"].is_string());
}

async fn make(world: &World, resource: &str, thread: &str, title: &str) {
    let body = serde_json::json!({"resourceId": resource, "threadId": thread, "title": title});
    fine(&world.post("/api/memory/threads?agentId=clerk", &body).await);
}

//! Tools of the client's own, through the real binary.

use roster_testkit::scripted::{Reply, ScriptedServer};
use serde_json::json;

use crate::http::{messages, post};
use crate::project::Project;
use crate::roster::Roster;

#[tokio::test]
async fn a_call_that_went_out_is_answered_after_a_kill() {
    let server = ScriptedServer::builder().strict().start().await;
    let project = Project::scripted(&server).keeper();
    server.push(Reply::tool_calls([("a", "look_up", "{}")]));
    let tools = json!([{"type": "function", "function": {"name": "look_up"}}]);
    let ask = |messages| json!({"model": "keeper", "conversation_id": "c", "tools": tools, "messages": messages});
    let roster = Roster::serve(&project).await;
    let url = |roster: &Roster| format!("{}/v1/chat/completions", roster.gateway);
    let (status, first) = post(&url(&roster), &ask(json!([{"role": "user", "content": "find"}]))).await;
    assert_eq!((status, &first["choices"][0]["finish_reason"]), (200, &json!("tool_calls")), "{first}");
    roster.kill().await;

    let roster = Roster::serve(&project).await;
    assert_eq!(messages(&roster, "c").await[1]["status"], "awaiting");
    let message = first["choices"][0]["message"].clone();
    let result = json!({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "7"});
    let (status, second) = post(&url(&roster), &ask(json!([message, result]))).await;
    assert_eq!((status, &second["choices"][0]["finish_reason"]), (200, &json!("stop")), "{second}");
    let stored = messages(&roster, "c").await;
    assert_eq!((stored.len(), stored[1].get("status")), (2, None), "{stored:?}");
    assert_eq!(stored[1]["toolCalls"][0]["result"], "7");
    roster.terminate().await;
}

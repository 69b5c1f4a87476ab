//! Calls that wait for a person, across the real binary's ends.

use roster_testkit::scripted::{Gate, Reply, ScriptedServer};
use serde_json::json;

use crate::http::{chat, get, messages, post, question};
use crate::project::Project;
use crate::roster::{Roster, run_with_input};

const GUARDED: &str = "instructions = \"Be brief.\"\nmemory = \"create_memory\"\ntools = [\"get_time\"]\n\
                       [tool_settings.get_time]\napproval = \"always\"";

#[tokio::test]
async fn what_waits_for_approval_survives_a_kill() {
    let server = ScriptedServer::builder().strict().start().await;
    let project = Project::scripted(&server).agent("keeper", GUARDED);
    server.push(Reply::tool_calls([("a", "get_time", "{}")]));
    let roster = Roster::serve(&project).await;
    let asked = chat(&roster, &question("keeper", "c", "time?")).await;
    assert_eq!(asked.done()["finishReason"], "suspended");
    roster.kill().await;

    let roster = Roster::serve(&project).await;
    let (status, listed) = get(&format!("{}/api/turns?status=suspended", roster.gateway)).await;
    assert_eq!((status, listed["turns"].as_array().map(Vec::len)), (200, Some(1)), "{listed}");
    let turn = listed["turns"][0]["id"].as_str().expect("id");
    assert_eq!(asked.done()["turnId"], turn);
    let approve = format!("{}/api/turns/{turn}/approve", roster.gateway);
    let (status, answer) = post(&approve, &json!({"callId": listed["turns"][0]["calls"][0]["id"]})).await;
    assert_eq!((status, &answer["finishReason"]), (200, &json!("stop")), "{answer}");
    assert!(answer["toolCalls"][0]["result"]["iso"].is_string(), "{answer}");
    let stored = messages(&roster, "c").await;
    assert_eq!((stored.len(), stored[1].get("status")), (2, None), "{stored:?}");
    assert_eq!(post(&approve, &json!({})).await.0, 409);
    let next = chat(&roster, &question("keeper", "c", "hello")).await;
    assert_eq!(next.text(), "echo: hello", "the strict server takes the history");
    roster.terminate().await;
}

/// Whether it took effect nobody knows: it is not run a second time.
#[tokio::test]
async fn a_kill_while_an_approved_turn_goes_on_leaves_a_thread_that_works() {
    let server = ScriptedServer::builder().strict().start().await;
    let project = Project::scripted(&server).agent("keeper", GUARDED);
    server.push(Reply::tool_calls([("a", "get_time", "{}")]));
    let roster = Roster::serve(&project).await;
    let asked = chat(&roster, &question("keeper", "c", "time?")).await;
    let turn = asked.done()["turnId"].as_str().expect("turn").to_owned();
    let gate = Gate::new();
    server.push(Reply::text("late").hold(&gate));
    let url = format!("{}/api/turns/{turn}/approve", roster.gateway);
    let approving = tokio::spawn(async move { reqwest::Client::new().post(url).send().await });
    gate.reached().await;
    roster.kill().await;
    drop(approving.await);

    let roster = Roster::serve(&project).await;
    let again = post(&format!("{}/api/turns/{turn}/approve", roster.gateway), &json!({})).await;
    assert_eq!((again.0, &again.1["code"]), (409, &json!("turn_not_suspended")));
    let next = chat(&roster, &question("keeper", "c", "hello")).await;
    assert_eq!(next.text(), "echo: hello", "the strict server takes the history");
    let stored = messages(&roster, "c").await;
    assert_eq!(stored[1]["status"], "interrupted", "{stored:?}");
    assert!(stored[1]["toolCalls"][0]["result"]["iso"].is_string(), "{stored:?}");
    roster.terminate().await;
}

#[tokio::test]
async fn the_terminal_asks_before_a_call() {
    let server = ScriptedServer::builder().strict().start().await;
    let project = Project::scripted(&server).agent("keeper", GUARDED);
    let call = || Reply::tool_calls([("", "get_time", "{}")]);
    for _ in 0..3 {
        server.push(call());
        server.push(Reply::text("thanks"));
    }
    let said = run_with_input(&project, &["chat", "keeper"], "time?\ny\ntime?\nno\n").await;
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "thanks\nthanks\n"), "{said:?}");
    assert!(said.stderr.contains("may `get_time` be called with {}? (y/n)"), "{}", said.stderr);
    assert!(said.stderr.contains("declined"), "{}", said.stderr);
    let left = run_with_input(&project, &["chat", "keeper", "time?"], "").await;
    assert_eq!(left.code, Some(1), "{left:?}");
    let told = "error: `get_time` needs a person's approval to be called with {}, and this is no terminal";
    assert!(left.stderr.contains(told) && left.stderr.contains("POST /api/turns/turn_"), "{}", left.stderr);
    assert!(!left.stderr.contains("(y/n)"), "nobody is asked: {}", left.stderr);
}

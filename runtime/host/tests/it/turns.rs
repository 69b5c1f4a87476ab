//! Turns beside one another.

use roster_testkit::scripted::{Gate, Reply, ScriptedServer};
use serde_json::json;

use crate::http::{chat, get, lines, messages, open_chat, post, question, rest};
use crate::project::Project;
use crate::restart::with_weather;
use crate::roster::Roster;

/// TO-a7.
#[tokio::test]
async fn turns_of_one_thread_come_one_after_the_other_and_others_are_not_slowed() {
    let server = ScriptedServer::builder().strict().start().await;
    let weather = ScriptedServer::start().await;
    let gate = Gate::new();
    weather.always(Reply::json(200, &json!({})).hold(&gate));
    server.push(Reply::tool_calls([("a", "get_weather", r#"{"city":"Oslo"}"#)]));
    let project = Project::scripted(&server).agent("keeper", &with_weather(&weather));
    let roster = Roster::serve(&project).await;

    let first = open_chat(&roster, &question("keeper", "c", "first")).await;
    gate.reached().await;
    let body = question("keeper", "c", "second");
    let mut second = Box::pin(chat(&roster, &body));
    // Another thread's turn runs to its end while both are waiting.
    tokio::select! {
        frames = &mut second => panic!("the second turn did not wait: {frames:?}"),
        other = async { chat(&roster, &question("keeper", "d", "other")).await } => assert_eq!(other.text(), "echo: other"),
    }
    gate.open();
    assert_eq!(rest(first, "").await.text(), "echo: first");
    assert_eq!(second.await.text(), "echo: second");
    let stored = lines(&messages(&roster, "c").await);
    assert_eq!(stored, ["user: first", "assistant: echo: first", "user: second", "assistant: echo: second"]);
    roster.terminate().await;
}

/// TO-a7: the client of a turn goes away.
#[tokio::test]
async fn a_client_that_leaves_gives_the_thread_back() {
    let server = ScriptedServer::builder().strict().start().await;
    let weather = ScriptedServer::start().await;
    let gate = Gate::new();
    weather.always(Reply::nothing().hold(&gate));
    server.push(Reply::tool_calls([("a", "get_weather", r#"{"city":"Oslo"}"#)]));
    let project = Project::scripted(&server).agent("keeper", &with_weather(&weather));
    let roster = Roster::serve(&project).await;
    let left = open_chat(&roster, &question("keeper", "c", "first")).await;
    gate.reached().await;
    drop(left);
    let next = chat(&roster, &question("keeper", "c", "next")).await;
    assert_eq!(next.text(), "echo: next");
    assert_eq!(messages(&roster, "c").await[1]["status"], "interrupted");
    roster.terminate().await;
}

#[tokio::test]
async fn the_same_thread_id_under_two_resources_is_two_threads() {
    let project = Project::new().keeper();
    let roster = Roster::serve(&project).await;
    for owner in ["alice", "bob"] {
        let mut body = question("keeper", "same", &format!("I am {owner}"));
        body["resource"] = json!(owner);
        chat(&roster, &body).await.done();
    }
    for owner in ["alice", "bob"] {
        let url = format!("{}/api/conversations/same/messages?resource={owner}", roster.gateway);
        let (status, body) = get(&url).await;
        assert_eq!(status, 200, "{body}");
        let stored = body["messages"].as_array().expect("messages");
        assert_eq!((stored.len(), &stored[0]["content"]), (2, &json!(format!("I am {owner}"))));
    }
    let (status, _) = get(&format!("{}/api/conversations/same/messages?resource=carol", roster.gateway)).await;
    assert_eq!(status, 404);
    roster.terminate().await;
}

#[tokio::test]
async fn an_agent_without_memory_leaves_no_row() {
    let server = ScriptedServer::start().await;
    let project = Project::scripted(&server).plain();
    let roster = Roster::serve(&project).await;
    chat(&roster, &question("plain", "c", "one")).await.done();
    chat(&roster, &question("plain", "c", "two")).await.done();
    assert_eq!(server.requests()[1].messages().len(), 2, "system and question, nothing remembered");
    let (_, body) = get(&format!("{}/api/conversations", roster.gateway)).await;
    assert_eq!(body["conversations"], json!([]));
    let (status, _) = get(&format!("{}/api/conversations/c/messages", roster.gateway)).await;
    assert_eq!(status, 404);
    roster.terminate().await;
}

#[tokio::test]
async fn studio_reads_what_the_gateway_wrote() {
    let project = Project::new().keeper();
    let roster = Roster::serve(&project).await;
    chat(&roster, &question("keeper", "c", "Hello")).await.done();
    let url = format!("{}/api/memory/threads/c/messages?agentId=keeper", roster.studio);
    let (status, body) = get(&url).await;
    assert_eq!(status, 200, "{body}");
    let stored = body["messages"].as_array().expect("messages");
    assert_eq!(stored.len(), 2, "{body}");
    assert!(body.to_string().contains("Hello"));
    roster.terminate().await;
}

#[tokio::test]
async fn a_sub_agent_is_asked_and_its_answer_reaches_the_model() {
    let server = ScriptedServer::builder().strict().start().await;
    let project =
        Project::scripted(&server).keeper().agent("boss", "instructions = \"Delegate.\"\nagents = [\"keeper\"]");
    let roster = Roster::serve(&project).await;
    server.push(Reply::tool_calls([("a", "agent_keeper", r#"{"prompt":"count"}"#)]));
    server.push(Reply::text("one two"));
    server.push(Reply::text("It counted."));
    let frames = chat(&roster, &question("boss", "c", "ask it")).await;
    assert_eq!(frames.text(), "It counted.");
    let requests = server.requests();
    assert_eq!(requests[1].last_user_text(), "count");
    let result = requests[2].messages().last().expect("messages")["content"].to_string();
    assert!(result.contains("one two"), "{result}");
    let (_, body) = get(&format!("{}/api/conversations", roster.gateway)).await;
    assert_eq!(body["conversations"], json!([]), "sub-agents' threads are not listed");
    roster.terminate().await;
}

#[tokio::test]
async fn an_unknown_agent_and_a_missing_key_are_told_apart() {
    let model = "instructions = \"x\"\nmodel = { id = \"m\", base_url = \"http://127.0.0.1:9/v1\", api_key_env = \"NO_SUCH_KEY\" }";
    let project = Project::new().agent("locked", model);
    let roster = Roster::serve(&project).await;
    let url = format!("{}/api/chat", roster.gateway);
    let (status, body) = post(&url, &question("nobody", "c", "hi")).await;
    assert_eq!((status, &body["error"]), (404, &json!("unknown model: nobody")), "{body}");
    let (status, body) = post(&url, &question("locked", "c", "hi")).await;
    assert_eq!((status, &body["code"]), (503, &json!("provider_key_missing")), "{body}");
    assert!(body["error"].as_str().is_some_and(|text| text.contains("NO_SUCH_KEY")), "{body}");
    roster.terminate().await;
}

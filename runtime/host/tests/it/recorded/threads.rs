//! Owners, restarts, and clients that leave.

use roster_testkit::scripted::{Gate, Reply};
use serde_json::json;

use super::{AGENT, Talk};
use crate::http::{get, open_chat, question, read_until};
use crate::roster::Roster;

/// `isolation`; ours: a thread is inside its owner, so that the same id under another one is another thread, and what is
/// another's is 404 where Mastra says 403.
#[tokio::test]
async fn recorded_isolation() {
    let talk = Talk::with("memory = \"create_memory\"").await;
    talk.say("user:A", "iso", "secret of A").await;
    assert_eq!(talk.last_prompt(), "s | u:secret of A");
    assert_eq!(talk.say("user:B", "iso", "what do you know").await, "ok(1): what do you know");
    assert_eq!(talk.last_prompt(), "s | u:what do you know");
    for path in ["", "/messages"] {
        let of =
            |owner: &str| format!("{}/api/memory/threads/iso{path}?agentId=it&resourceId={owner}", talk.roster.studio);
        assert_eq!(get(&of("user:A")).await.0, 200);
        let (status, nobody) = get(&of("user:C")).await;
        assert_eq!((status, &nobody["code"]), (404, &json!("thread_not_found")));
        assert!(!get(&of("user:B")).await.1.to_string().contains("secret"));
    }
    // Two owners have a thread of this id: whose is meant must be said.
    let (status, body) = get(&format!("{}/api/memory/threads/iso?agentId=it", talk.roster.studio)).await;
    assert_eq!((status, &body["code"]), (400, &json!("resource_required")), "{body}");
    talk.roster.terminate().await;
}

/// `restart-continuity`.
#[tokio::test]
async fn recorded_restart() {
    let talk = Talk::with("memory = \"create_memory\"").await;
    talk.say("ai-chat", "rsA1", "my code is 4711").await;
    talk.say("ai-chat", "rsA1", "noted?").await;
    talk.prompts();
    let Talk { server, project, roster } = talk;
    roster.terminate().await;
    let roster = Roster::serve(&project).await;
    let talk = Talk { server, project, roster };
    assert_eq!(talk.say("ai-chat", "rsA1", "what is my code?").await, "ok(5): what is my code?");
    assert_eq!(
        talk.last_prompt(),
        "s | u:my code is 4711 | a:ok(1): my code is 4711 | u:noted? | a:ok(3): noted? | u:what is my code?"
    );
    talk.roster.terminate().await;
}

/// `client-disconnect`; ours: the answer that was cut is marked.
#[tokio::test]
async fn recorded_disconnect() {
    let talk = Talk::with("memory = \"create_memory\"").await;
    let gate = Gate::new();
    talk.server.push(Reply::text("ok(1): a b c d e f g h").hold_before(4, &gate));
    let mut body = question(AGENT, "cd1", "a b c d e f g h");
    body["resource"] = json!("ai-chat");
    let mut response = open_chat(&talk.roster, &body).await;
    read_until(&mut response, "a ").await;
    gate.reached().await;
    drop(response);
    let request = talk.server.requests().pop().expect("asked");
    request.closed().await;
    assert_eq!(talk.say("ai-chat", "cd1", "next").await, "ok(3): next");
    let said = talk.last_prompt();
    assert!(said.starts_with("s | u:a b c d e f g h | a:ok(1): a") && said.ends_with(" | u:next"), "{said}");
    let stored = talk.get("/api/memory/threads/cd1/messages?agentId=it").await;
    assert_eq!(stored["total"], 4);
    let cut = &stored["messages"][1]["content"];
    assert!(cut["content"].as_str().is_some_and(|text| text.starts_with("ok(1): a") && !text.contains('h')), "{cut}");
    assert_eq!(cut["metadata"]["status"], "interrupted");
    talk.roster.terminate().await;
}

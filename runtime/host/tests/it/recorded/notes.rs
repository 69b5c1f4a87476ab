//! Working memory and titles.

use std::time::{Duration, Instant};

use reqwest::Method;
use roster_testkit::scripted::Reply;
use serde_json::{Value, json};

use super::{Talk, recorded_model};
use crate::http::ask;

const TOOL: &str = "update_working_memory";

impl Talk {
    /// The system texts of the newest call of the model, and the tools it was offered.
    fn offered(&self) -> (String, Vec<String>) {
        let requests = self.server.requests();
        let last = requests.last().expect("the model was asked");
        let system = last.messages().iter().filter(|message| message["role"] == "system");
        let system = system.filter_map(|message| message["content"].as_str()).collect::<Vec<_>>().join("\n");
        let tools = last.json().and_then(|body| body["tools"].as_array().cloned()).unwrap_or_default();
        (system, tools.iter().filter_map(|tool| tool["function"]["name"].as_str().map(str::to_owned)).collect())
    }

    async fn notes(&self, owner: &str, thread: &str) -> Value {
        self.get(&format!("/api/memory/threads/{thread}/working-memory?agentId=it&resourceId={owner}")).await
    }
}

fn memory(working: &str) -> String {
    format!("[memory]\nfactory = \"create_memory\"\n[memory.working_memory]\n{working}")
}

/// `working-memory-default`.
#[tokio::test]
async fn recorded_working_memory_default() {
    let talk = Talk::with(&memory("")).await;
    talk.say("user:D", "wmd1", "hi").await;
    let (system, tools) = talk.offered();
    assert_eq!(tools, [TOOL]);
    assert!(system.starts_with("You are it.") && system.len() > 200, "the rules and a template: {system}");
    assert_eq!(talk.last_prompt(), "s | u:hi");
    talk.roster.terminate().await;
}

/// `working-memory-markdown-resource`.
#[tokio::test]
async fn recorded_working_memory_markdown_of_an_owner() {
    let talk = Talk::with(&memory("template = \"# User\\n- Name:\\n- Likes:\"")).await;
    talk.say("user:W", "wm1", "hi").await;
    assert_eq!(talk.last_prompt(), "s | u:hi");
    let update = "I am Bob [[tool:update_working_memory {\"memory\":\"# User\\n- Name: Bob\\n- Likes:\"}]]";
    assert_eq!(talk.say("user:W", "wm1", update).await, "ok(5): I am Bob");
    let before = format!("s | u:hi | a:ok(1): hi | u:{update}");
    assert_eq!(talk.prompts(), [before.clone(), format!("{before} | a[{TOOL}] | t")]);
    talk.say("user:W", "wm2", "who am I").await;
    assert!(talk.offered().0.contains("- Name: Bob"), "another thread of the owner knows it");
    assert_eq!(talk.last_prompt(), "s | u:who am I");
    let notes = talk.notes("user:W", "wm1").await;
    assert_eq!(
        (&notes["workingMemory"], &notes["source"], &notes["threadExists"]),
        (&json!("# User\n- Name: Bob\n- Likes:"), &json!("resource"), &json!(true))
    );
    let url = format!("{}/api/memory/threads/wm1/working-memory?agentId=it", talk.roster.studio);
    let set = json!({"workingMemory": "# User\n- Name: Carl", "resourceId": "user:W"});
    assert_eq!(ask(Method::POST, &url, Some(&set)).await, (200, json!({"success": true})));
    assert_eq!(talk.say("user:W", "wm1", "who am I").await, "ok(5): who am I");
    assert!(talk.offered().0.contains("- Name: Carl"));
    // The call of the tool is no part of what is fed or told.
    assert_eq!(talk.last_prompt(), format!("s | u:hi | a:ok(1): hi | u:{update} | a:ok(5): I am Bob | u:who am I"));
    let stored = talk.get("/api/memory/threads/wm1/messages?agentId=it&resourceId=user:W").await;
    assert_eq!(stored["total"], 6);
    assert!(!stored["messages"][3].to_string().contains("tool-invocation"), "{stored}");
    talk.roster.terminate().await;
}

/// `working-memory-schema`; ours: `null` deletes, as Mastra's guide says and its code did not.
#[tokio::test]
async fn recorded_working_memory_schema() {
    let schema = "[memory.working_memory.schema]\ntype = \"object\"\n[memory.working_memory.schema.properties]\n\
                  name = { type = \"string\" }\nlikes = { type = \"array\", items = { type = \"string\" } }";
    let talk = Talk::with(&memory(schema)).await;
    for (text, expected) in [
        (
            r#"a [[tool:update_working_memory {"memory":{"name":"Bob","likes":["x"]}}]]"#,
            json!({"name": "Bob", "likes": ["x"]}),
        ),
        (r#"b [[tool:update_working_memory {"memory":{"likes":["y"]}}]]"#, json!({"name": "Bob", "likes": ["y"]})),
        (r#"c [[tool:update_working_memory {"memory":{"name":null}}]]"#, json!({"likes": ["y"]})),
    ] {
        talk.say("user:S", "wms1", text).await;
        let notes = talk.notes("user:S", "wms1").await;
        let text = notes["workingMemory"].as_str().unwrap_or_else(|| panic!("{notes}"));
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), expected);
        assert_eq!(notes["source"], "resource");
    }
    talk.prompts();
    assert_eq!(talk.say("user:S", "wms1", "d").await, "ok(7): d");
    let said = talk.last_prompt();
    assert_eq!(said.matches(" | ").count(), 7, "{said}");
    assert!(!said.contains("a["), "{said}");
    talk.roster.terminate().await;
}

/// `working-memory-thread`.
#[tokio::test]
async fn recorded_working_memory_of_a_thread() {
    let talk = Talk::with(&memory("scope = \"thread\"\ntemplate = \"# Task\\n- Step:\"")).await;
    let update = "go [[tool:update_working_memory {\"memory\":\"# Task\\n- Step: 2\"}]]";
    assert_eq!(talk.say("user:W", "wmt1", update).await, "ok(3): go");
    assert_eq!(talk.say("user:W", "wmt1", "next").await, "ok(3): next");
    assert!(talk.offered().0.contains("- Step: 2"));
    assert_eq!(talk.last_prompt(), format!("s | u:{update} | a:ok(3): go | u:next"));
    assert_eq!(talk.say("user:W", "wmt2", "next").await, "ok(1): next");
    assert!(!talk.offered().0.contains("- Step: 2"), "another thread does not know it");
    let notes = talk.notes("user:W", "wmt1").await;
    assert_eq!((&notes["workingMemory"], &notes["source"]), (&json!("# Task\n- Step: 2"), &json!("thread")));
    // Ours: it is no metadata of the thread.
    assert_eq!(talk.get("/api/memory/threads/wmt1?agentId=it&resourceId=user:W").await["title"], "");
    talk.roster.terminate().await;
}

/// `thread-title`; ours: a title is one short line, whatever the model says.
#[tokio::test]
async fn recorded_title() {
    let talk = Talk::with("[memory]\nfactory = \"create_memory\"\ngenerate_title = true").await;
    talk.server.default_reply(|request| match request.last_user_text().starts_with("User: ") {
        true => Reply::text("Otters!"),
        false => recorded_model(request),
    });
    talk.say("ai-chat", "tt1", "tell me about otters").await;
    let begun = Instant::now();
    while talk.get("/api/memory/threads/tt1?agentId=it").await["title"] != "Otters!" {
        assert!(begun.elapsed() < Duration::from_secs(30), "no title");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let answer = "ok(1): tell me about otters";
    assert_eq!(
        talk.prompts(),
        ["s | u:tell me about otters".to_owned(), format!("s | u:User: tell me about otters\nAssistant: {answer}")]
    );
    talk.say("ai-chat", "tt1", "more").await;
    talk.say("ai-chat", "tt1", "and more").await;
    let after = talk.prompts();
    assert_eq!(after.len(), 2, "the title is asked for once: {after:?}");
    assert_eq!(after[0], format!("s | u:tell me about otters | a:{answer} | u:more"));
    talk.roster.terminate().await;
}

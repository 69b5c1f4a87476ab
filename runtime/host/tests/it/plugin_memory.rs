//! Memories of plugins from outside: conversations over HTTP, through kills, replacements and what is refused.

use serde_json::{Value, json};

use crate::http::{ask, chat, get, lines, messages, open_chat, post, question, until};
use crate::plugins::{file, library, place};
use crate::project::Project;
use crate::roster::{Roster, run};

/// An agent whose conversations the plugin keeps in a file, and one that keeps them as ever.
fn project(isolation: &str) -> Project {
    let runtime = format!(
        "[models]\ndefault = \"demo/flash\"\n[plugins]\ndir = [\"plugins\"]\n[plugins.notes]\nisolation = \"{isolation}\"\n"
    );
    let project = Project::with_runtime(&runtime);
    let file = project.path("kept.jsonl");
    let noter = format!(
        "instructions = \"Be brief.\"\n[memory]\nfactory = \"notes:create_memory\"\nconfig = {{ file = '{}' }}\n\
         [memory.working_memory]\ntemplate = \"# Person\"",
        file.display()
    );
    project.agent("noter", &noter).keeper()
}

fn of(owner: &str, thread: &str, text: &str) -> Value {
    let mut body = question("noter", thread, text);
    body["resource"] = json!(owner);
    body
}

async fn threads(roster: &Roster, owner: &str) -> Vec<String> {
    let (status, body) = get(&format!("{}/api/conversations?resource={owner}", roster.gateway)).await;
    assert_eq!(status, 200, "{body}");
    let rows = body["conversations"].as_array().expect("conversations");
    rows.iter().map(|row| row["id"].as_str().expect("id").to_owned()).collect()
}

async fn agent(roster: &Roster, id: &str) -> Value {
    let (_, registry) = get(&format!("{}/admin/registry", roster.studio)).await;
    let agents = registry["agents"].as_array().expect("agents");
    agents.iter().find(|agent| agent["id"] == id).cloned().expect(id)
}

/// How often the runtime called the factory for this agent, and the plugin's own count in the instance that serves.
async fn factory_calls(roster: &Roster) -> String {
    let metrics =
        reqwest::get(format!("{}/metrics", roster.studio)).await.expect("metrics").text().await.expect("text");
    metrics.lines().filter(|line| line.starts_with("roster_memory_factory_calls_total{")).collect::<Vec<_>>().join("\n")
}

async fn remembers(isolation: &str) {
    let project = project(isolation);
    place(&project, "notes");
    let roster = Roster::serve(&project).await;
    chat(&roster, &of("user:ada", "c", "Hello, my name is Ada.")).await.done();
    chat(&roster, &of("user:bob", "c", "Hello, my name is Bob.")).await.done();
    let (status, body) = get(&format!("{}/api/conversations/c/messages?resource=user:ada", roster.gateway)).await;
    assert_eq!((status, body["messages"].as_array().map(Vec::len)), (200, Some(2)), "{body}");
    assert!(factory_calls(&roster).await.contains("agent=\"noter\"} 1"), "{}", factory_calls(&roster).await);
    roster.kill().await;

    let roster = Roster::serve(&project).await;
    let ada = chat(&roster, &of("user:ada", "c", "What is my name?")).await;
    assert!(ada.text().contains("Ada"), "{}", ada.text());
    let bob = chat(&roster, &of("user:bob", "c", "What is my name?")).await;
    assert!(bob.text().contains("Bob") && !bob.text().contains("Ada"), "{}", bob.text());
    let stranger = chat(&roster, &of("user:eve", "c", "What is my name?")).await;
    assert!(!stranger.text().contains("Ada") && !stranger.text().contains("Bob"), "{}", stranger.text());
    chat(
        &roster,
        &json!({"model": "keeper", "conversationId": "k", "resource": "user:ada",
        "messages": [{"role": "user", "content": "hi"}]}),
    )
    .await
    .done();
    assert_eq!(threads(&roster, "user:ada").await, ["k", "c"], "the plugin's and the runtime's own, in one list");
    assert_eq!(threads(&roster, "user:bob").await, ["c"]);
    let studio = format!("{}/api/memory/threads/c/messages?agentId=noter&resourceId=user:ada", roster.studio);
    let (status, body) = get(&studio).await;
    assert_eq!((status, body["messages"].as_array().map(Vec::len)), (200, Some(4)), "{body}");
    let (status, erased) =
        ask(reqwest::Method::DELETE, &format!("{}/api/memory/resources/user:ada", roster.studio), None).await;
    assert_eq!((status, &erased["threads"], &erased["messages"]), (200, &json!(2), &json!(6)), "{erased}");
    assert_eq!(threads(&roster, "user:ada").await, Vec::<String>::new());
    assert_eq!(threads(&roster, "user:bob").await, ["c"], "the other owner's stay");
    roster.terminate().await;
}

#[tokio::test]
async fn a_plugin_in_a_process_of_its_own_remembers_after_a_kill_and_tells_no_owner_of_another() {
    remembers("process").await;
}

#[tokio::test]
async fn a_plugin_in_process_remembers_after_a_kill_and_tells_no_owner_of_another() {
    remembers("inprocess").await;
}

/// The agent waits for its plugin, serves through a replacement, and says which agent needs a factory that is gone.
#[tokio::test]
async fn an_agent_waits_for_its_memory_and_keeps_it_through_replacements() {
    let project = project("process");
    let roster = Roster::serve(&project).await;
    let waiting = agent(&roster, "noter").await;
    assert_eq!((&waiting["state"], &waiting["problems"][0]["code"]), (&json!("rejected"), &json!("plugin_absent")));
    let refused = open_chat(&roster, &of("user:ada", "c", "hi")).await;
    assert_eq!(refused.status(), 503, "it never answers without its memory");
    place(&project, "notes");
    until("the agent is whole", async || agent(&roster, "noter").await["state"] == "serving").await;
    chat(&roster, &of("user:ada", "c", "Hello, my name is Ada.")).await.done();
    let (status, body) = post(&format!("{}/admin/plugins/notes/reload", roster.studio), &json!({})).await;
    assert_eq!((status, &body["plugin"]["generation"]), (200, &json!(2)), "{body}");
    let told = chat(&roster, &of("user:ada", "c", "What is my name?")).await;
    assert!(told.text().contains("Ada"), "{}", told.text());
    assert!(factory_calls(&roster).await.contains("agent=\"noter\"} 1"), "a replaced plugin registers no agent anew");
    // A library without the factory.
    std::fs::copy(library("kinds"), project.path("plugins/.new")).expect("copied");
    std::fs::rename(project.path("plugins/.new"), file(&project, "notes")).expect("renamed");
    until("it is refused", async || {
        let (_, body) = get(&format!("{}/admin/plugins", roster.studio)).await;
        let problem = body["plugins"][0]["problem"]["message"].as_str().unwrap_or_default().to_owned();
        problem.contains("`notes:create_memory` (agents noter)")
    })
    .await;
    chat(&roster, &of("user:ada", "c", "still there?")).await.done();
    roster.terminate().await;
}

#[tokio::test]
async fn what_a_plugins_memory_cannot_do_is_said_before_anybody_talks() {
    let project = project("process")
        .agent("recaller", "instructions = \"x\"\n[memory]\nfactory = \"notes:create_memory\"\n[memory.semantic_recall]\nembedder = \"hash\"")
        .agent("asker", "instructions = \"x\"\nmemory = \"notes:create_memory\"\ntools = [\"get_time\"]\n[tool_settings.get_time]\napproval = \"always\"")
        .agent("typo", "instructions = \"x\"\n[memory]\nfactory = \"notes:create_memory\"\nconfig = { fiel = \"x\" }")
        .agent("failing", "instructions = \"x\"\n[memory]\nfactory = \"notes:create_memory\"\nconfig = { fail = \"no disk\" }")
        .agent("nobody", "instructions = \"x\"\nmemory = \"nobody:create_memory\"")
        .agent("without", "instructions = \"x\"\nmemory = \"notes:nothing\"");
    place(&project, "notes");
    let checked = run(&project, &["check"]).await;
    for code in ["recall_unsupported", "approval_unsupported", "unknown_plugin"] {
        assert!(checked.stdout.contains(code) || checked.stderr.contains(code), "{}{}", checked.stdout, checked.stderr);
    }
    let roster = Roster::serve(&project).await;
    for (id, code, words) in [
        ("recaller", "recall_unsupported", "[memory.semantic_recall]"),
        ("asker", "approval_unsupported", "`get_time` cannot wait for approval"),
        ("typo", "factory_failed", "'fiel'"),
        ("failing", "factory_failed", "no disk"),
        ("nobody", "unknown_plugin", "[plugins.nobody]"),
        ("without", "plugin_without", "has no memory factory `notes:nothing`"),
    ] {
        let agent = agent(&roster, id).await;
        let problem = &agent["problems"][0];
        assert_eq!((&agent["state"], &problem["code"]), (&json!("rejected"), &json!(code)), "{agent:#}");
        let said = format!("{} {}", problem["message"], problem["help"]);
        assert!(said.contains(words), "{said}");
    }
    chat(&roster, &of("user:ada", "c", "hi")).await.done();
    roster.terminate().await;
}

/// A conversation that stays in the runtime's own store when its agent moves is not begun anew under its name.
#[tokio::test]
async fn a_conversation_kept_elsewhere_is_not_begun_anew() {
    let project = project("process");
    place(&project, "notes");
    let roster = Roster::serve(&project).await;
    chat(&roster, &question("keeper", "old", "Hello, my name is Ada.")).await.done();
    let moved = open_chat(&roster, &question("noter", "old", "What is my name?")).await;
    let (status, body) = (moved.status(), moved.text().await.expect("text"));
    assert!(
        status == 409 && body.contains("thread_elsewhere") && body.contains("begin another one"),
        "{status} {body}"
    );
    assert_eq!(lines(&messages(&roster, "old").await).len(), 2, "nothing was written");
    let (status, made) =
        post(&format!("{}/api/conversations", roster.gateway), &json!({"id": "new", "title": "T"})).await;
    assert_eq!(status, 201, "{made}");
    chat(&roster, &question("noter", "new", "hi")).await.done();
    assert_eq!(messages(&roster, "new").await.len(), 2, "an empty one moves to its agent's memory");
    roster.terminate().await;
}

/// What the commands that read the database alone leave out, they say.
#[tokio::test]
async fn commands_say_what_plugins_keep() {
    let project = project("process");
    place(&project, "notes");
    let roster = Roster::serve(&project).await;
    chat(&roster, &of("user:ada", "c", "hi")).await.done();
    roster.terminate().await;
    let copied = run(&project, &["backup", &project.path("copy.db").to_string_lossy()]).await;
    assert_eq!(copied.code, Some(0));
    assert!(
        copied.stderr.contains("`notes:create_memory`") && copied.stderr.contains("not in the copy"),
        "{}",
        copied.stderr
    );
    let erased = run(&project, &["erase", "user:ada", "--yes"]).await;
    assert_eq!(erased.code, Some(0));
    assert!(
        erased.stderr.contains("`notes:create_memory`") && erased.stderr.contains("/api/memory/resources/"),
        "{}",
        erased.stderr
    );
}

/// One id is one conversation, whichever store has it.
#[tokio::test]
async fn a_conversation_of_a_plugin_is_not_begun_anew_in_the_runtimes_own_store() {
    let project = project("process");
    place(&project, "notes");
    let roster = Roster::serve(&project).await;
    chat(&roster, &question("noter", "c", "Hello, my name is Ada.")).await.done();
    let other = open_chat(&roster, &question("keeper", "c", "What is my name?")).await;
    let (status, body) = (other.status(), other.text().await.expect("text"));
    assert!(status == 409 && body.contains("thread_elsewhere"), "{status} {body}");
    chat(&roster, &question("keeper", "other", "hi")).await.done();
    assert_eq!(messages(&roster, "c").await.len(), 2, "its history stays in sight");
    let (status, body) = post(
        &format!("{}/api/memory/messages/delete?agentId=noter", roster.studio),
        &json!({"messageIds": ["m"], "threadId": "c"}),
    )
    .await;
    assert_eq!((status, &body["code"]), (501, &json!("not_supported")), "{body}");
    roster.terminate().await;
}

/// What agents keep that are switched off is erased too; what cannot be asked is a failure that names it.
#[tokio::test]
async fn an_owner_is_erased_from_memories_nobody_has_open() {
    let project = project("process");
    place(&project, "notes");
    let roster = Roster::serve(&project).await;
    for owner in ["user:ada", "user:bob"] {
        chat(&roster, &of(owner, "c", "hi")).await.done();
    }
    roster.terminate().await;
    let definition = project.path("agents/noter.toml");
    let text = std::fs::read_to_string(&definition).expect("a definition");
    std::fs::write(&definition, format!("enabled = false\n{text}")).expect("written");
    let roster = Roster::serve(&project).await;
    assert_eq!(agent(&roster, "noter").await["state"], "disabled");
    let erase = async |roster: &Roster, owner: &str| {
        let url = format!("{}/api/memory/resources/{owner}", roster.studio);
        ask(reqwest::Method::DELETE, &url, None).await
    };
    let (status, erased) = erase(&roster, "user:ada").await;
    assert_eq!((status, &erased["threads"], &erased["messages"]), (200, &json!(1), &json!(2)), "{erased}");
    roster.terminate().await;
    std::fs::remove_file(file(&project, "notes")).expect("removed");
    let roster = Roster::serve(&project).await;
    let (status, refused) = erase(&roster, "user:bob").await;
    assert_eq!(status, 503, "{refused}");
    assert!(refused.to_string().contains("`notes:create_memory`"), "{refused}");
    roster.terminate().await;
}

/// Sub-agents may keep their threads elsewhere than the agent that asked them.
#[tokio::test]
async fn a_deleted_conversation_takes_threads_of_sub_agents_along_in_every_store() {
    let project = project("process")
        .agent("boss", "instructions = \"Delegate.\"\nmemory = \"notes:create_memory\"\nagents = [\"keeper\"]");
    place(&project, "notes");
    let roster = Roster::serve(&project).await;
    for owner in ["user:ada", "user:bob"] {
        let mut body = question("boss", "c", "ask keeper to count");
        body["resource"] = json!(owner);
        chat(&roster, &body).await.done();
    }
    let url = format!("{}/api/conversations/c?resource=user:bob", roster.gateway);
    let (status, body) = ask(reqwest::Method::DELETE, &url, None).await;
    assert!(status < 300, "{status} {body}");
    for (owner, left) in [("user:ada", 2), ("user:bob", 0)] {
        let url = format!("{}/api/memory/resources/{owner}", roster.studio);
        let (status, erased) = ask(reqwest::Method::DELETE, &url, None).await;
        assert_eq!((status, &erased["threads"]), (200, &json!(left)), "{owner} {erased}");
    }
    roster.terminate().await;
}

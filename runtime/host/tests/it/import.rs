//! `roster import mastra`, beside a runtime that serves.

use std::fs;
use std::path::Path;

use roster_testkit::scripted::ScriptedServer;
use serde_json::{Value, json};

use crate::http::{chat, get, messages, question, until};
use crate::project::Project;
use crate::roster::{Roster, run};

/// A file that `@mastra/libsql` wrote: two threads of `user:ada`, one that Studio made with the agent `chat-agent`.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../storage/tests/mastra/written.db");

fn given(project: &Project) {
    fs::copy(Path::new(FILE), project.path("mastra.db")).expect("copies");
}

#[tokio::test]
async fn threads_of_mastra_go_on_here_while_a_runtime_serves() {
    let server = ScriptedServer::start().await;
    let memory = "instructions = \"Be brief.\"\n[memory]\nfactory = \"create_memory\"\n\
                  [memory.working_memory]\ntemplate = \"# Person\\n- Name:\\n\"";
    let project = Project::scripted(&server).agent("chat-agent", memory);
    given(&project);
    let roster = Roster::serve(&project).await;
    let before = fs::read(project.path("mastra.db")).expect("reads");
    let output = run(&project, &["import", "mastra", "mastra.db"]).await;
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    for line in [
        "threads                    3         0         0",
        "messages                   8         0         0",
        "working memories           2         0         0",
        "imported; the file is as it was",
    ] {
        assert!(output.stdout.contains(line), "{line}: {}", output.stdout);
    }
    assert_eq!(fs::read(project.path("mastra.db")).expect("reads"), before);
    assert!(!project.path("mastra.db-wal").exists() && !project.path("mastra.db-shm").exists());

    // The runtime has them at once: a turn goes on with what was said there.
    let mut body = question("chat-agent", "tea", "And coffee?");
    body["resource"] = json!("user:ada");
    chat(&roster, &body).await.done();
    let requests = server.requests();
    let prompt: Vec<String> = requests[0].messages().iter().map(Value::to_string).collect();
    let prompt = prompt.join("\n");
    for words in ["Which tea?", "call_1", "Darjeeling", "And coffee?", "Name: Ada"] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
    // What Studio named by the agent is that agent's own here, as on the Mastra routes.
    let listed = format!("{}/api/memory/threads?resourceId=chat-agent&agentId=chat-agent", roster.studio);
    let (_, threads) = get(&listed).await;
    assert_eq!(threads["threads"][0]["id"], "studio-1", "{threads}");
    assert_eq!(messages(&roster, "studio-1").await.len(), 2);

    let again = run(&project, &["import", "mastra", "mastra.db", "--format", "json"]).await;
    let told: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(told["messages"], json!({"new": 0, "there": 8, "leftOut": 0}), "{told}");
    roster.terminate().await;
}

/// Whatever was indexed of an owner before: what was imported follows in the background of its next turn.
#[tokio::test]
async fn what_was_imported_is_found_by_recall_after_the_owners_next_turn() {
    let server = ScriptedServer::start().await;
    let recall = "instructions = \"x\"\n[memory]\nfactory = \"create_memory\"\nlast_messages = false\n\
                  [memory.semantic_recall]\nembedder = \"hash\"\ntop_k = 1\nmessage_range = 0";
    let project = Project::scripted(&server).agent("keeper", recall);
    given(&project);
    let roster = Roster::serve(&project).await;
    let say = async |thread: &str, words: &str| {
        let mut body = question("keeper", thread, words);
        body["resource"] = json!("user:ada");
        chat(&roster, &body).await.done();
    };
    say("before", "hello").await;
    let found = async |words: &str| {
        let query = format!("agentId=keeper&resourceId=user:ada&searchQuery={words}&limit=1");
        let (_, found) = get(&format!("{}/api/memory/search?{query}", roster.studio)).await;
        (found["searchType"].clone(), found["results"][0]["threadId"].clone())
    };
    until("the first turn is indexed", async || found("hello").await.1 == "before").await;
    let output = run(&project, &["import", "mastra", "mastra.db"]).await;
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    say("after", "hello again").await;
    until("what was imported is indexed", async || found("Darjeeling").await == (json!("semantic"), json!("tea")))
        .await;
    server.clear_requests();
    say("later", "Which Darjeeling tea was it?").await;
    let prompt = server.requests()[0].messages().iter().map(Value::to_string).collect::<String>();
    assert!(prompt.contains("Which tea?"), "{prompt}");
    roster.terminate().await;
}

#[tokio::test]
async fn a_dry_run_makes_no_database_and_owners_get_the_names_asked_for() {
    let project = Project::new().agent("keeper", "instructions = \"x\"\nmemory = \"create_memory\"");
    given(&project);
    let file = ["import", "mastra", "mastra.db", "--resource", "chat-agent=user:bob", "--agent", "keeper"];
    let tried = run(&project, &[&file[..], &["--dry-run"]].concat()).await;
    assert_eq!(tried.code, Some(0), "{}", tried.stderr);
    assert!(tried.stdout.contains("nothing was written"), "{}", tried.stdout);
    assert!(!project.database().exists());
    let imported = run(&project, &file).await;
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    let roster = Roster::serve(&project).await;
    let of = async |resource: &str| get(&format!("{}/api/conversations?resource={resource}", roster.gateway)).await.1;
    assert_eq!(of("user:bob").await["conversations"][0]["id"], "studio-1");
    assert_eq!(of("user:ada").await["conversations"].as_array().map(Vec::len), Some(2));
    let (_, own) = get(&format!("{}/api/memory/threads?agentId=keeper&resourceId=user:ada", roster.studio)).await;
    assert_eq!(own["total"], 2, "{own}");
    roster.terminate().await;
}

#[tokio::test]
async fn what_cannot_be_imported_is_told_with_what_to_do() {
    let project = Project::new().keeper();
    project.write("text.db", "no database");
    for (args, words) in [
        (&["nowhere.db"][..], "there is no file `nowhere.db`"),
        (&["text.db"], "no database of Mastra"),
        (&["text.db", "--resource", "ada"], "OLD=NEW"),
        (&["text.db", "--agent", "nobody"], "unknown agent `nobody`"),
    ] {
        let output = run(&project, &[&["import", "mastra"], args].concat()).await;
        assert_eq!(output.code, Some(2), "{args:?}: {}", output.stderr);
        assert!(output.stderr.contains(words), "{args:?}: {}", output.stderr);
    }
}

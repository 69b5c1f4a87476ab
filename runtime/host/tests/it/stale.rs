//! Nothing that was written meanwhile is written over.

use reqwest::Method;
use roster_testkit::scripted::{Gate, Reply, ScriptedServer};
use serde_json::{Value, json};

use crate::http::{ask, get, open_chat, question, rest};
use crate::project::Project;
use crate::roster::Roster;

const AGENT: &str = "instructions = \"x\"\n[memory]\nfactory = \"create_memory\"\ngenerate_title = true\n\
                     [memory.working_memory]\nscope = \"thread\"\ntemplate = \"# Person\\n- Likes:\"";

/// Title, metadata and working memory of the thread.
async fn state(roster: &Roster) -> Value {
    let at = format!("{}/api/memory/threads/c", roster.studio);
    let (_, thread) = get(&format!("{at}?agentId=keeper")).await;
    let (_, notes) = get(&format!("{at}/working-memory?agentId=keeper")).await;
    json!({"title": thread["title"], "metadata": thread["metadata"], "notes": notes["workingMemory"]})
}

/// TO-a4, all of it at once: while the answer and then the title are under way a person renames the thread and gives it
/// metadata, and the model writes its working memory.
#[tokio::test]
async fn to_a4_the_end_of_a_turn_puts_no_old_copy_of_the_thread_back() {
    let server = ScriptedServer::builder().strict().start().await;
    let project = Project::scripted(&server).agent("keeper", AGENT);
    let roster = Roster::serve(&project).await;
    let (answering, naming) = (Gate::new(), Gate::new());
    let notes = r##"{"memory":"# Person\n- Likes: likes tea"}"##;
    server.push(Reply::tool_calls([("a", "update_working_memory", notes)]).hold(&answering));
    server.push(Reply::text("Noted."));
    server.push(Reply::text("Auto title").hold(&naming));
    let turn = open_chat(&roster, &question("keeper", "c", "I like tea")).await;
    answering.reached().await;
    let url = format!("{}/api/memory/threads/c?agentId=keeper", roster.studio);
    let (status, _) = ask(Method::PATCH, &url, Some(&json!({"title": "Invoice 4"}))).await;
    assert_eq!(status, 200);
    answering.open();
    assert_eq!(rest(turn, "").await.text(), "Noted.");
    let (status, _) = ask(Method::PATCH, &url, Some(&json!({"metadata": {"desk": "B"}}))).await;
    assert_eq!(status, 200);
    naming.open();
    // A second turn ends after whatever the first one left to do in the background has been asked for.
    server.default_reply(|_| Reply::text("ok"));
    rest(open_chat(&roster, &question("keeper", "c", "and coffee")).await, "").await.done();
    let right = json!({"title": "Invoice 4", "metadata": {"desk": "B"}, "notes": "# Person\n- Likes: likes tea"});
    assert_eq!(state(&roster).await, right);
    roster.terminate().await;
    let roster = Roster::serve(&project).await;
    assert_eq!(state(&roster).await, right);
    roster.terminate().await;
}

/// The same where nobody renames while the answer is under way: the rename comes while the model thinks of a title.
#[tokio::test]
async fn to_a4_a_title_that_comes_late_does_not_replace_a_persons() {
    let server = ScriptedServer::builder().strict().start().await;
    let project = Project::scripted(&server).agent("keeper", AGENT);
    let roster = Roster::serve(&project).await;
    let naming = Gate::new();
    server.push(Reply::text("Hello."));
    server.push(Reply::text("Auto title").hold(&naming));
    rest(open_chat(&roster, &question("keeper", "c", "hi")).await, "").await.done();
    naming.reached().await;
    let url = format!("{}/api/memory/threads/c?agentId=keeper", roster.studio);
    let both = json!({"title": "Invoice 4", "metadata": {"desk": "B"}});
    assert_eq!(ask(Method::PATCH, &url, Some(&both)).await.0, 200);
    naming.open();
    // Draining waits for what the turn left to do.
    roster.terminate().await;
    let roster = Roster::serve(&project).await;
    assert_eq!(state(&roster).await, json!({"title": "Invoice 4", "metadata": {"desk": "B"}, "notes": null}));
    roster.terminate().await;
}

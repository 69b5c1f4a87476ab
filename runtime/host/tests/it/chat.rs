//! `roster chat`.

use roster_testkit::scripted::{Gate, Reply, ScriptedServer};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncReadExt;

use crate::http::{chat as chat_over_http, messages, question};
use crate::project::Project;
use crate::roster::{Roster, command, finish, run, run_with_input};

#[tokio::test]
async fn one_turn_shows_thinking_tools_and_words_and_names_its_thread() {
    let server = ScriptedServer::builder().strict().start().await;
    server.push(Reply::tool_calls([("a", "get_time", r#"{"zone":"Mars/Base"}"#)]).reasoning("let me see"));
    server.push(Reply::text("It is late."));
    let body = "instructions = \"x\"\nmemory = \"create_memory\"\ntools = [\"get_time\"]";
    let project = Project::scripted(&server).agent("keeper", body);
    let output = run(&project, &["chat", "keeper", "What time is it?", "--thread", "t 1"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(output.stdout, "It is late.\n", "the answer alone");
    let lines: Vec<&str> = output.stderr.lines().collect();
    assert_eq!(lines[0], "(thinking) let me see");
    assert_eq!(lines[1], "-> get_time {\"zone\":\"Mars/Base\"}");
    assert!(lines[2].starts_with("<- get_time failed: "), "{}", lines[2]);
    assert!(output.stderr.contains("--thread 't 1'"), "{}", output.stderr);
}

#[tokio::test]
async fn a_conversation_goes_on_line_by_line_and_later_by_its_thread() {
    let project = Project::new().keeper();
    let first = run_with_input(&project, &["chat", "keeper"], "Hello, my name is Ada.\n\nWhat is my name?\n").await;
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(first.stdout.lines().last().is_some_and(|line| line.contains("Ada")), "{}", first.stdout);
    assert!(!first.stdout.contains('\u{1b}') && !first.stdout.contains("> "), "no prompt and no colour in a pipe");
    let thread = first.stderr.split_whitespace().nth(1).expect("thread ID").to_owned();
    let later = run(&project, &["chat", "keeper", "What is my name?", "--thread", &thread]).await;
    assert!(later.stdout.contains("Ada"), "{}", later.stdout);
    let other = run(&project, &["chat", "keeper", "What is my name?"]).await;
    assert!(!other.stdout.contains("Ada"), "{}", other.stdout);
}

#[tokio::test]
async fn an_agent_without_memory_is_handed_the_conversation_and_stores_nothing() {
    let server = ScriptedServer::start().await;
    let project = Project::scripted(&server).plain();
    let output = run_with_input(&project, &["chat", "plain"], "one\ntwo\n").await;
    assert_eq!(output.stdout, "echo: one\necho: two\n");
    assert_eq!(output.stderr, "");
    assert_eq!(server.requests()[1].messages().len(), 4, "system, one, its echo, two");
}

#[tokio::test]
async fn the_terminal_and_the_gateway_share_threads() {
    let project = Project::new().keeper();
    let roster = Roster::serve(&project).await;
    chat_over_http(&roster, &question("keeper", "c", "Hello, my name is Ada.")).await.done();
    let output = run(&project, &["chat", "keeper", "What is my name?", "--thread", "c"]).await;
    assert!(output.stdout.contains("Ada"), "{} {}", output.stdout, output.stderr);
    assert_eq!(messages(&roster, "c").await.len(), 4);
    roster.terminate().await;
}

#[tokio::test]
async fn what_cannot_be_asked_says_why() {
    let model = "model = { id = \"m\", base_url = \"http://127.0.0.1:9/v1\", api_key_env = \"NO_SUCH_KEY\" }";
    let project = Project::new()
        .keeper()
        .agent("locked", &format!("instructions = \"x\"\n{model}"))
        .agent("broken", "instructions = 3");
    let unknown = run(&project, &["chat", "kepper", "hi"]).await;
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("did you mean `keeper`?"), "{}", unknown.stderr);
    let locked = run(&project, &["chat", "locked", "hi"]).await;
    assert_eq!(locked.code, Some(1));
    assert!(locked.stderr.contains("NO_SUCH_KEY"), "{}", locked.stderr);
    let broken = run(&project, &["chat", "broken", "hi"]).await;
    assert_eq!(broken.code, Some(1));
    assert!(broken.stderr.contains("agents/broken.toml:2:16"), "{}", broken.stderr);
    assert!(broken.stderr.contains("2 | instructions = 3"), "{}", broken.stderr);
    for nothing in ["", "  \n"] {
        let empty = run(&project, &["chat", "keeper", nothing]).await;
        assert_eq!(empty.code, Some(2), "{}", empty.stderr);
        assert!(empty.stderr.contains("nothing to say"), "{}", empty.stderr);
    }
}

#[tokio::test]
async fn an_interrupt_cancels_the_turn_and_keeps_what_was_said() {
    let server = ScriptedServer::start().await;
    let gate = Gate::new();
    server.push(Reply::text("one two three").hold_before(3, &gate));
    let project = Project::scripted(&server).keeper();
    let mut child = command(project.root(), &["chat", "keeper", "count", "--thread", "c"]).spawn().expect("start");
    let mut shown = [0; 8];
    child.stdout.as_mut().expect("stdout").read_exact(&mut shown).await.expect("two words");
    assert_eq!(&shown, b"one two ");
    let id = Pid::from_raw(i32::try_from(child.id().expect("running")).expect("a pid")).expect("no zero");
    kill_process(id, Signal::INT).expect("signal");
    let output = child.wait_with_output().await.expect("ends");
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--thread 'c'"));
    server.requests()[0].closed().await;
    let roster = Roster::serve(&project).await;
    let stored = messages(&roster, "c").await;
    assert_eq!((&stored[0]["content"], &stored[1]["status"]), (&"count".into(), &"interrupted".into()), "{stored:?}");
    roster.terminate().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_output_that_is_full_is_a_matter_of_the_surroundings() {
    let project = Project::new().keeper();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the full device");
    let mut command = command(project.root(), &["chat", "keeper", "hi"]);
    command.stdout(full);
    let output = finish(command).await;
    assert_eq!(output.code, Some(2), "{}", output.stderr);
    assert!(output.stderr.contains("error: cannot write the output: "), "{}", output.stderr);
}

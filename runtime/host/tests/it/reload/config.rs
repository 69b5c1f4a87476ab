//! The files of `config/`, polling, and the ways to ask for a reload.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use super::{Live, file, mirror, until};
use crate::project::Project;
use crate::roster::{Roster, run};

#[tokio::test]
async fn a_broken_registry_changes_nothing_and_a_repaired_one_counts() {
    let live = Live::serve(|project| project.agent("clerk", "instructions = \"one\"").plain()).await;
    let registry = fs::read_to_string(live.project.path("config/registry.toml")).expect("read");
    for broken in [Some("[agents\nclerk = \"clerk.toml\"\n"), None] {
        match broken {
            Some(text) => live.project.write("config/registry.toml", text),
            None => fs::remove_file(live.project.path("config/registry.toml")).expect("remove"),
        }
        let listed = async || live.registry().await["problems"].as_array().is_some_and(|list| list.len() == 1);
        until("one problem is listed", listed).await;
        for agent in ["clerk", "plain"] {
            assert_eq!(live.entry(agent).await["state"], "serving");
            assert!(live.says(agent).await.is_ok());
        }
        live.project.write("config/registry.toml", &registry);
        until("all is well", async || live.registry().await["problems"] == json!([])).await;
    }
    live.project.write("config/registry.toml", "[agents]\nclerk = \"clerk.toml\"\n");
    until("a removed line acts", async || live.says("plain").await.is_err_and(|error| error.starts_with("404"))).await;
    live.project.write("config/registry.toml", registry);
    live.until_says("plain", "Be brief.").await;
}

#[tokio::test]
async fn a_new_agent_is_served_and_a_disabled_one_is_not() {
    let live = Live::serve(Project::plain).await;
    live.project.write("agents/new.toml", file("new", "hello"));
    live.project.register("new", "new.toml");
    live.until_says("new", "hello").await;
    live.project.write("agents/new.toml", format!("{}enabled = false\n", file("new", "hello")));
    live.until_state("new", "disabled").await;
    assert!(live.says("new").await.is_err_and(|error| error.starts_with("404")));
    live.project.write("agents/new.toml", file("new", "hello"));
    live.until_says("new", "hello").await;
}

#[tokio::test]
async fn polling_alone_finds_changes() {
    let server = mirror().await;
    let project = Project::scripted(&server).agent("clerk", "instructions = \"one\"");
    let runtime = fs::read_to_string(project.path("config/runtime.toml")).expect("read");
    project.write("config/runtime.toml", format!("{runtime}[reload]\nwatch = false\npoll = \"100ms\"\n"));
    let roster = Roster::serve(&project).await;
    let live = Live { _server: server, project, roster };
    for words in ["two", "three"] {
        live.project.write("agents/clerk.toml", file("clerk", words));
        live.until_says("clerk", words).await;
    }
    assert!(live.roster.stderr().contains("trigger=poll"), "{}", live.roster.stderr());
}

#[tokio::test]
async fn without_watch_and_poll_only_asking_reloads() {
    let server = mirror().await;
    let project = Project::scripted(&server).agent("clerk", "instructions = \"one\"");
    let runtime = fs::read_to_string(project.path("config/runtime.toml")).expect("read");
    project.write("config/runtime.toml", format!("{runtime}[reload]\nwatch = false\npoll = false\n"));
    let roster = Roster::serve(&project).await;
    let live = Live { _server: server, project, roster };
    live.project.write("agents/clerk.toml", file("clerk", "two"));
    let output = run(&live.project, &["reload"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stdout.starts_with("generation 2: 1 changed, "), "{}", output.stdout);
    assert!(output.stdout.contains("clerk") && output.stdout.contains("instructions"), "{}", output.stdout);
    assert_eq!(live.says("clerk").await.as_deref(), Ok("two"));
    live.project.write("agents/clerk.toml", file("clerk", "three"));
    live.roster.signal(Signal::HUP);
    live.until_says("clerk", "three").await;
    assert!(live.roster.stderr().contains("trigger=signal"));
    live.project.write("agents/clerk.toml", "id = \"clerk\"\ninstructions = 3\n");
    let output = run(&live.project, &["reload"]).await;
    assert_eq!(output.code, Some(1));
    assert!(output.stdout.contains("agents/clerk.toml:2:16"), "{}", output.stdout);
    let output = run(&live.project, &["agents"]).await;
    assert!(output.stdout.contains("serving last good"), "{}", output.stdout);
}

#[tokio::test]
async fn commands_for_a_running_runtime_say_when_there_is_none() {
    let project = Project::new().plain();
    for command in [&["reload"][..], &["agents", "history", "plain"], &["agents", "unpin", "plain"]] {
        let output = run(&project, command).await;
        assert_eq!(output.code, Some(2), "{command:?}");
        assert!(output.stderr.contains("no runtime serves this project"), "{}", output.stderr);
    }
    let output = run(&project, &["agents"]).await;
    assert_eq!(output.code, Some(0), "it reads the files");
}

#[tokio::test]
async fn commands_reach_a_runtime_whose_configuration_was_broken_since() {
    let live = Live::serve(|project| project.agent("clerk", "instructions = \"one\"")).await;
    live.project.write("config/runtime.toml", "[project\n");
    for command in [&["agents"][..], &["agents", "history", "clerk"], &["reload"]] {
        let output = run(&live.project, command).await;
        assert_ne!(output.code, Some(2), "{command:?}: {}", output.stderr);
        assert!(!output.stdout.is_empty(), "{command:?}: {}", output.stderr);
    }
    let output = run(&live.project, &["check"]).await;
    assert_eq!(output.code, Some(2), "what reads the file says what is wrong with it");
}

#[tokio::test]
async fn a_client_that_says_nothing_holds_up_nobody() {
    let live = Live::serve(|project| project.agent("clerk", "instructions = \"one\"")).await;
    let entries = fs::read_dir(live.project.path(".temp/run")).expect("the folder");
    let socket = entries.map(|entry| entry.expect("an entry").path()).next().expect("a socket");
    let silent: Vec<_> = (0..4).map(|_| std::os::unix::net::UnixStream::connect(&socket).expect("connected")).collect();
    let asked = tokio::time::Instant::now();
    let output = run(&live.project, &["agents"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    // One after the other they would take 10 s each.
    assert!(asked.elapsed() < std::time::Duration::from_secs(10), "{:?}", asked.elapsed());
    drop(silent);
}

#[tokio::test]
async fn the_socket_is_the_owners_alone_and_goes_with_the_process() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new().plain();
    let stale = project.path(".temp/run/1.sock");
    fs::create_dir_all(stale.parent().expect("a folder")).expect("folder");
    drop(std::os::unix::net::UnixListener::bind(&stale).expect("bind"));
    let roster = Roster::serve(&project).await;
    let sockets = || -> Vec<_> {
        let entries = fs::read_dir(project.path(".temp/run")).expect("the folder");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    };
    let found = sockets();
    assert_eq!(found.len(), 1, "the stale one is gone: {found:?}");
    assert_eq!(fs::metadata(&found[0]).expect("metadata").permissions().mode() & 0o777, 0o600);
    let folder = fs::metadata(project.path(".temp/run")).expect("metadata");
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    roster.terminate().await;
    assert!(sockets().is_empty());
}

#[tokio::test]
async fn models_and_limits_of_the_runtime_reload_and_listeners_need_a_restart() {
    let live = Live::serve(|project| project.agent("clerk", "instructions = \"one\"\nmodel = \"quick\"")).await;
    live.until_state("clerk", "rejected").await;
    let runtime = fs::read_to_string(live.project.path("config/runtime.toml")).expect("read");
    let with = |more: &str| runtime.replace("[models]\n", &format!("{more}[models]\nquick = \"stub/scripted-1\"\n"));
    live.project.write("config/runtime.toml", with(""));
    live.until_says("clerk", "one").await;
    let revision = live.entry("clerk").await["generation"].clone();
    live.project.write("config/runtime.toml", with("[gateway]\nlisten = \"127.0.0.1:1\"\n[limits]\nbody = \"16B\"\n"));
    until("the bound is in effect", async || live.says("clerk").await.is_err_and(|error| error.starts_with("413")))
        .await;
    let problems = live.registry().await["problems"].clone();
    assert_eq!(problems[0]["code"], "needs_restart", "{problems}");
    assert_eq!(problems[0]["line"], 4, "{problems}");
    live.project.write("config/runtime.toml", with("[limits]\nbody = \"nonsense\"\n"));
    until("it is refused", async || live.registry().await["problems"].to_string().contains("bad_size")).await;
    assert!(live.says("clerk").await.is_err_and(|error| error.starts_with("413")), "the last good one is in effect");
    live.project.write("config/runtime.toml", with(""));
    live.until_says("clerk", "one").await;
    assert_eq!(live.entry("clerk").await["generation"], revision, "limits touch no agent");
    live.project.write("config/runtime.toml", runtime.replace("[models]\n", "[models]\nquick = \"demo/flash\"\n"));
    until("the alias means another model", async || live.entry("clerk").await["models"][0] == "demo/flash").await;
}

#[tokio::test]
async fn tokens_reload() {
    let live = Live::serve(Project::plain).await;
    let runtime = fs::read_to_string(live.project.path("config/runtime.toml")).expect("read");
    let token =
        "[auth]\nmode = \"token\"\n[[auth.tokens]]\nsha256 = \"".to_owned() + &"0".repeat(64) + "\"\nsubject = \"a\"\n";
    live.project.write("config/runtime.toml", format!("{runtime}{token}"));
    until("a token is asked for", async || live.says("plain").await.is_err_and(|error| error.starts_with("401"))).await;
    live.project.write("config/runtime.toml", runtime);
    live.until_says("plain", "Be brief.").await;
}

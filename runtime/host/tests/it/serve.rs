//! Starting: the ready lines, the root, the ports, the models.

use std::fs;

use roster_testkit::scripted::ScriptedServer;
use serde_json::json;

use crate::http::{chat, get, messages, question};
use crate::project::Project;
use crate::roster::{Roster, command, finish, run};

#[tokio::test]
async fn both_listeners_are_ready_when_they_say_so() {
    let project = Project::new().keeper();
    let roster = Roster::serve(&project).await;
    for address in [&roster.gateway, &roster.studio] {
        assert!(address.starts_with("http://127.0.0.1:"), "{address}");
        assert_eq!(get(&format!("{address}/health")).await, (200, json!({"status": "ok", "success": true})));
        assert_eq!(get(&format!("{address}/ready")).await.0, 200);
    }
    let (status, registry) = get(&format!("{}/admin/registry", roster.studio)).await;
    assert_eq!((status, &registry["agents"][0]["state"]), (200, &json!("serving")), "{registry}");
    let ended = roster.terminate().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
}

#[tokio::test]
async fn the_path_does_not_follow_the_working_directory() {
    let project = Project::new().keeper();
    let deep = project.path("agents/deep/er");
    fs::create_dir_all(&deep).expect("folders");
    let free = ["--gateway", "127.0.0.1:0", "--studio", "127.0.0.1:0"];
    let roster = Roster::start(command(&deep, &free), 2).await;
    chat(&roster, &question("keeper", "c", "Hello, my name is Ada.")).await.done();
    roster.terminate().await;

    let elsewhere = tempfile::tempdir().expect("a temp folder");
    let root = project.root().to_str().expect("a plain path");
    let roster = Roster::start(command(elsewhere.path(), &[&free[..], &["--root", root]].concat()), 2).await;
    assert_eq!(messages(&roster, "c").await.len(), 2, "--root");
    roster.terminate().await;

    let mut by_variable = command(elsewhere.path(), &free);
    by_variable.env("ROSTER_ROOT", root);
    let roster = Roster::start(by_variable, 2).await;
    assert_eq!(messages(&roster, "c").await.len(), 2, "ROSTER_ROOT");
    roster.terminate().await;
    assert!(project.database().is_file(), ".temp/ was made below the root");
    assert_eq!(fs::read_dir(elsewhere.path()).expect("readable").count(), 0);
}

#[tokio::test]
async fn a_taken_port_names_the_address_and_the_option() {
    let project = Project::new().keeper();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    for (option, other) in [("--gateway", "--studio"), ("--studio", "--gateway")] {
        let output = run(&project, &[option, &address, other, "127.0.0.1:0"]).await;
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
        assert!(output.stderr.contains(&address) && output.stderr.contains(option), "{}", output.stderr);
    }
    assert!(!project.database().exists(), "nothing was opened");
}

#[tokio::test]
async fn a_variable_chooses_the_default_model() {
    let server = ScriptedServer::start().await;
    let project = Project::with_runtime(&format!(
        "[models.providers.stub]\ndialect = \"openai\"\nbase_url = \"{}\"\n",
        server.base_url()
    ))
    .keeper();
    let mut with_variable = command(project.root(), &["--gateway", "127.0.0.1:0", "--studio", "127.0.0.1:0"]);
    with_variable.env("ROSTER_MODEL", "stub/other-model");
    let roster = Roster::start(with_variable, 2).await;
    assert_eq!(chat(&roster, &question("keeper", "c", "hi")).await.text(), "echo: hi");
    assert_eq!(server.requests()[0].json().expect("JSON")["model"], "other-model");
    roster.terminate().await;

    let mut wrong = command(project.root(), &["check"]);
    wrong.env("ROSTER_MODEL", "stbu/x");
    let output = finish(wrong).await;
    assert_eq!(output.code, Some(1));
    assert!(output.stdout.contains("ROSTER_MODEL"), "{}", output.stdout);
}

#[tokio::test]
async fn two_processes_share_the_store() {
    let project = Project::new().keeper();
    let gateway = Roster::serve_with_only(&project, "gateway").await;
    let studio = Roster::serve_with_only(&project, "studio").await;
    assert!(gateway.studio.is_empty() && studio.gateway.is_empty());
    for n in 1..=3 {
        chat(&gateway, &question("keeper", "c", &format!("line {n}"))).await.done();
        let url = format!("{}/api/memory/threads/c/messages?agentId=keeper", studio.studio);
        let (status, body) = get(&url).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(body["messages"].as_array().expect("messages").len(), 2 * n, "{body}");
    }
    studio.terminate().await;
    chat(&gateway, &question("keeper", "c", "still here")).await.done();
    gateway.terminate().await;
}

/// TO-c2 at the door.
#[tokio::test]
async fn six_starts_at_once_on_an_empty_folder_all_serve() {
    let project = Project::new().keeper();
    let all = futures_util::future::join_all((0..6).map(|_| Roster::serve(&project))).await;
    let turns = all.iter().enumerate().map(|(n, roster)| async move {
        chat(roster, &question("keeper", "c", &format!("from {n}"))).await.done()["finishReason"].clone()
    });
    assert_eq!(futures_util::future::join_all(turns).await, vec![json!("stop"); 6]);
    assert_eq!(messages(&all[0], "c").await.len(), 12, "one thread, six processes, turn after turn");
    for roster in all {
        assert_eq!(roster.terminate().await.code, Some(0));
    }
}

#[tokio::test]
async fn a_configuration_that_cannot_be_used_stops_the_start() {
    let project = Project::with_runtime("[gateway]\nlisten = \"nowhere\"\n").keeper();
    let output = run(&project, &["serve"]).await;
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert!(output.stderr.contains("config/runtime.toml:4:10"), "{}", output.stderr);
    let open = run(&Project::new().keeper(), &["serve", "--gateway", "0.0.0.0:0", "--studio", "127.0.0.1:0"]).await;
    assert_eq!(open.code, Some(2), "open to everybody without auth");
    assert!(open.stderr.contains("allow_open"), "{}", open.stderr);
}

#[tokio::test]
async fn logs_can_be_json() {
    let project = Project::new().keeper();
    project.write("agents/draft.toml", "id = \"draft\"\ninstructions = \"x\"\n");
    let roster = Roster::serve_with(&project, &["--log-format", "json"]).await;
    let ended = roster.terminate().await;
    for line in ended.stderr.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(event["level"].is_string(), "{line}");
    }
    assert!(ended.stderr.contains("agents/draft.toml"), "{}", ended.stderr);
}

//! Plugins from outside: an agent uses them over HTTP, in both isolations, while libraries come, change and go.

mod deaths;

use std::path::{Path, PathBuf};
use std::time::Duration;

use roster_testkit::scripted::{Reply, ScriptedServer};
use serde_json::{Value, json};

use crate::http::{chat, get, post, question};
use crate::project::Project;
use crate::roster::{Roster, run};

/// A fixture's library, built beside this test.
pub(crate) fn library(name: &str) -> PathBuf {
    let us = std::env::current_exe().expect("us");
    let path = us.with_file_name(format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX));
    assert!(path.exists(), "{} is built as a dependency of these tests", path.display());
    path
}

pub(crate) fn place(project: &Project, name: &str) {
    let bytes = std::fs::read(library(name)).expect("readable");
    let beside = format!("plugins/.{name}.new");
    project.write(&beside, bytes);
    std::fs::rename(project.path(&beside), file(project, name)).expect("renamed");
}

pub(crate) fn file(project: &Project, name: &str) -> PathBuf {
    let library = library(name);
    project.path("plugins").join(library.file_name().expect("a name"))
}

const GUARDED: &str = "instructions = \"Keep it.\"\nprocessors = [\"kinds:mask\"]";

fn project(server: &ScriptedServer, more: &str) -> Project {
    let project = Project::scripted(server)
        .agent("clerk", "instructions = \"Be brief.\"\ntools = [\"kinds:echo\"]")
        .agent("guarded", GUARDED)
        .agent("lenient", &format!("{GUARDED}\non_processor_error = \"pass\""))
        .agent("parrot", "instructions = \"Repeat.\"\nmodel = \"kinds:parrot\"")
        .agent("aliased", "instructions = \"Repeat.\"\nmodel = \"large\"");
    let runtime = std::fs::read_to_string(project.path("config/runtime.toml")).expect("readable");
    let runtime = runtime.replace("[models]\n", "[models]\nlarge = \"kinds:parrot\"\n");
    project.write("config/runtime.toml", format!("{runtime}[plugins]\ndir = [\"plugins\"]\n[plugins.kinds]\n{more}"));
    project
}

/// Asks the clerk, whose model calls the plugin's tool; what the model was told of it.
async fn echoed(roster: &Roster, server: &ScriptedServer, thread: &str) -> Value {
    server.clear_requests();
    server.push(Reply::tool_calls([("call", "kinds_echo", r#"{"a":"ü"}"#)]));
    let frames = chat(roster, &question("clerk", thread, "go")).await;
    assert_eq!(frames.done()["finishReason"], "stop");
    server.requests()[1].messages().last().expect("messages")["content"].clone()
}

async fn state(roster: &Roster) -> Value {
    let (status, body) = get(&format!("{}/admin/plugins", roster.studio)).await;
    assert_eq!(status, 200);
    body["plugins"][0].clone()
}

/// An agent as the registry lists it.
async fn agent(roster: &Roster, id: &str) -> Value {
    let (_, registry) = get(&format!("{}/admin/registry", roster.studio)).await;
    let agents = registry["agents"].as_array().expect("agents");
    agents.iter().find(|agent| agent["id"] == id).expect(id).clone()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Waits until an agent serves and nothing is wrong with it.
async fn until_whole(roster: &Roster, id: &str) {
    for _ in 0..1_000 {
        let agent = agent(roster, id).await;
        if agent["state"] == "serving" && agent["problems"].as_array().is_none_or(Vec::is_empty) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it never was whole: {:#}", agent(roster, id).await);
}

async fn until(roster: &Roster, is: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..1_000 {
        let state = state(roster).await;
        if is(&state) {
            return state;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it did not come about: {:#}", state(roster).await);
}

async fn serves_in(isolation: &str) {
    let server = ScriptedServer::start().await;
    let project = project(&server, &format!("isolation = \"{isolation}\"\n"));
    place(&project, "kinds");
    let roster = Roster::serve(&project).await;
    assert_eq!(state(&roster).await["library"]["isolation"], isolation);
    assert_eq!(echoed(&roster, &server, "t1").await, r#"{"a":"ü"}"#);
    let frames = chat(&roster, &question("parrot", "t2", "hello big world")).await;
    assert_eq!(frames.text(), "hello big world", "a model of a plugin, streamed");
    assert_eq!(chat(&roster, &question("aliased", "t2", "hello")).await.text(), "hello", "by an alias");
    let (status, body) = post(&format!("{}/admin/plugins/kinds/reload", roster.studio), &json!({})).await;
    assert_eq!((status, &body["plugin"]["generation"]), (200, &json!(2)), "{body}");
    assert_eq!(echoed(&roster, &server, "t1").await, r#"{"a":"ü"}"#);
    let (status, body) = post(&format!("{}/admin/plugins/nobody/reload", roster.studio), &json!({})).await;
    assert_eq!((status, &body["code"]), (404, &json!("plugin_not_found")));
    let listed = run(&project, &["plugins", "list"]).await;
    assert!(listed.stdout.contains("kinds:echo") && listed.code == Some(0), "{}{}", listed.stdout, listed.stderr);
    let metrics =
        reqwest::get(format!("{}/metrics", roster.studio)).await.expect("metrics").text().await.expect("text");
    assert!(metrics.contains("roster_plugin_calls_total{plugin=\"kinds\"} 4"), "{metrics}");
    assert!(metrics.ends_with("# EOF\n"));
    roster.terminate().await;
}

#[tokio::test]
async fn an_agent_uses_a_plugin_in_a_process_of_its_own() {
    serves_in("process").await;
}

#[tokio::test]
async fn an_agent_uses_a_plugin_in_process() {
    serves_in("inprocess").await;
}

/// TO-e1, TO-e2: a library that is not there, comes, is broken and goes.
#[tokio::test]
async fn agents_wait_for_a_plugin_and_become_whole_when_it_comes() {
    let server = ScriptedServer::start().await;
    let project = project(&server, "");
    let checked = run(&project, &["check", "--strict"]).await;
    assert_eq!(checked.code, Some(0), "names of a configured plugin may be good: {}", checked.stdout);
    let roster = Roster::serve(&project).await;
    let problem = state(&roster).await["problem"].clone();
    assert_eq!(problem["code"], "plugin_missing");
    assert!(problem["help"].as_str().expect("help").contains("cargo build -p kinds"), "{problem}");
    let stands = async |id: &str| {
        let agent = agent(&roster, id).await;
        (text(&agent["state"]), text(&agent["problems"][0]["code"]), text(&agent["problems"][0]["help"]))
    };
    for (id, state, help) in [
        ("clerk", "serving", "the agent serves without it"),
        ("guarded", "rejected", "the agent is served when the plugin is there"),
        ("lenient", "serving", "turns go on without it until the plugin is there"),
        ("parrot", "rejected", "the agent is served when the plugin is there"),
        ("aliased", "rejected", "the agent is served when the plugin is there"),
    ] {
        let stood = stands(id).await;
        assert!(stood.0 == state && stood.1 == "plugin_absent" && stood.2.contains(help), "{id}: {stood:?}");
    }
    place(&project, "kinds");
    until(&roster, |state| state["state"] == "serving").await;
    for id in ["clerk", "guarded", "lenient", "parrot", "aliased"] {
        until_whole(&roster, id).await;
    }
    assert_eq!(echoed(&roster, &server, "t1").await, r#"{"a":"ü"}"#);
    assert_eq!(chat(&roster, &question("parrot", "t2", "whole now")).await.text(), "whole now");
    // Cut short in place, as a copy that was interrupted: what serves goes on.
    let whole = std::fs::read(library("kinds")).expect("readable");
    std::fs::write(file(&project, "kinds"), &whole[..whole.len() / 2]).expect("written");
    let state = until(&roster, |state| state["state"] == "serving_last_good").await;
    assert!(state["problem"]["message"].as_str().expect("words").contains("damaged"), "{state}");
    assert_eq!(echoed(&roster, &server, "t1").await, r#"{"a":"ü"}"#);
    std::fs::remove_file(file(&project, "kinds")).expect("removed");
    until(&roster, |state| state["problem"]["code"] == "plugin_missing").await;
    assert_eq!(echoed(&roster, &server, "t1").await, r#"{"a":"ü"}"#);
    place(&project, "kinds");
    until(&roster, |state| state["state"] == "serving").await;
    roster.terminate().await;
}

#[tokio::test]
async fn what_a_plugin_cannot_give_is_said_of_the_agent_that_wants_it() {
    let server = ScriptedServer::start().await;
    let project = project(&server, "")
        .agent("keeper", "instructions = \"Keep.\"\nmemory = \"kinds:memory\"")
        .agent("masked", "instructions = \"Mask.\"\nprocessors = [\"kinds:spans\"]");
    place(&project, "kinds");
    let roster = Roster::serve(&project).await;
    let (_, registry) = get(&format!("{}/admin/registry", roster.studio)).await;
    let agents = registry["agents"].as_array().expect("agents");
    for (id, code, words) in [
        ("keeper", "plugin_without", "plugin `kinds` has no memory factory `kinds:memory`"),
        ("masked", "plugin_without", "plugin `kinds` has no processor `kinds:spans`"),
    ] {
        let agent = agents.iter().find(|agent| agent["id"] == id).expect(id);
        assert_eq!((&agent["state"], &agent["problems"][0]["code"]), (&json!("rejected"), &json!(code)), "{agent:#}");
        assert!(agent["problems"][0]["message"].as_str().expect("words").contains(words), "{agent:#}");
    }
    assert_eq!(echoed(&roster, &server, "t1").await, r#"{"a":"ü"}"#);
    roster.terminate().await;
}

/// TO-e1: each bad library is one line, and nothing of it runs in the command that looks.
#[tokio::test]
async fn what_a_library_is_can_be_asked_without_serving() {
    let project = Project::new();
    let good = library("kinds");
    let inspected = run(&project, &["plugins", "inspect", &good.to_string_lossy()]).await;
    assert_eq!(inspected.code, Some(0), "{}", inspected.stderr);
    assert!(inspected.stdout.contains("dev.roster.fixture.kinds") && inspected.stdout.contains("parrot"));
    project.write("plugins/libtext.so", "this is no library");
    let text = run(&project, &["plugins", "inspect", &project.path("plugins/libtext.so").to_string_lossy()]).await;
    assert_eq!(text.code, Some(1));
    assert!(text.stderr.contains("is a text"), "{}", text.stderr);
    let bad = Project::with_runtime("[plugins.text]\n[plugins.gone]\n");
    bad.write("plugins/libtext.so", "this is no library");
    let checked = run(&bad, &["plugins", "check"]).await;
    assert_eq!(checked.code, Some(1));
    assert!(
        checked.stdout.contains("cargo build -p gone") && checked.stdout.contains("is a text"),
        "{}",
        checked.stdout
    );
    let alone = run(&bad, &["plugin-host"]).await;
    assert_eq!(alone.code, Some(2), "started by a person it does nothing");
    assert!(Path::new(&good).exists());
}

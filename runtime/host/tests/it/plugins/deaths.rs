//! Deaths: of a runtime that let a plugin into its own process, and of one whose plugins have processes of their own.

use std::time::Duration;

use roster_testkit::scripted::{Reply, ScriptedServer};
use serde_json::json;

use super::{place, state};
use crate::http::{chat, lines, messages, open_chat, question};
use crate::project::Project;
use crate::roster::Roster;

/// A project whose agent remembers, and may call one tool of the plugin that misbehaves.
fn project(server: &ScriptedServer, isolation: &str, tool: &str) -> Project {
    let keeper =
        format!("instructions = \"Be brief.\"\nmemory = \"create_memory\"\ntools = [\"faults:ok\", \"faults:{tool}\"]");
    let project = Project::scripted(server).agent("keeper", &keeper);
    let runtime = std::fs::read_to_string(project.path("config/runtime.toml")).expect("readable");
    project.write("config/runtime.toml", format!("{runtime}[plugins.faults]\nisolation = \"{isolation}\"\n"));
    place(&project, "faults");
    project
}

async fn loses_nothing(tool: &str, code: Option<i32>, signal: Option<i32>) {
    let server = ScriptedServer::builder().strict().start().await;
    let project = project(&server, "inprocess", tool);
    let roster = Roster::serve(&project).await;
    assert_eq!(chat(&roster, &question("keeper", "c", "first")).await.text(), "echo: first");
    let name = format!("faults_{tool}");
    server.push(Reply::tool_calls([("a", name.as_str(), "{}")]));
    let cut_off = open_chat(&roster, &question("keeper", "c", "second")).await;
    let ended = roster.ended().await;
    assert_eq!((ended.code, ended.signal), (code, signal), "{tool}: {}", ended.stderr);
    drop(cut_off);

    let roster = Roster::serve(&project).await;
    let stored = messages(&roster, "c").await;
    assert_eq!(lines(&stored[..3]), ["user: first", "assistant: echo: first", "user: second"], "{tool}");
    // Who looks for the culprit finds the call that was under way.
    let told = &stored[3];
    assert_eq!((&told["status"], &told["toolCalls"][0]["name"]), (&json!("interrupted"), &json!(name)), "{told:#}");
    server.push(Reply::tool_calls([("b", "faults_ok", r#"{"a":1}"#)]));
    let next = chat(&roster, &question("keeper", "c", "third")).await;
    assert_eq!(next.done()["finishReason"], "stop", "the plugin serves again");
    roster.terminate().await;
}

#[tokio::test]
async fn a_segmentation_fault_in_process_kills_the_runtime_and_loses_nothing_that_was_acknowledged() {
    loses_nothing("segv", None, Some(11)).await;
}

#[tokio::test]
async fn an_abort_in_process_kills_the_runtime_and_loses_nothing_that_was_acknowledged() {
    loses_nothing("abort", None, Some(6)).await;
}

#[tokio::test]
async fn a_stack_overflow_in_process_kills_the_runtime_and_loses_nothing_that_was_acknowledged() {
    loses_nothing("overflow", None, Some(6)).await;
}

#[tokio::test]
async fn an_exit_in_process_ends_the_runtime_and_loses_nothing_that_was_acknowledged() {
    loses_nothing("exit", Some(3), None).await;
}

/// Processes that were started by this one and are alive.
fn children(of: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("procfs").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| stat(*id).is_some_and(|(_, parent)| parent == of)).collect()
}

/// State and parent of a process; none: it is gone.
fn stat(id: u32) -> Option<(char, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

#[tokio::test]
async fn a_plugins_process_ends_with_the_runtime_also_while_it_is_busy() {
    let server = ScriptedServer::builder().strict().start().await;
    let project = project(&server, "process", "spin");
    let roster = Roster::serve(&project).await;
    server.push(Reply::tool_calls([("a", "faults_spin", "{}")]));
    let busy = open_chat(&roster, &question("keeper", "c", "spin")).await;
    super::until(&roster, |plugin| plugin["counters"]["in_flight"] == 1).await;
    let children = children(roster.id());
    assert_eq!(children.len(), 1, "{:#}", state(&roster).await);
    roster.kill().await;
    drop(busy);
    for _ in 0..1_000 {
        // One that nobody waited for yet is as good as gone.
        if children.iter().all(|id| stat(*id).is_none_or(|(state, _)| state == 'Z')) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it lives on: {:?}", children.iter().map(|id| stat(*id)).collect::<Vec<_>>());
}

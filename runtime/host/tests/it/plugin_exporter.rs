//! Exporters of plugins from outside: what turns leave reaches them, and a bad one delays nobody.

use std::time::Instant;

use roster_testkit::scripted::{Reply, ScriptedServer};
use serde_json::{Value, json};

use crate::http::{admin, chat, question, until};
use crate::plugins::place;
use crate::project::Project;
use crate::roster::{Roster, run};

/// Two plugins, and an agent that asks the first what was exported.
fn project(server: &ScriptedServer, exporters: &str) -> Project {
    let project =
        Project::scripted(server).agent("clerk", "instructions = \"Be brief.\"\ntools = [\"kinds:exported\"]");
    let runtime = std::fs::read_to_string(project.path("config/runtime.toml")).expect("readable");
    let more = "[plugins]\ndir = [\"plugins\"]\n[plugins.kinds]\n[plugins.notes]\n";
    project.write("config/runtime.toml", format!("{runtime}{more}[observability]\nexporters = {exporters}\n"));
    place(&project, "kinds");
    place(&project, "notes");
    project
}

/// What the plugin says came.
async fn exported(roster: &Roster, server: &ScriptedServer) -> Value {
    server.clear_requests();
    server.push(Reply::tool_calls([("call", "kinds_exported", "{}")]));
    chat(roster, &question("clerk", "t", "go")).await.done();
    let told = server.requests()[1].messages().last().expect("messages")["content"].clone();
    serde_json::from_str(told.as_str().expect("text")).expect("json")
}

async fn metrics(roster: &Roster) -> String {
    reqwest::get(format!("{}/metrics", roster.studio)).await.expect("metrics").text().await.expect("text")
}

#[tokio::test]
async fn spans_of_turns_reach_an_exporter_and_a_hung_one_delays_nobody() {
    let server = ScriptedServer::start().await;
    let project = project(&server, r#"["kinds:spans", "notes:stuck", "notes:nothing", "nobody:at_all"]"#);
    let checked = run(&project, &["check"]).await;
    let said = format!("{}{}", checked.stdout, checked.stderr);
    assert!(said.contains("exporter `nobody:at_all`") && said.contains("[plugins.nobody]"), "{said}");
    let roster = Roster::serve(&project).await;
    let registry = admin(&roster, "/admin/registry").await;
    assert!(registry.to_string().contains("plugin `notes` has no exporter `notes:nothing`"), "{registry:#}");
    until("the plugin has the spans", async || {
        let names = exported(&roster, &server).await;
        names.as_array().is_some_and(|names| names.contains(&json!("invoke_agent clerk")))
    })
    .await;
    assert!(metrics(&roster).await.contains("roster_exporter_spans_total{exporter=\"kinds:spans\",outcome=\"taken\"}"));
    let begun = Instant::now();
    assert_eq!(roster.terminate().await.code, Some(0));
    assert!(begun.elapsed().as_secs() < 25, "the end waits for no exporter beyond its time");
}

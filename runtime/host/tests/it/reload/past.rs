//! What earlier runs served, and what operators pinned.

use std::fs;

use serde_json::{Value, json};

use super::{Live, file, mirror, until};
use crate::http::{get, post};
use crate::project::Project;
use crate::roster::{Roster, run};

async fn history(live: &Live, agent: &str) -> Vec<Value> {
    let (status, answer) = get(&format!("{}/admin/agents/{agent}/history", live.roster.studio)).await;
    assert_eq!(status, 200, "{answer}");
    answer["entries"].as_array().cloned().unwrap_or_default()
}

/// Waits until so many entries are written.
async fn written(live: &Live, agent: &str, count: usize) -> Vec<Value> {
    until(&format!("{count} entries of {agent}"), async || history(live, agent).await.len() >= count).await;
    history(live, agent).await
}

/// Ends the process and starts another over the same files.
async fn again(live: Live) -> Live {
    let Live { _server, project, roster } = live;
    roster.terminate().await;
    let roster = Roster::serve(&project).await;
    Live { _server, project, roster }
}

#[tokio::test]
async fn after_a_restart_a_broken_file_is_served_as_it_was_last_good() {
    let live = Live::serve(|project| project.agent("clerk", "instructions = \"one\"").plain()).await;
    live.project.write("agents/clerk.toml", "id = \"clerk\"\ninstructions_file = \"clerk.md\"\n");
    live.project.write("agents/clerk.md", "two");
    live.until_says("clerk", "two").await;
    written(&live, "clerk", 2).await;
    live.project.write("agents/clerk.toml", "id = \"clerk\"\ninstructions = \n");
    live.until_state("clerk", "serving_last_good").await;
    let live = again(live).await;
    assert_eq!(live.entry("clerk").await["state"], "serving_last_good");
    assert_eq!(live.says("clerk").await.as_deref(), Ok("two"));
    assert!(live.entry("clerk").await["problems"][0]["line"].is_number());
    live.project.write("agents/clerk.toml", "id = \"clerk\"\ninstructions = \"x\"\ntools = [\"no_such\"]\n");
    until("the tool is listed", async || live.entry("clerk").await.to_string().contains("no_such")).await;
    let live = again(live).await;
    assert_eq!(live.entry("clerk").await["state"], "serving_last_good", "names that are not there count too");
    assert_eq!(live.says("clerk").await.as_deref(), Ok("two"));
    live.project.write("config/registry.toml", "[agents]\nplain = \"plain.toml\"\n");
    let live = again(live).await;
    assert_eq!(live.entry("clerk").await, Value::Null, "without its line it is not served");
}

#[tokio::test]
async fn what_was_disabled_does_not_come_back_with_a_broken_file_after_a_restart() {
    let live = Live::serve(|project| project.agent("clerk", "instructions = \"one\"").plain()).await;
    written(&live, "clerk", 1).await;
    live.project.write("agents/clerk.toml", "id = \"clerk\"\ninstructions = \"one\"\nenabled = false\n");
    live.until_state("clerk", "disabled").await;
    written(&live, "clerk", 2).await;
    live.project.write("agents/clerk.toml", "id = \"clerk\"\ninstructions = \nenabled = false\n");
    let live = again(live).await;
    assert_eq!(live.entry("clerk").await["state"], "rejected");
}

#[tokio::test]
async fn a_restart_alone_adds_nothing_to_the_history() {
    let live = Live::serve(|project| project.agent("clerk", "instructions = \"one\"").plain()).await;
    written(&live, "clerk", 1).await;
    written(&live, "plain", 1).await;
    live.project.write("config/registry.toml", "[agents]\nclerk = \"clerk.toml\"\n");
    written(&live, "plain", 2).await;
    let live = again(live).await;
    live.project.write("agents/clerk.toml", file("clerk", "two"));
    // Written in order: what the restart had to say came before.
    let entries = written(&live, "clerk", 2).await;
    let changes: Vec<&str> = entries.iter().filter_map(|entry| entry["change"].as_str()).collect();
    assert_eq!(changes, ["changed", "added"]);
    live.project.register("plain", "plain.toml");
    let live = again(live).await;
    let entries = written(&live, "plain", 3).await;
    let changes: Vec<&str> = entries.iter().filter_map(|entry| entry["change"].as_str()).collect();
    assert_eq!(changes, ["added", "removed", "added"], "it was away");
}

#[tokio::test]
async fn a_pinned_version_is_served_whatever_the_file_says_until_it_is_unpinned() {
    let live = Live::serve(|project| project.agent("clerk", "instructions = \"one\"")).await;
    let first = written(&live, "clerk", 1).await[0]["fingerprint"].as_str().expect("a fingerprint").to_owned();
    live.project.write("agents/clerk.toml", file("clerk", "two"));
    live.until_says("clerk", "two").await;
    written(&live, "clerk", 2).await;
    let url = format!("{}/admin/agents/clerk/pin", live.roster.studio);
    let (status, answer) = post(&url, &json!({"fingerprint": first})).await;
    assert_eq!((status, &answer["pinned"]), (200, &json!(first)), "{answer}");
    assert_eq!(live.says("clerk").await.as_deref(), Ok("one"));
    live.project.write("agents/clerk.toml", file("clerk", "three"));
    let reloaded = run(&live.project, &["reload"]).await;
    assert_eq!(reloaded.code, Some(0), "{}", reloaded.stderr);
    assert_eq!(live.says("clerk").await.as_deref(), Ok("one"));
    let live = again(live).await;
    assert_eq!(live.says("clerk").await.as_deref(), Ok("one"), "pins survive restarts");
    assert_eq!(live.entry("clerk").await["pinned"], json!(first));
    let listed = run(&live.project, &["agents"]).await;
    assert!(listed.stdout.contains(&format!("pinned to {}", &first[..12])), "{}", listed.stdout);
    let unpinned = run(&live.project, &["agents", "unpin", "clerk"]).await;
    assert_eq!(unpinned.code, Some(0), "{}", unpinned.stderr);
    assert_eq!(live.says("clerk").await.as_deref(), Ok("three"));
    let told = run(&live.project, &["agents", "history", "clerk"]).await;
    assert!(told.stdout.contains("pinned") && told.stdout.contains("unpinned"), "{}", told.stdout);
    let pinned = run(&live.project, &["agents", "pin", "clerk", &first[..8]]).await;
    assert_eq!(pinned.code, Some(0), "{}", pinned.stderr);
    assert_eq!(live.says("clerk").await.as_deref(), Ok("one"));
}

/// Whoever switches an agent off need not know that it is pinned.
#[tokio::test]
async fn disabled_means_disabled_also_for_a_pinned_agent() {
    let live = Live::serve(|project| project.agent("clerk", "instructions = \"one\"")).await;
    let first = written(&live, "clerk", 1).await[0]["fingerprint"].as_str().expect("a fingerprint").to_owned();
    let pinned = run(&live.project, &["agents", "pin", "clerk", &first]).await;
    assert_eq!(pinned.code, Some(0), "{}", pinned.stderr);
    let off = format!("{}enabled = false\n", file("clerk", "two"));
    live.project.write("agents/clerk.toml", &off);
    live.until_state("clerk", "disabled").await;
    assert!(live.says("clerk").await.is_err());
    assert_eq!(live.entry("clerk").await["pinned"], json!(first), "the pin stands");
    live.project.write("agents/clerk.toml", off.clone() + "no_such_key = 1\n");
    let live = again(live).await;
    assert_eq!(live.entry("clerk").await["state"], "disabled", "also after a restart, and with an error in the file");
    live.project.write("agents/clerk.toml", file("clerk", "two"));
    live.until_says("clerk", "one").await;
    let unpinned = run(&live.project, &["agents", "unpin", "clerk"]).await;
    assert_eq!(unpinned.code, Some(0), "{}", unpinned.stderr);
    live.project.write("agents/clerk.toml", &off);
    live.until_state("clerk", "disabled").await;
    let refused = run(&live.project, &["agents", "pin", "clerk", &first]).await;
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("disabled by `enabled = false`"), "{}", refused.stderr);
    assert_eq!(live.entry("clerk").await["pinned"], Value::Null);
}

#[tokio::test]
async fn a_pin_is_lifted_while_the_agent_has_no_line() {
    let live = Live::serve(|project| project.agent("clerk", "instructions = \"one\"").plain()).await;
    let first = written(&live, "clerk", 1).await[0]["fingerprint"].as_str().expect("a fingerprint").to_owned();
    let pinned = run(&live.project, &["agents", "pin", "clerk", &first]).await;
    assert_eq!(pinned.code, Some(0), "{}", pinned.stderr);
    live.project.write("agents/clerk.toml", file("clerk", "two"));
    let registry = fs::read_to_string(live.project.path("config/registry.toml")).expect("read");
    live.project.write("config/registry.toml", "[agents]\nplain = \"plain.toml\"\n");
    until("it is away", async || live.says("clerk").await.is_err()).await;
    let unpinned = run(&live.project, &["agents", "unpin", "clerk"]).await;
    assert_eq!(unpinned.code, Some(0), "{}", unpinned.stderr);
    let again = run(&live.project, &["agents", "unpin", "clerk"]).await;
    assert!(again.stderr.contains("there is no agent `clerk`"), "{}", again.stderr);
    live.project.write("config/registry.toml", registry);
    live.until_says("clerk", "two").await;
}

#[tokio::test]
async fn only_what_can_be_served_can_be_pinned() {
    let live =
        Live::serve(|project| project.agent("clerk", "instructions = \"one\"\nmodel = \"stub/scripted-1\"")).await;
    let first = written(&live, "clerk", 1).await[0]["fingerprint"].as_str().expect("a fingerprint").to_owned();
    live.project.write("agents/clerk.toml", file("clerk", "two"));
    live.until_says("clerk", "two").await;
    for (agent, version, says) in
        [("nobody", first.as_str(), "there is no agent `nobody`"), ("clerk", "0123456789abcdef", "has no version")]
    {
        let output = run(&live.project, &["agents", "pin", agent, version]).await;
        assert_eq!(output.code, Some(1));
        assert!(output.stderr.contains(says), "{}", output.stderr);
    }
    live.project.write("config/runtime.toml", "[project]\n[models]\ndefault = \"demo/flash\"\n");
    until("the provider is gone", async || live.entry("clerk").await["models"][0] == "demo/flash").await;
    let output = run(&live.project, &["agents", "pin", "clerk", &first]).await;
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("cannot be served now"), "{}", output.stderr);
    assert_eq!(live.entry("clerk").await["pinned"], Value::Null);
    let live = again(live).await;
    assert_eq!(live.entry("clerk").await["pinned"], Value::Null, "and nothing is left of it");
}

#[tokio::test]
async fn the_history_says_what_changed() {
    let server = mirror().await;
    let project = Project::scripted(&server).agent("clerk", "instructions = \"one\"");
    let roster = Roster::serve(&project).await;
    let live = Live { _server: server, project, roster };
    live.project.write("agents/clerk.toml", format!("{}max_steps = 2\n", file("clerk", "two")));
    live.until_says("clerk", "two").await;
    let entries = written(&live, "clerk", 2).await;
    assert_eq!((&entries[0]["change"], &entries[1]["change"]), (&json!("changed"), &json!("added")));
    assert_eq!(entries[0]["keys"], json!(["instructions", "max_steps"]));
    assert_eq!(entries[0]["run"], entries[1]["run"]);
    live.project.write("config/registry.toml", "[agents]\n");
    until("it is removed", async || live.entry("clerk").await.is_null()).await;
    assert_eq!(written(&live, "clerk", 3).await[0]["change"], "removed");
}

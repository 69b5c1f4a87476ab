//! Hot reload, from outside: files are changed in every way people and tools change them while clients go on asking.

mod config;
mod folders;
mod past;
mod saving;
mod serving;

use std::time::{Duration, Instant};

use roster_testkit::scripted::{Reply, ScriptedServer};
use serde_json::{Value, json};

use crate::http::{ask, get, question};
use crate::project::Project;
use crate::roster::Roster;

/// Machines are busy: a wait that takes longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A runtime whose model answers with the system text it was sent.
struct Live {
    /// Dropped last: it is asked until the end.
    _server: ScriptedServer,
    project: Project,
    roster: Roster,
}

/// A model that answers with its system text.
async fn mirror() -> ScriptedServer {
    let server = ScriptedServer::builder().without_records().start().await;
    server.default_reply(|request| {
        let system = request.messages().iter().find(|message| message["role"] == "system");
        Reply::text(system.and_then(|message| message["content"].as_str()).unwrap_or_default())
    });
    server
}

impl Live {
    /// Serves what `fill` puts into a project.
    async fn serve(fill: impl FnOnce(Project) -> Project) -> Self {
        let server = mirror().await;
        let project = fill(Project::scripted(&server));
        let roster = Roster::serve(&project).await;
        Self { _server: server, project, roster }
    }

    /// What an agent says, if it answers at all.
    async fn says(&self, agent: &str) -> Result<String, String> {
        says(&self.roster.gateway, agent).await
    }

    /// Waits until an agent says this.
    async fn until_says(&self, agent: &str, words: &str) {
        until(&format!("{agent} says {words}"), async || self.says(agent).await.as_deref() == Ok(words)).await;
    }

    /// The operator's view.
    async fn registry(&self) -> Value {
        let (status, registry) = get(&format!("{}/admin/registry", self.roster.studio)).await;
        assert_eq!(status, 200, "{registry}");
        registry
    }

    /// One agent in the operator's view.
    async fn entry(&self, agent: &str) -> Value {
        let registry = self.registry().await;
        let entries = registry["agents"].as_array().expect("agents");
        entries.iter().find(|entry| entry["id"] == agent).cloned().unwrap_or(Value::Null)
    }

    async fn until_state(&self, agent: &str, state: &str) {
        until(&format!("{agent} is {state}"), async || self.entry(agent).await["state"] == state).await;
    }

    /// A counter of `/metrics`, 0 when it was never counted.
    async fn counter(&self, name: &str) -> f64 {
        let (_, text) = get(&format!("{}/metrics", self.roster.gateway)).await;
        let text = text.as_str().unwrap_or_default().to_owned();
        let lines = text.lines().filter_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
        lines.sum()
    }

    /// Reloads told in the log.
    fn reloads(&self) -> usize {
        self.roster.stderr().matches("reloaded generation=").count()
    }
}

/// What an agent says over one of the doors.
async fn says(gateway: &str, agent: &str) -> Result<String, String> {
    let body = json!({"model": agent, "messages": [{"role": "user", "content": "?"}]});
    let (status, answer) = ask(reqwest::Method::POST, &format!("{gateway}/v1/chat/completions"), Some(&body)).await;
    match (status, answer["choices"][0]["message"]["content"].as_str()) {
        (200, Some(text)) => Ok(text.to_owned()),
        _ => Err(format!("{status} {answer}")),
    }
}

/// The same over the chat door.
async fn says_in_frames(gateway: &str, agent: &str) -> Result<String, String> {
    let body = question(agent, "", "?");
    let body = json!({"model": body["model"], "messages": body["messages"]});
    let (status, answer) = ask(reqwest::Method::POST, &format!("{gateway}/api/chat"), Some(&body)).await;
    let text = answer.as_str().unwrap_or_default();
    let frames = text.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
    let frames: Vec<Value> = frames.filter_map(|frame| serde_json::from_str(frame).ok()).collect();
    if status != 200 || frames.iter().any(|frame| frame["type"] == "error") {
        return Err(format!("{status} {answer}"));
    }
    Ok(frames.iter().filter(|frame| frame["type"] == "text").filter_map(|frame| frame["content"].as_str()).collect())
}

/// Waits for a condition.
async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !condition().await {
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        pause(10).await;
    }
}

/// A pause between two steps of what somebody else does.
async fn pause(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

/// An agent's file that says this.
fn file(id: &str, instructions: &str) -> String {
    format!("id = \"{id}\"\ninstructions = \"{instructions}\"\n")
}

//! What was recorded of Mastra, asked again here: what the model is sent and what the routes answer. Where Roster decides
//! otherwise the test says so with `ours:`, and `docs/coming-from-mastra.md` lists it.

mod notes;
mod recall;
mod threads;

use roster_testkit::scripted::{RecordedRequest, Reply, ScriptedServer};
use serde_json::{Value, json};

use crate::http::{chat, get, question};
use crate::project::Project;
use crate::roster::Roster;

/// A runtime with one agent, asked as one owner.
struct Talk {
    server: ScriptedServer,
    project: Project,
    roster: Roster,
}

const AGENT: &str = "it";

impl Talk {
    /// `more`: what the agent's file holds besides its instructions.
    async fn with(more: &str) -> Self {
        let server = ScriptedServer::builder().strict().start().await;
        server.default_reply(recorded_model);
        let project = Project::scripted(&server).agent(AGENT, &format!("instructions = \"You are it.\"\n{more}"));
        let roster = Roster::serve(&project).await;
        Self { server, project, roster }
    }

    /// One turn; gives the answer's words.
    async fn say(&self, owner: &str, thread: &str, text: &str) -> String {
        let mut body = question(AGENT, thread, text);
        body["resource"] = json!(owner);
        let frames = chat(&self.roster, &body).await;
        frames.done();
        frames.text()
    }

    /// A route of the Mastra REST, on the listener that Studio uses.
    async fn get(&self, path: &str) -> Value {
        let (status, body) = get(&format!("{}{path}", self.roster.studio)).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// The prompts of every call of the model since the last look.
    fn prompts(&self) -> Vec<String> {
        let requests = self.server.requests();
        self.server.clear_requests();
        requests.iter().filter(|request| request.inputs().is_empty()).map(prompt).collect()
    }

    fn last_prompt(&self) -> String {
        self.prompts().pop().expect("the model was asked")
    }
}

/// A prompt in short: `s` for its system texts, `u:words`, `a:words`, `a[tool]` for calls, `t` for a tool's result.
fn prompt(request: &RecordedRequest) -> String {
    let mut all: Vec<String> = Vec::new();
    for message in request.messages() {
        let one = match message["role"].as_str().expect("a role") {
            "system" | "developer" => "s".to_owned(),
            "tool" => "t".to_owned(),
            role => {
                let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
                let names: Vec<&str> = calls.iter().filter_map(|call| call["function"]["name"].as_str()).collect();
                let words = message["content"].as_str().unwrap_or_default();
                match names[..] {
                    [] => format!("{}:{words}", &role[..1]),
                    _ => format!("{}[{}]{words}", &role[..1], names.join(",")),
                }
            }
        };
        if one != "s" || all.last().is_none_or(|last| last != "s") {
            all.push(one);
        }
    }
    all.join(" | ")
}

/// The model that was behind the recorded exchanges: it answers `ok(<messages>): <words>`, or calls the tools that are
/// written in the question as `[[tool:name {…}]]`, one after the other.
fn recorded_model(request: &RecordedRequest) -> Reply {
    if !request.inputs().is_empty() {
        return Reply::embeddings_of(request);
    }
    let messages: Vec<&Value> = request.messages().iter().filter(|message| message["role"] != "system").collect();
    let asked = request.last_user_text();
    let mut pieces = asked.split("[[tool:");
    let mut words = pieces.next().unwrap_or_default().to_owned();
    let mut calls = Vec::new();
    for piece in pieces {
        let (call, rest) = piece.split_once("]]").unwrap_or((piece, ""));
        calls.push(call.split_once(' ').unwrap_or((call, "{}")));
        words.push_str(rest);
    }
    let answered = messages.iter().rev().take_while(|message| message["role"] != "user");
    let answered = answered.filter(|message| message["role"] == "tool").count();
    match calls.get(answered) {
        Some((name, arguments)) => Reply::tool_calls([(format!("call_{answered}").as_str(), *name, *arguments)]),
        None => Reply::text(format!("ok({}): {}", messages.len(), words.trim())),
    }
}

/// `q1 a1 … qN` as a prompt, of turns numbered so.
fn window(turns: std::ops::RangeInclusive<usize>, answers: &[String], last: &str) -> String {
    let before = turns.flat_map(|turn| [format!("u:q{turn}"), format!("a:{}", answers[turn - 1])]);
    let all: Vec<String> = ["s".to_owned()].into_iter().chain(before).chain([format!("u:{last}")]).collect();
    all.join(" | ")
}

/// `memory-window-default10`.
#[tokio::test]
async fn recorded_window_of_ten() {
    let talk = Talk::with("memory = \"create_memory\"").await;
    let mut answers = Vec::new();
    for turn in 1..=8_usize {
        answers.push(talk.say("ai-chat", "w-t1", &format!("q{turn}")).await);
        assert_eq!(answers[turn - 1], format!("ok({}): q{turn}", (2 * turn - 1).min(11)));
        let first = turn.saturating_sub(5).max(1);
        assert_eq!(talk.last_prompt(), window(first..=turn - 1, &answers, &format!("q{turn}")), "turn {turn}");
    }
    // The client sends a whole list: only its newest question is new.
    let list = json!([{"role": "user", "content": "n1"}, {"role": "assistant", "content": "n1a"}, {"role": "user", "content": "n2"}]);
    chat(&talk.roster, &json!({"model": AGENT, "conversationId": "w-t1", "messages": list})).await.done();
    assert_eq!(talk.last_prompt(), window(4..=8, &answers, "n2"));
    let stored = talk.get("/api/memory/threads/w-t1/messages?agentId=it&perPage=100").await;
    assert_eq!((&stored["total"], &stored["hasMore"]), (&json!(18), &json!(false)));
    talk.roster.terminate().await;
}

/// `memory-window3-tools`.
#[tokio::test]
async fn recorded_window_of_three_with_tools() {
    let talk = Talk::with("tools = [\"get_time\"]\n[memory]\nfactory = \"create_memory\"\nlast_messages = 3").await;
    assert_eq!(talk.say("ai-chat", "w3", "one [[tool:get_time {}]]").await, "ok(3): one");
    assert_eq!(talk.prompts(), ["s | u:one [[tool:get_time {}]]", "s | u:one [[tool:get_time {}]] | a[get_time] | t"]);
    let two = "two [[tool:get_time {}]][[tool:get_time {\"zone\":\"UTC\"}]]";
    assert_eq!(talk.say("ai-chat", "w3", two).await, "ok(9): two");
    let first = "u:one [[tool:get_time {}]] | a[get_time] | t | a:ok(3): one";
    assert_eq!(
        talk.prompts(),
        [
            format!("s | {first} | u:{two}"),
            format!("s | {first} | u:{two} | a[get_time] | t"),
            format!("s | {first} | u:{two} | a[get_time] | t | a[get_time] | t"),
        ]
    );
    assert_eq!(talk.say("ai-chat", "w3", "three").await, "ok(11): three");
    let window = format!(
        "s | u:. | a[get_time] | t | a:ok(3): one | u:{two} | a[get_time] | t | a[get_time] | t | a:ok(9): two | u:three"
    );
    assert_eq!(talk.last_prompt(), window);
    let stored = talk.get("/api/memory/threads/w3/messages?agentId=it").await;
    let kinds = |message: &Value| {
        let parts = message["content"]["parts"].as_array().expect("parts").iter();
        parts.map(|part| part["type"].as_str().expect("a type").to_owned()).collect::<Vec<_>>().join(",")
    };
    let kinds: Vec<String> = stored["messages"].as_array().expect("messages").iter().map(kinds).collect();
    assert_eq!(
        kinds,
        [
            "text",
            "tool-invocation,step-start,text",
            "text",
            "tool-invocation,step-start,tool-invocation,step-start,text",
            "text",
            "text"
        ]
    );
    talk.roster.terminate().await;
}

/// `memory-nohistory`; ours: what is not fed is stored all the same.
#[tokio::test]
async fn recorded_no_history() {
    let talk = Talk::with("[memory]\nfactory = \"create_memory\"\nlast_messages = false").await;
    assert_eq!(talk.say("ai-chat", "nh", "alpha").await, "ok(1): alpha");
    assert_eq!(talk.say("ai-chat", "nh", "beta").await, "ok(1): beta");
    assert_eq!(talk.prompts(), ["s | u:alpha", "s | u:beta"]);
    let stored = talk.get("/api/memory/threads/nh/messages?agentId=it").await;
    assert_eq!(stored["total"], 4);
    talk.roster.terminate().await;
}

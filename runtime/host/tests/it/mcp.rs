//! MCP servers of a project, through the real binary.

use roster_testkit::scripted::{Reply, ScriptedServer};
use serde_json::{Value, json};

use crate::http::{admin, chat, messages, post, question, until};
use crate::project::Project;
use crate::roster::{Roster, run};

/// A server in `sh` with the tool `work`: it ends in the middle of the first call, and answers the later ones.
const SERVER: &str = r#"
id() { printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p'; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$(id)" "$1"; }
echo "started with ${SECRET_KEY:-nothing} and ${OTHER:-nothing}" >&2
while IFS= read -r line; do case "$line" in
*'"method":"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"works","version":"3"}}';;
*'"method":"tools/list"'*) answer '{"tools":[{"name":"work","description":"Works.","inputSchema":{"type":"object"}}]}';;
*'"method":"tools/call"'*) if [ -e worked ]; then answer '{"content":[{"type":"text","text":"done"}]}'; else : > worked; exit 7; fi;;
esac; done
"#;

const CONFIG: &str = "\n[mcp.servers.shop]\ncommand = [\"sh\", \"./server.sh\"]\nenv = { SECRET_KEY = \"${HUSH}\" }\n";
const AGENT: &str = "instructions = \"x\"\ntools = [\"get_time\", \"mcp:shop/*\"]";

fn add_server(project: &Project) {
    let config = std::fs::read_to_string(project.path("config/runtime.toml")).expect("config");
    project.write("server.sh", SERVER);
    project.write("config/runtime.toml", format!("{config}{CONFIG}"));
}

fn tools(registry: &Value) -> Vec<String> {
    let tools = registry["agents"][0]["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["offered"].as_str().expect("a name").to_owned()).collect()
}

async fn whole(roster: &Roster) {
    until("the tool is offered", async || {
        tools(&admin(roster, "/admin/registry").await).contains(&"shop_work".to_owned())
    })
    .await;
}

fn start(project: &Project) -> tokio::process::Command {
    let args = ["serve", "--gateway", "127.0.0.1:0", "--studio", "127.0.0.1:0"];
    let mut command = crate::roster::command(project.root(), &args);
    command.env("HUSH", "hush-hush-1").env("OTHER", "not for children");
    command
}

#[tokio::test]
async fn a_server_killed_in_mid_call_fails_the_call_and_the_turn_goes_on() {
    let server = ScriptedServer::builder().strict().start().await;
    let project = Project::scripted(&server).agent("user", AGENT);
    add_server(&project);
    let roster = Roster::start(start(&project), 2).await;
    whole(&roster).await;

    server.push(Reply::tool_calls([("call", "shop_work", "{}")]));
    let frames = chat(&roster, &question("user", "c", "go")).await;
    assert_eq!(frames.done()["finishReason"], "stop");
    let result = &frames.of("tool_result").next().expect("a result")["metadata"];
    assert!(result["error"].to_string().contains("went away during the call"), "{result}");
    assert_eq!(frames.text(), "echo: go", "the model was told, and answered");

    // It comes back by itself, and the same agent has its tool again.
    whole(&roster).await;
    server.push(Reply::tool_calls([("call2", "shop_work", "{}")]));
    let frames = chat(&roster, &question("user", "d", "again")).await;
    assert_eq!(frames.of("tool_result").next().expect("a result")["metadata"]["result"], "done");

    let state = &admin(&roster, "/admin/mcp").await["servers"][0];
    assert_eq!((&state["name"], &state["state"], &state["calls"]), (&json!("shop"), &json!("ready"), &json!(2)));
    assert_eq!((&state["errors"], &state["reconnects"]), (&json!(1), &json!(1)), "{state}");
    let output = roster.terminate().await;
    assert_eq!(output.code, Some(0));
    assert!(output.stderr.contains("started with ***** and nothing"), "{}", output.stderr);
    assert!(!output.stderr.contains("hush-hush-1"));
}

#[tokio::test]
async fn servers_are_taken_up_and_let_go_while_running() {
    let server = ScriptedServer::start().await;
    let project = Project::scripted(&server).agent("user", AGENT);
    let roster = Roster::start(start(&project), 2).await;
    let registry = admin(&roster, "/admin/registry").await;
    assert_eq!(registry["agents"][0]["state"], "rejected");
    assert_eq!(registry["agents"][0]["problems"][0]["code"], "unknown_server");

    let before = std::fs::read_to_string(project.path("config/runtime.toml")).expect("config");
    add_server(&project);
    whole(&roster).await;
    assert_eq!(tools(&admin(&roster, "/admin/registry").await), ["get_time", "shop_work"]);

    project.write("config/runtime.toml", format!("{before}{CONFIG}enabled = false\n"));
    until("it serves without", async || {
        let registry = admin(&roster, "/admin/registry").await;
        tools(&registry) == ["get_time"] && registry["agents"][0]["problems"][0]["code"] == "server_absent"
    })
    .await;
    roster.terminate().await;
}

#[tokio::test]
async fn chat_in_the_terminal_waits_for_the_servers_of_its_agent() {
    let server = ScriptedServer::start().await;
    let project = Project::scripted(&server).agent("user", AGENT);
    add_server(&project);
    project.write("worked", "");
    server.push(Reply::tool_calls([("call", "shop_work", "{}")]));
    let mut command = crate::roster::command(project.root(), &["chat", "user", "go"]);
    command.env("HUSH", "hush-hush-1");
    let output = crate::roster::finish(command).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(server.requests()[1].messages().last().expect("a result")["content"], "done");
}

#[tokio::test]
async fn check_starts_nothing() {
    let project = Project::new().agent("user", AGENT);
    add_server(&project);
    project.write("server.sh", "echo started > started");
    let config = std::fs::read_to_string(project.path("config/runtime.toml")).expect("config");
    project.write("config/runtime.toml", config.replace("${HUSH}", "x"));
    let output = run(&project, &["check"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stdout);
    assert!(output.stdout.contains("literal_secret"), "{}", output.stdout);
    assert!(!project.path("started").exists());
}

/// The newest result that the model was told.
fn told(server: &ScriptedServer) -> String {
    let requests = server.requests();
    let messages = requests.last().expect("a request").messages();
    let result = messages.iter().rev().find(|message| message["role"] == "tool").expect("a result");
    result["content"].as_str().expect("words").to_owned()
}

#[tokio::test]
async fn a_large_result_is_stored_whole_and_fed_up_to_the_limit() {
    let server = ScriptedServer::builder().strict().start().await;
    let project = Project::scripted(&server).agent("user", &format!("memory = \"create_memory\"\n{AGENT}"));
    add_server(&project);
    project.write("worked", "");
    project.write("server.sh", SERVER.replace("\"done\"", "\"'\"$(cat large.txt)\"'\""));
    let large = "北京 says hello. ".repeat(1 << 16);
    project.write("large.txt", &large);
    let roster = Roster::start(start(&project), 2).await;
    whole(&roster).await;

    server.push(Reply::tool_calls([("call", "shop_work", "{}")]));
    let frames = chat(&roster, &question("user", "c", "go")).await;
    let large = large.trim_end();
    let result = |value: &Value| value.as_str().expect("words").trim_end().to_owned();
    let told_the_client = &frames.of("tool_result").next().expect("a result")["metadata"]["result"];
    assert_eq!(result(told_the_client), large);
    assert_eq!(result(&messages(&roster, "c").await[1]["toolCalls"][0]["result"]), large, "stored whole");
    let fed = told(&server);
    assert!(fed.len() <= 64 * 1024 && fed.len() > 63 * 1024, "{}", fed.len());
    assert!(fed.starts_with("北京 says") && fed.trim_end().ends_with("hello."), "{fed}");
    assert!(fed.contains("is too long to be shown whole") && fed.contains("The whole is stored."), "{fed}");

    let config = std::fs::read_to_string(project.path("config/runtime.toml")).expect("config");
    project.write("config/runtime.toml", format!("{config}[limits]\ntool_result = \"8KiB\"\n"));
    let (status, _) = post(&format!("{}/admin/reload", roster.studio), &json!({})).await;
    assert_eq!(status, 200);
    chat(&roster, &question("user", "c", "and now?")).await;
    assert!(told(&server).len() <= 8 * 1024, "the limit changed while serving: {}", told(&server).len());
    assert_eq!(result(&messages(&roster, "c").await[1]["toolCalls"][0]["result"]), large);

    // Records are written after the turn.
    until("it is told what was cut", async || {
        let mut why = crate::roster::command(project.root(), &["why", "c"]);
        why.env("HUSH", "hush-hush-1");
        let why = crate::roster::finish(why).await.stdout;
        why.contains("result of shop_work: 8") && why.contains("bytes, cut by `tool_result`")
    })
    .await;
    roster.terminate().await;
}

//! The door `/mcp`: agents as tools, through the real binary.

use reqwest::{Client, RequestBuilder};
use roster_testkit::scripted::{Gate, Reply, ScriptedServer};
use serde_json::{Value, json};

use crate::http::{admin, chat, get, question, until};
use crate::project::Project;
use crate::roster::{Roster, run};

const OPEN: &str = "[gateway.mcp]\nagents = [\"keeper\"]\n";

fn offering(server: &ScriptedServer, more: &str) -> Project {
    let project = Project::scripted(server).keeper().plain();
    let config = std::fs::read_to_string(project.path("config/runtime.toml")).expect("config");
    project.write("config/runtime.toml", format!("{config}{more}"));
    project
}

#[tokio::test]
async fn an_agent_that_is_offered_and_not_registered_is_warned_of_at_its_place() {
    let server = ScriptedServer::start().await;
    let project = offering(&server, "[gateway.mcp]\nagents = [\"keeper\", \"kepper\", \"zzz\"]\n");
    let checked = run(&project, &["check", "--format", "json"]).await;
    assert_eq!(checked.code, Some(0), "a warning: {}", checked.stdout);
    let told: Value = serde_json::from_str(&checked.stdout).expect("JSON");
    let problems = told.as_array().expect("problems");
    let of: Vec<(&str, &str)> = problems
        .iter()
        .filter(|problem| problem["code"] == "unknown_agent")
        .map(|problem| (problem["message"].as_str().expect("words"), problem["help"].as_str().expect("help")))
        .collect();
    assert_eq!(of.len(), 2, "{told}");
    assert!(of[0].0.contains("`kepper`") && of[0].1 == "did you mean `keeper`?", "{of:?}");
    assert!(of[1].0.contains("`zzz`"), "{of:?}");
    assert!(problems.iter().all(|problem| problem["line"].as_u64().is_some_and(|line| line > 5)), "{told}");

    let roster = Roster::serve(&project).await;
    assert!(roster.stderr().contains("`gateway.mcp.agents` names `kepper`"), "{}", roster.stderr());
    project.write("agents/zzz.toml", "id = \"zzz\"\ninstructions = \"x\"\n");
    project.register("zzz", "zzz.toml");
    until("it is registered", async || {
        admin(&roster, "/admin/registry").await["agents"].as_array().is_some_and(|agents| agents.len() == 3)
    })
    .await;
    let again = run(&project, &["check"]).await;
    assert!(!again.stdout.contains("`zzz`, which") && again.stdout.contains("`kepper`"), "{}", again.stdout);
    roster.terminate().await;
}

/// A session of the protocol, spoken by hand.
struct Session {
    client: Client,
    url: String,
    id: String,
    token: Option<&'static str>,
}

fn client() -> Client {
    drop(rustls::crypto::ring::default_provider().install_default());
    Client::builder().no_proxy().build().expect("client")
}

fn ask(client: &Client, url: &str, token: Option<&str>, body: &Value) -> RequestBuilder {
    let request = client.post(url).header("accept", "application/json, text/event-stream").json(body);
    token.into_iter().fold(request, |request, token| request.bearer_auth(token))
}

/// The answer among what came: JSON, or the last message of a stream.
async fn answer(response: reqwest::Response) -> Value {
    let text = response.text().await.expect("a body");
    let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).rfind(|data| data.starts_with('{'));
    serde_json::from_str(data.unwrap_or(&text)).unwrap_or_else(|error| panic!("{error}: {text}"))
}

impl Session {
    async fn begin(roster: &Roster, token: Option<&'static str>) -> Self {
        let (client, url) = (client(), format!("{}/mcp", roster.gateway));
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
        let response = ask(&client, &url, token, &hello).send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        let id = response.headers()["mcp-session-id"].to_str().expect("an id").to_owned();
        let hello = answer(response).await;
        assert_eq!(hello["result"]["serverInfo"]["name"], "roster", "{hello}");
        assert_eq!(hello["result"]["capabilities"]["tools"]["listChanged"], true);
        let session = Self { client, url, id, token };
        let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.post(&begun).await.status(), 202);
        session
    }

    async fn post(&self, body: &Value) -> reqwest::Response {
        let request = ask(&self.client, &self.url, self.token, body).header("mcp-session-id", &self.id);
        request.send().await.expect("an answer")
    }

    async fn tools(&self) -> Vec<String> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        let listed = answer(self.post(&body).await).await;
        let tools = listed["result"]["tools"].as_array().expect("tools");
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    async fn call(&self, id: u32, arguments: &Value) -> Value {
        answer(self.post(&call(id, arguments)).await).await
    }
}

fn call(id: u32, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "keeper", "arguments": arguments}})
}

#[tokio::test]
async fn agents_of_the_allow_list_are_tools_with_their_own_memory() {
    let server = ScriptedServer::start().await;
    let project = offering(&server, OPEN);
    let roster = Roster::serve(&project).await;
    let session = Session::begin(&roster, None).await;
    assert_eq!(session.tools().await, ["keeper"], "the other agent is not offered");

    let first = session.call(2, &json!({"prompt": "Hello!"})).await["result"].clone();
    assert_eq!(first["structuredContent"]["answer"], "echo: Hello!", "{first}");
    assert_eq!(first["content"][0]["text"], "echo: Hello!");
    let thread = first["structuredContent"]["conversation_id"].as_str().expect("a conversation").to_owned();
    session.call(3, &json!({"prompt": "Again.", "conversation_id": thread})).await;
    let (_, stored) = get(&format!("{}/api/conversations/{thread}/messages", roster.gateway)).await;
    assert_eq!(stored["messages"].as_array().map(Vec::len), Some(4), "{stored}");

    for (arguments, words) in [
        (json!({}), "`prompt` is missing"),
        (json!({"prompt": ""}), "`prompt` is empty"),
        (json!({"prompt": 5}), "must be a string"),
        (json!({"prompt": "x", "more": 1}), "unknown argument `more`"),
    ] {
        let refused = session.call(4, &arguments).await["result"].clone();
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(refused["content"][0]["text"].as_str().expect("words").contains(words), "{refused}");
    }
    let misshapen = answer(session.post(&call(6, &json!([]))).await).await;
    assert_eq!(misshapen["error"]["code"], -32602, "{misshapen}");
    for (body, code) in
        [("{", -32700), ("", -32700), ("[]", -32600), ("{}", -32600), ("[{\"jsonrpc\":\"2.0\"}]", -32600)]
    {
        let request = ask(&session.client, &session.url, None, &json!({})).header("mcp-session-id", &session.id);
        let response = request.body(body).send().await.expect("an answer");
        assert_eq!(response.status(), 400, "{body}");
        assert_eq!(answer(response).await["error"]["code"], code, "{body}");
    }
    let unknown = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
        "params": {"name": "plain", "arguments": {"prompt": "x"}}});
    assert_eq!(answer(session.post(&unknown).await).await["error"]["code"], -32602);
    roster.terminate().await;
}

#[tokio::test]
async fn a_cancelled_call_ends_its_turn() {
    let server = ScriptedServer::start().await;
    let project = offering(&server, OPEN);
    let roster = Roster::serve(&project).await;
    let session = Session::begin(&roster, None).await;
    let gate = Gate::new();
    server.push(Reply::text("never heard").hold(&gate));
    let waiting = call(7, &json!({"prompt": "wait", "conversation_id": "slow"}));
    let running = session.post(&waiting);
    let cancel = async {
        server.wait_for_requests(1).await;
        let body = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
        assert_eq!(session.post(&body).await.status(), 202);
        until("the turn ended", async || {
            let url = format!("{}/api/conversations/slow/messages", roster.gateway);
            let (_, stored) = get(&url).await;
            let (_, metrics) = get(&format!("{}/metrics", roster.gateway)).await;
            stored["messages"].as_array().is_some_and(|messages| messages.len() == 1)
                && metrics.to_string().contains("outcome=\\\"interrupted\\\"")
        })
        .await;
    };
    // What answers a cancelled call, if anything, does not matter.
    let running = async {
        drop(running.await);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = running => {}
        () = cancel => {}
    }
    gate.open();
    roster.terminate().await;
}

#[tokio::test]
async fn the_door_is_closed_to_nobodys_agents_foreign_pages_and_other_peoples_sessions() {
    let server = ScriptedServer::start().await;
    let project = offering(&server, "");
    let roster = Roster::serve(&project).await;
    let (status, closed) = get(&format!("{}/mcp", roster.gateway)).await;
    assert_eq!((status, &closed["code"]), (404, &json!("mcp_closed")));
    roster.terminate().await;

    let tokens = "[auth]\nmode = \"token\"\n\
        [[auth.tokens]]\nenv = \"ADA\"\nsubject = \"ada\"\n[[auth.tokens]]\nenv = \"BOB\"\nsubject = \"bob\"\n";
    let project = offering(&server, &format!("{OPEN}{tokens}"));
    let args = ["serve", "--gateway", "127.0.0.1:0", "--studio", "127.0.0.1:0"];
    let mut command = crate::roster::command(project.root(), &args);
    command.env("ADA", "token-of-ada").env("BOB", "token-of-bob");
    let roster = Roster::start(command, 2).await;
    let url = format!("{}/mcp", roster.gateway);
    assert_eq!(ask(&client(), &url, None, &json!({})).send().await.expect("an answer").status(), 401);
    let mut session = Session::begin(&roster, Some("token-of-ada")).await;
    assert_eq!(session.tools().await, ["keeper"]);
    session.token = Some("token-of-bob");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(session.post(&body).await.status(), 404, "it is not Bob's");

    let own = Session::begin(&roster, Some("token-of-bob")).await;
    session.token = Some("token-of-ada");
    for _ in 0..64 {
        Session::begin(&roster, Some("token-of-ada")).await;
    }
    assert_eq!(session.post(&body).await.status(), 404, "Ada's oldest has ended");
    assert_eq!(own.tools().await, ["keeper"], "Bob's is left alone");

    let ada = Session::begin(&roster, Some("token-of-ada")).await;
    ada.call(7, &json!({"prompt": "the locker word is ORCHID", "conversation_id": "c"})).await;
    server.clear_requests();
    let crossed = own.call(8, &json!({"prompt": "what is it?", "conversation_id": "c"})).await;
    assert_eq!(crossed["result"]["structuredContent"]["answer"], "echo: what is it?", "{crossed}");
    let told = format!("{:?}", server.requests()[0].messages());
    assert!(!told.contains("ORCHID"), "an id of Ada's is a conversation of Bob's own: {told}");

    let page = session.client.get(&url).bearer_auth("token-of-ada").header("mcp-session-id", &session.id);
    let page = page.header("accept", "text/event-stream").header("origin", "https://evil.example");
    assert_eq!(page.send().await.expect("an answer").status(), 403, "a foreign page may not listen");
    roster.terminate().await;
}

#[tokio::test]
async fn the_agents_of_one_runtime_are_tools_of_another() {
    let server = ScriptedServer::start().await;
    let offering = offering(&server, OPEN);
    let other = Roster::serve(&offering).await;
    let project = Project::scripted(&server).agent("user", "instructions = \"x\"\ntools = [\"mcp:other/keeper\"]");
    let config = std::fs::read_to_string(project.path("config/runtime.toml")).expect("config");
    let more = format!("[mcp.servers.other]\nurl = \"{}/mcp\"\n", other.gateway);
    project.write("config/runtime.toml", format!("{config}{more}"));
    let roster = Roster::serve(&project).await;
    until("the tool is offered", async || {
        admin(&roster, "/admin/mcp").await["servers"][0]["tools"] == 1
            && admin(&roster, "/admin/registry").await["agents"][0]["tools"][0]["offered"] == "other_keeper"
    })
    .await;
    server.push(Reply::tool_calls([("call", "other_keeper", r#"{"prompt":"Hello, you!"}"#)]));
    let frames = chat(&roster, &question("user", "c", "ask them")).await;
    let result = &frames.of("tool_result").next().expect("a result")["metadata"]["result"];
    assert_eq!(result["answer"], "echo: Hello, you!", "{result}");
    // Nobody answers any more: the tool goes, the agent stays.
    other.kill().await;
    server.push(Reply::tool_calls([("call2", "other_keeper", r#"{"prompt":"Still there?"}"#)]));
    let frames = chat(&roster, &question("user", "d", "ask again")).await;
    let error = &frames.of("tool_result").next().expect("a result")["metadata"]["error"];
    assert!(error.to_string().contains("`other`"), "{error}");
    until("the agent serves without", async || {
        admin(&roster, "/admin/registry").await["agents"][0]["problems"][0]["code"] == "server_absent"
    })
    .await;
    roster.terminate().await;
}

//! Definitions as people's editors leave them.

use roster_testkit::scripted::ScriptedServer;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::http::{chat, get, post, question};
use crate::project::Project;
use crate::roster::{Roster, run};

/// What the model was sent as system text by a turn with this agent.
async fn system_text(server: &ScriptedServer, roster: &Roster, agent: &str) -> String {
    server.clear_requests();
    chat(roster, &question(agent, agent, "hi")).await.done();
    let requests = server.requests();
    let system = &requests[0].messages()[0];
    assert_eq!(system["role"], "system");
    system["content"].as_str().expect("text").to_owned()
}

/// TO-d3.
#[tokio::test]
async fn line_ends_and_a_leading_mark_do_not_change_what_the_model_is_told() {
    let server = ScriptedServer::start().await;
    let project = Project::scripted(&server);
    let text = |id: &str| format!("id = \"{id}\"\ninstructions = \"\"\"\none\ntwo \\\n   three\n漢字\"\"\"\n");
    project.write("agents/lf.toml", text("lf"));
    project.write("agents/crlf.toml", text("crlf").replace('\n', "\r\n"));
    project.write("agents/mark.toml", format!("\u{feff}{}", text("mark")));
    let utf16: Vec<u8> = text("utf16").encode_utf16().flat_map(u16::to_le_bytes).collect();
    project.write("agents/utf16.toml", [&[0xff, 0xfe][..], &utf16].concat());
    project.write("agents/inside.toml", text("inside").replace("two", "\u{feff}two"));
    for id in ["lf", "crlf", "mark", "utf16", "inside"] {
        project.register(id, &format!("{id}.toml"));
    }
    let roster = Roster::serve(&project).await;
    for id in ["lf", "crlf", "mark"] {
        assert_eq!(system_text(&server, &roster, id).await, "one\ntwo three\n漢字", "{id}");
    }
    roster.terminate().await;
    let output = run(&project, &["check", "--format", "json"]).await;
    let problems: Vec<Value> = serde_json::from_str(&output.stdout).expect("JSON");
    let of = |file: &str| {
        problems.iter().find(|problem| problem["file"] == file).unwrap_or_else(|| panic!("{file}: {problems:?}"))
    };
    assert!(of("agents/utf16.toml")["message"].as_str().is_some_and(|text| text.contains("UTF-16")), "{problems:?}");
    let inside = of("agents/inside.toml");
    assert!(inside["message"].as_str().is_some_and(|text| text.contains("byte order mark")), "{inside}");
    assert_eq!(inside["line"], 4);
}

/// TO-d4.
#[tokio::test]
async fn instructions_reach_the_model_byte_for_byte() {
    let words = format!(
        "match `\\d+\\s*kg`\nC:\\tools\\new\n{{\"grade\":\"A\"}}\n${{expression}} $HOME $$ $${{x}}\n{{{{ user }}}} {{x}} %s\n\ta tab\n{}\n漢字 😀",
        "l".repeat(5000)
    );
    let long = "0123456789abcde\n".repeat(131_072);
    let server = ScriptedServer::start().await;
    let basic = toml_edit::Value::from(words.as_str()).to_string();
    let project = Project::scripted(&server)
        .agent("literal", &format!("instructions = '''\n{words}'''"))
        .agent("basic", &format!("instructions = {}", basic.trim()))
        .agent("long", &format!("instructions = '''\n{long}'''"))
        .agent("file", "instructions_file = \"file.md\"");
    project.write("agents/file.md", &words);
    let roster = Roster::serve(&project).await;
    for id in ["literal", "basic", "file"] {
        assert_eq!(system_text(&server, &roster, id).await, words, "{id}");
    }
    let sent = system_text(&server, &roster, "long").await;
    assert_eq!(Sha256::digest(sent.as_bytes()), Sha256::digest(long.as_bytes()));
    roster.terminate().await;
}

/// TO-d5.
#[tokio::test]
async fn a_bad_file_stops_only_its_own_agent() {
    let project = Project::new()
        .agent("good", "instructions = \"x\"")
        .agent("wordless", "name = \"x\"")
        .agent("text-tools", "instructions = \"x\"\ntools = \"scale\"")
        .agent("merged", "<<<<<<< ours\ninstructions = \"x\"\n=======\ninstructions = \"y\"\n>>>>>>> theirs")
        .agent("lonely", "instructions = \"x\"\nagents = [\"nobody\"]");
    std::fs::create_dir(project.path("agents/folder.toml")).expect("folder");
    project.register("folder", "folder.toml");
    let roster = Roster::serve(&project).await;
    assert!(!chat(&roster, &question("good", "c", "hi")).await.text().is_empty());
    let (_, models) = get(&format!("{}/api/models", roster.gateway)).await;
    assert_eq!(models.as_array().map(Vec::len), Some(1), "{models}");
    let (_, registry) = get(&format!("{}/admin/registry", roster.studio)).await;
    for id in ["wordless", "text-tools", "merged", "lonely", "folder"] {
        let agents = registry["agents"].as_array().expect("agents");
        let listed = agents.iter().find(|agent| agent["id"] == id).expect("listed");
        assert_eq!(listed["state"], "rejected", "{listed}");
        // What cannot be read at all is shown at its line of the registry.
        let file = if id == "folder" { "config/registry.toml".to_owned() } else { format!("agents/{id}.toml") };
        assert_eq!(listed["problems"][0]["file"], file, "{listed}");
        assert!(!listed["problems"][0]["message"].as_str().expect("a reason").is_empty());
        let (status, body) = post(&format!("{}/api/chat", roster.gateway), &question(id, "c", "hi")).await;
        assert_eq!((status, &body["code"]), (503, &json!("agent_rejected")), "{body}");
        let text = body["error"].as_str().expect("a message");
        assert!(text.contains(id) && !text.contains("agents/"), "no path of ours: {text}");
    }
    roster.terminate().await;

    project.write("agents/text-tools.toml", "id = \"text-tools\"\ninstructions = \"x\"\ntools = [\"get_time\"]\n");
    let roster = Roster::serve(&project).await;
    assert!(!chat(&roster, &question("text-tools", "c", "hi")).await.text().is_empty(), "repaired");
    roster.terminate().await;
}

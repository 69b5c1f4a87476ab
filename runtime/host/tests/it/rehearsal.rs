//! `roster test`: record once, replay without anybody to ask.

use std::fs;
use std::path::Path;

use roster_testkit::scripted::{Reply, ScriptedServer};
use serde_json::Value;

use crate::project::Project;
use crate::roster::{command, finish, run};

const AGENT: &str = "instructions = \"Be brief.\"\ntools = [\"get_time\"]\nmemory = \"create_memory\"";
const TEST: &str = r#"
[[tools]]
name = "get_time"
result = "noon"

[[tests]]
name = "tells the time"
[[tests.turns]]
say = "What time is it?"
calls = [{ tool = "get_time", arguments = { zone = "UTC" } }]
contains = ["noon"]
max_model_calls = 2
max_tokens = 100
[[tests.turns]]
say = "Thank you."
calls = []
"#;

fn script(server: &ScriptedServer) {
    server.push(Reply::tool_calls([("a", "get_time", r#"{"zone":"UTC"}"#)]));
    server.push(Reply::text("It is noon.").usage(20, 5));
    server.push(Reply::text("You are welcome."));
}

fn project(server: &ScriptedServer) -> Project {
    let project = Project::scripted(server).agent("keeper", AGENT);
    project.write("agents/keeper.test.toml", TEST);
    project
}

#[tokio::test]
async fn what_was_recorded_is_answered_without_a_provider_until_the_request_is_another() {
    let server = ScriptedServer::builder().strict().start().await;
    let project = project(&server);
    let before = run(&project, &["test"]).await;
    assert_eq!(before.code, Some(1));
    assert!(before.stdout.contains("no answer is recorded"), "{}", before.stdout);
    assert!(before.stdout.contains("roster test --record agents/keeper.test.toml"), "{}", before.stdout);
    assert!(server.requests().is_empty(), "nobody is asked");

    script(&server);
    let recorded = run(&project, &["test", "--record", "keeper"]).await;
    assert_eq!(recorded.code, Some(0), "{}{}", recorded.stdout, recorded.stderr);
    assert!(recorded.stdout.contains("recorded 3 answers in keeper.cassette.json"), "{}", recorded.stdout);
    assert_eq!(server.requests().len(), 3);
    drop(server);

    let replayed = run(&project, &["test", "agents/keeper.test.toml"]).await;
    assert_eq!((replayed.code, replayed.stderr.as_str()), (Some(0), ""), "{}", replayed.stdout);
    assert!(replayed.stdout.contains("1 passed, 0 failed"), "{}", replayed.stdout);
    assert!(!project.database().exists(), "nothing is stored");

    project.write("agents/keeper.toml", format!("id = \"keeper\"\n{}", AGENT.replace("brief", "kind")));
    let changed = run(&project, &["test", "--format", "json"]).await;
    assert_eq!(changed.code, Some(1), "{}", changed.stdout);
    let told: Value = serde_json::from_str(&changed.stdout).expect("JSON");
    assert_eq!((&told["passed"], &told["failed"]), (&0.into(), &1.into()));
    let fault = &told["files"][0]["tests"][0]["faults"][0];
    assert!(fault["what"].as_str().is_some_and(|what| what.contains("messages[0].system")), "{told}");
    assert_eq!((&fault["expected"], &fault["got"]), (&"Be brief.".into(), &"Be kind.".into()));
}

#[tokio::test]
async fn a_provider_that_fails_leaves_the_cassette_as_it_was() {
    let server = ScriptedServer::start().await;
    let project = project(&server);
    project.write("agents/keeper.cassette.json", "{\"cassette\": 1, \"exchanges\": []}\n");
    server.push(Reply::tool_calls([("a", "get_time", r#"{"zone":"UTC"}"#)]));
    server.push(Reply::error(401, "auth", None, "no"));
    let output = run(&project, &["test", "--record"]).await;
    assert_eq!(output.code, Some(1), "{}", output.stdout);
    assert!(output.stdout.contains("the provider failed, so nothing is recorded"), "{}", output.stdout);
    let kept = fs::read_to_string(project.path("agents/keeper.cassette.json")).expect("still there");
    assert_eq!(kept, "{\"cassette\": 1, \"exchanges\": []}\n");
}

/// A list of models, and a turn that is to fail: what the provider refused is played again.
#[tokio::test]
async fn a_failure_that_is_expected_is_recorded_and_replayed() {
    let server = ScriptedServer::builder().strict().start().await;
    let models = "model = [\"stub/first\", \"stub/second\"]\ninstructions = \"Be brief.\"";
    let project = Project::scripted(&server).agent("keeper", models);
    let test = "[[tests]]\nname = \"the second answers\"\n[[tests.turns]]\nsay = \"Hello?\"\ncontains = [\"here\"]\n\
        [[tests]]\nname = \"nobody answers\"\n[[tests.turns]]\nsay = \"Hello?\"\nfinish = \"error\"\n";
    project.write("agents/keeper.test.toml", test);
    let refused = || Reply::error(401, "auth", None, "no such key");
    server.push(refused());
    server.push(Reply::text("I am here."));
    server.push(refused());
    server.push(refused());
    let recorded = run(&project, &["test", "--record"]).await;
    assert_eq!(recorded.code, Some(0), "{}{}", recorded.stdout, recorded.stderr);
    assert!(recorded.stdout.contains("recorded 4 answers"), "{}", recorded.stdout);
    drop(server);
    let replayed = run(&project, &["test"]).await;
    assert_eq!(replayed.code, Some(0), "{}{}", replayed.stdout, replayed.stderr);
    assert!(replayed.stdout.contains("2 passed, 0 failed"), "{}", replayed.stdout);

    project.write("agents/keeper.test.toml", test.replace("\"error\"", "\"stop\""));
    let other = run(&project, &["test"]).await;
    assert_eq!(other.code, Some(1));
    assert!(other.stdout.contains("the turn failed (provider_auth)"), "{}", other.stdout);
}

#[tokio::test]
async fn what_cannot_be_played_says_why() {
    let project = Project::new().keeper();
    let none = run(&project, &["test"]).await;
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("no test in `agents/`"), "{}", none.stderr);
    for (what, told) in
        [("keeper", "no test of agent `keeper`"), ("a/x.test.toml", "does not exist"), ("x.toml", "is no test file")]
    {
        let output = run(&project, &["test", what]).await;
        assert_eq!(output.code, Some(2));
        assert!(output.stderr.contains(told), "{}", output.stderr);
    }
    let test = |more: &str| format!("{more}[[tests]]\nname = \"a\"\n[[tests.turns]]\nsay = \"hi\"\n");
    project.write("agents/bad.test.toml", "tests = 3\n");
    project.write("agents/nobody.test.toml", test(""));
    project.write("agents/stub.test.toml", test("agent = \"keeper\"\n[[tools]]\nname = \"pay\"\nresult = 1\n"));
    let output = run(&project, &["test"]).await;
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    for told in ["line 1", "unknown agent `nobody`", "[[tools]] names `pay`", "1 passed, 3 failed"] {
        assert!(output.stdout.contains(told), "no {told} in {}", output.stdout);
    }
    let check = run(&project, &["check", "--strict"]).await;
    assert_eq!(check.code, Some(0), "test files are no agents: {}", check.stdout);
}

/// The tests shipped with the sample agents.
#[tokio::test]
async fn the_samples_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = finish(command(&root, &["test"])).await;
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
}

//! Commands that look at files: `check`, `new agent`, `agents`, `schema`, `doctor`.

use serde_json::{Value, json};

use crate::http::{admin, chat, get, question};
use crate::project::Project;
use crate::roster::{Roster, command, finish, run};

/// Ten agents, each broken in a way of its own, and a good one.
fn ten_ways() -> Project {
    let project = Project::new().keeper();
    let words = "instructions = \"x\"\n";
    project.write("agents/syntax.toml", "id = \"syntax\"\ninstructions = \"x\n");
    project.write("agents/type.toml", format!("id = \"type\"\n{words}max_steps = \"three\"\n"));
    project.write("agents/key.toml", format!("id = \"key\"\n{words}tolls = [\"get_time\"]\n"));
    project.write("agents/id.toml", format!("id = \"other\"\n{words}"));
    project.write("agents/model.toml", format!("id = \"model\"\n{words}model = \"nobody/x\"\n"));
    project.write("agents/tool.toml", format!("id = \"tool\"\n{words}tools = [\"get_tiem\"]\n"));
    project.write("agents/factory.toml", format!("id = \"factory\"\n{words}memory = \"create_memroy\"\n"));
    project.write("agents/utf8.toml", b"id = \"utf8\"\ninstructions = \"\xff\xfe\"\n");
    for id in ["syntax", "type", "key", "id", "missing", "model", "tool", "factory", "utf8", "keeper"] {
        project.register(id, &format!("{id}.toml"));
    }
    project
}

#[tokio::test]
async fn ten_broken_ways_are_shown_at_once_with_their_places() {
    let project = ten_ways();
    let output = run(&project, &["check", "--format", "json"]).await;
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    let problems: Vec<Value> = serde_json::from_str(&output.stdout).expect("JSON");
    let place = |problem: &Value| {
        let number = |key: &str| problem[key].as_u64().unwrap_or(0);
        (problem["file"].as_str().expect("file").to_owned(), number("line"), number("column"))
    };
    let places: Vec<_> = problems.iter().filter(|problem| problem["severity"] == "error").map(place).collect();
    for (file, line, column) in [
        ("agents/syntax.toml", 2, 16),
        ("agents/type.toml", 3, 13),
        ("agents/key.toml", 3, 1),
        ("agents/id.toml", 1, 6),
        ("agents/model.toml", 3, 9),
        ("agents/tool.toml", 3, 10),
        ("agents/factory.toml", 3, 10),
        ("agents/utf8.toml", 2, 17),
    ] {
        assert!(places.contains(&(file.to_owned(), line, column)), "{file}:{line}:{column} not in {problems:#?}");
    }
    assert!(
        places.iter().any(|(file, line, _)| file == "config/registry.toml" && *line == 12),
        "the second line of keeper: {problems:#?}"
    );
    let missing = problems.iter().find(|problem| problem["agent"] == "missing").expect("the missing file");
    assert!(missing["message"].as_str().is_some_and(|text| text.contains("missing.toml")), "{missing}");
    assert_eq!(places.len(), 10, "{problems:#?}");

    let text = run(&project, &["check"]).await;
    assert_eq!(text.code, Some(1));
    for help in ["did you mean `tools`", "did you mean `get_time`", "did you mean `create_memory`"] {
        assert!(text.stdout.contains(help), "no {help} in:\n{}", text.stdout);
    }
    assert!(text.stdout.contains("10 errors"), "{}", text.stdout);
    assert!(!project.path(".temp").exists(), "checking opens no store");

    let roster = Roster::serve(&project).await;
    assert!(chat(&roster, &question("keeper", "c", "hi")).await.text().len() > 1, "the good one serves");
    assert!(roster.stderr().contains("agents/key.toml:3:1"), "{}", roster.stderr());
    roster.terminate().await;
}

/// One pass is enough to mend a file: names are looked up beside the errors of its form, and nothing is blamed twice.
#[tokio::test]
async fn names_are_checked_in_files_that_have_other_errors_too() {
    let project = Project::new().keeper();
    let lines = [
        "id = \"mixed\"",
        "instructions = \"x\"",
        "max_steps = \"three\"",
        "model = \"nobody/x\"",
        "tools = [\"get_tiem\", \"get_time\", 7, \"get_wether\"]",
        "agents = [\"Not Legal\", \"keepr\"]",
        "[memory]",
        "factory = \"create_memroy\"",
        "last_messages = -1",
        "[tool_settings.get_time]",
        "approval = \"always\"",
        "[orchestration]",
        "pattern = \"parallel\"",
        "stages = [{ role = \"a\" }, { role = \"b\", agent = \"keepr\" }]",
    ];
    project.write("agents/mixed.toml", lines.join("\n"));
    project.write("agents/other.toml", "id = \"another\"\ninstructions = \"x\"\ntools = [\"get_tiem\"]\n");
    for id in ["mixed", "other"] {
        project.register(id, &format!("{id}.toml"));
    }
    let output = run(&project, &["check", "--format", "json"]).await;
    let problems: Vec<Value> = serde_json::from_str(&output.stdout).expect("JSON");
    let of = |file: &str| -> Vec<(u64, u64, String)> {
        let errors = problems.iter().filter(|problem| problem["file"] == file);
        let place = |problem: &Value, key: &str| problem[key].as_u64().unwrap_or(0);
        errors
            .map(|one| (place(one, "line"), place(one, "column"), one["code"].as_str().expect("code").to_owned()))
            .collect()
    };
    let found = of("agents/mixed.toml");
    let at = |line, column, code: &str| {
        assert!(found.contains(&(line, column, code.to_owned())), "{line}:{column} {code} not in {found:#?}");
    };
    at(3, 13, "wrong_type");
    at(4, 9, "unknown_provider");
    at(5, 10, "unknown_tool");
    at(5, 34, "wrong_type");
    at(5, 37, "unknown_tool");
    at(6, 11, "bad_id");
    at(6, 24, "unknown_agent");
    at(8, 11, "unknown_factory");
    at(9, 17, "out_of_range");
    at(14, 11, "missing_key");
    let other = of("agents/other.toml");
    assert_eq!(other.iter().map(|(line, column, _)| (*line, *column)).collect::<Vec<_>>(), [(1, 6), (3, 10)]);

    let roster = Roster::serve(&project).await;
    let (_, registry) = get(&format!("{}/admin/registry", roster.studio)).await;
    let mixed = &registry["agents"][1];
    assert_eq!(mixed["problems"].as_array().map(Vec::len), Some(found.len()), "the same while serving: {mixed:#}");
    roster.terminate().await;
}

#[tokio::test]
async fn warnings_alone_are_good_unless_strict() {
    let project = Project::new().keeper();
    project.write("agents/draft.toml", "id = \"draft\"\ninstructions = \"x\"\n");
    let lenient = run(&project, &["check"]).await;
    assert_eq!(lenient.code, Some(0), "{}", lenient.stdout);
    assert!(lenient.stdout.contains("draft = \"draft.toml\""), "{}", lenient.stdout);
    assert_eq!(run(&project, &["check", "--strict"]).await.code, Some(1));
    let clean = run(&Project::new().keeper(), &["check", "--strict"]).await;
    assert_eq!((clean.code, clean.stdout.as_str()), (Some(0), "no problems: 1 agent\n"));
}

#[tokio::test]
async fn a_key_that_is_not_set_is_a_warning() {
    let model = "model = { id = \"m\", base_url = \"http://127.0.0.1:9/v1\", api_key_env = \"NO_SUCH_KEY\" }";
    let project = Project::new().agent("locked", &format!("instructions = \"x\"\n{model}"));
    let output = run(&project, &["check"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stdout);
    assert!(output.stdout.contains("NO_SUCH_KEY"), "{}", output.stdout);
    assert!(output.stdout.contains("agents/locked.toml:3:9"), "{}", output.stdout);
}

#[tokio::test]
async fn credentials_in_the_address_of_an_agents_model_are_a_warning() {
    let model = "model = { id = \"m\", base_url = \"http://me:hush@127.0.0.1:9/v1\" }";
    let project = Project::new().agent("loud", &format!("instructions = \"x\"\n{model}"));
    let output = run(&project, &["check"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stdout);
    assert!(output.stdout.contains("agents/loud.toml:3:9") && output.stdout.contains("*****@127"), "{}", output.stdout);
    assert!(!output.stdout.contains("hush"), "{}", output.stdout);
}

#[tokio::test]
async fn credentials_reach_no_log_either() {
    let project = Project::new().agent("loud", "instructions = \"x\"\nmodel = \"https://me:hush@127.0.0.1:9/v1\"");
    let roster = Roster::serve_with(&project, &["--log-format", "json"]).await;
    let log = roster.terminate().await.stderr;
    assert!(log.contains("bad_model") && log.contains("*******@127"), "{log}");
    assert!(!log.contains("hush"), "{log}");
}

#[tokio::test]
async fn a_new_agent_serves_after_the_next_start() {
    let project = Project::new().keeper();
    let made = run(&project, &["new", "agent", "poet", "--model", "demo/thinking"]).await;
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert!(made.stdout.contains("roster chat poet"), "{}", made.stdout);
    assert_eq!(run(&project, &["check", "--strict"]).await.code, Some(0));
    let roster = Roster::serve(&project).await;
    let (_, models) = get(&format!("{}/api/models", roster.gateway)).await;
    let ids: Vec<_> = models.as_array().expect("models").iter().map(|model| model["id"].clone()).collect();
    assert_eq!(ids, [json!("keeper"), json!("poet")]);
    let answer = chat(&roster, &question("poet", "c", "Hello")).await;
    assert!(answer.of("thinking").count() > 0);
    roster.terminate().await;

    let again = run(&project, &["new", "agent", "poet"]).await;
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.starts_with("error: ") && again.stderr.contains("hint: "), "{}", again.stderr);
    for args in [&["new", "agent", "Poet"][..], &["new", "agent", "muse", "--model", "demo/flahs"]] {
        assert_eq!(run(&project, args).await.code, Some(2), "{args:?}");
    }
    assert!(!project.path("agents/muse.toml").exists());
}

#[tokio::test]
async fn the_list_of_agents_shows_states_tools_and_problems() {
    let project = ten_ways().agent("boss", "instructions = \"x\"\nagents = [\"keeper\"]\ntools = [\"get_time\"]");
    let text = run(&project, &["agents"]).await;
    assert_eq!(text.code, Some(0), "{}", text.stderr);
    assert!(text.stdout.contains("tools: get_time, agent_keeper"), "{}", text.stdout);
    assert!(text.stdout.contains("agents/key.toml:3:1"), "{}", text.stdout);
    let listing: Value =
        serde_json::from_str(&run(&project, &["agents", "--format", "json"]).await.stdout).expect("JSON");
    let state = |id: &str| {
        listing["agents"].as_array().expect("agents").iter().find(|agent| agent["id"] == id).expect("listed")["state"]
            .clone()
    };
    assert_eq!(
        (state("keeper"), state("boss"), state("tool"), state("missing")),
        (json!("serving"), json!("serving"), json!("rejected"), json!("rejected"))
    );
    assert!(!project.path(".temp").exists(), "listing opens no store");
}

#[tokio::test]
async fn a_reader_that_goes_away_is_no_failure() {
    let project = Project::new();
    let mut child = command(project.root(), &["schema", "agent"]).spawn().expect("start");
    drop(child.stdout.take());
    let output = child.wait_with_output().await.expect("ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[tokio::test]
async fn the_doctor_names_what_is_wrong() {
    let project = Project::new().keeper();
    let well = run(&project, &["doctor"]).await;
    assert_eq!(well.code, Some(0), "{}", well.stdout);
    assert!(well.stdout.contains("ok    agent keeper"), "{}", well.stdout);
    let roster = Roster::serve(&project).await;
    chat(&roster, &question("keeper", "c", "hi")).await.done();
    let busy = run(&project, &["doctor"]).await;
    assert!(busy.stdout.contains("1 thread, 2 messages"), "{}", busy.stdout);
    roster.terminate().await;
    project.register("ghost", "ghost.toml");
    project.write(".temp/roster.db", b"this is no database at all, only words that fill a page of it");
    let ill = run(&project, &["doctor"]).await;
    assert_eq!(ill.code, Some(1), "{}", ill.stdout);
    assert!(ill.stdout.contains("FAIL  sessions database") && ill.stdout.contains("roster restore"), "{}", ill.stdout);
    assert!(ill.stdout.contains("FAIL  agent ghost"), "{}", ill.stdout);
}

#[tokio::test]
async fn the_doctor_and_operators_see_a_provider_that_is_left_alone() {
    let down = roster_testkit::scripted::refused_base_url();
    let provider =
        format!("[models.providers.far]\nbase_url = \"{down}\"\nbreaker_failures = 1\nbreaker_rest = \"1h\"\n");
    let agent = "instructions = \"x\"\nmodel = \"far/large\"\n[model_settings]\nmax_retries = 0";
    let project = Project::with_runtime(&provider).agent("keeper", agent);
    let roster = Roster::serve(&project).await;
    let well = run(&project, &["doctor"]).await;
    assert!(!well.stdout.contains("leaves it alone"), "{}", well.stdout);
    assert_eq!(admin(&roster, "/admin/providers").await["providers"][0]["circuit"], "closed");
    chat(&roster, &question("keeper", "c", "hi")).await.done();
    let stands = admin(&roster, "/admin/providers").await;
    assert_eq!((&stands["providers"][0]["name"], &stands["providers"][0]["circuit"]), (&"far".into(), &"open".into()));
    let ill = run(&project, &["doctor"]).await;
    assert!(ill.stdout.contains("warn  provider far"), "{}", ill.stdout);
    assert!(ill.stdout.contains("the runtime that serves leaves it alone for a while"), "{}", ill.stdout);
    roster.terminate().await;
}

#[tokio::test]
async fn a_folder_that_is_no_project_is_refused() {
    let folder = tempfile::tempdir().expect("a temp folder");
    // Named, since a project may stand somewhere above the temp folder.
    let output = finish(command(folder.path(), &["check", "--root", "."])).await;
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.starts_with("error: ") && output.stderr.contains("is no project"), "{}", output.stderr);
    assert!(output.stderr.contains("hint: "), "{}", output.stderr);
    let usage = finish(command(folder.path(), &["chekc"])).await;
    assert_eq!(usage.code, Some(2));
}

#[tokio::test]
async fn a_registry_line_without_a_file_keeps_the_places_of_the_others() {
    let project = Project::new().keeper();
    project.write("config/registry.toml", "[agents]\nkeeper = \"keeper.toml\"\nnone = 3\nghost = \"ghost.toml\"\n");
    let output = run(&project, &["check"]).await;
    assert!(output.stdout.contains("4 | ghost = \"ghost.toml\""), "{}", output.stdout);
    assert!(output.stdout.contains("3 | none = 3\n  |        ^"), "{}", output.stdout);
}

#[tokio::test]
async fn a_model_nobody_has_is_told_once_where_it_is_named() {
    let project = Project::with_runtime("[models]\ndefault = \"demo/flahs\"\n").keeper().plain();
    let output = run(&project, &["check"]).await;
    assert_eq!(output.code, Some(1));
    assert!(output.stdout.contains("config/runtime.toml:4:11"), "{}", output.stdout);
    assert!(output.stdout.ends_with("1 error in 1 file\n"), "{}", output.stdout);
    let sound = Project::new().keeper().plain();
    let mut overridden = command(sound.root(), &["check"]);
    overridden.env("ROSTER_MODEL", "demo/");
    let output = finish(overridden).await;
    assert!(output.stdout.contains("ROSTER_MODEL"), "{}", output.stdout);
    assert!(output.stdout.ends_with("1 error in 1 file\n"), "{}", output.stdout);
}

#[tokio::test]
async fn programs_get_a_list_of_problems_whatever_is_broken() {
    let unparsable = Project::new().keeper();
    unparsable.write("config/runtime.toml", "[project]\nname = \"x\n");
    let unusable = Project::with_runtime("[gatway]\n").keeper();
    for (project, command, code, place) in [
        (&unparsable, "check", 2, (2, 8)),
        (&unparsable, "agents", 2, (2, 8)),
        (&unusable, "check", 1, (3, 2)),
        (&unusable, "agents", 2, (3, 2)),
    ] {
        let output = run(project, &[command, "--format", "json"]).await;
        assert_eq!(output.code, Some(code), "{command}: {}", output.stderr);
        let problems: Vec<Value> = serde_json::from_str(&output.stdout).expect("a list");
        let problem = problems.iter().find(|problem| problem["file"] == "config/runtime.toml").expect("its problem");
        assert_eq!((&problem["line"], &problem["column"]), (&json!(place.0), &json!(place.1)), "{problem}");
    }
}

#[tokio::test]
async fn a_root_that_is_none_says_who_named_it() {
    let folder = tempfile::tempdir().expect("a temp folder");
    let option = finish(command(folder.path(), &["check", "--root", "."])).await;
    assert!(option.stderr.contains("`--root`"), "{}", option.stderr);
    let mut named = command(folder.path(), &["check"]);
    named.env("ROSTER_ROOT", ".");
    let named = finish(named).await;
    assert_eq!(named.code, Some(2));
    assert!(named.stderr.contains("(named by the variable `ROSTER_ROOT`)"), "{}", named.stderr);
}

#[tokio::test]
async fn the_doctor_warns_of_keys_and_shows_none() {
    let provider =
        "[models.providers.far]\nbase_url = \"http://me:hush@127.0.0.1:9/v1\"\napi_key_env = \"NO_SUCH_KEY\"\n";
    let project = Project::with_runtime(provider).agent("far", "instructions = \"x\"\nmodel = \"far/large\"");
    let output = run(&project, &["doctor"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stdout);
    assert!(output.stdout.contains("warn  agent far"), "{}", output.stdout);
    assert!(output.stdout.contains("2 warnings in config/"), "{}", output.stdout);
    assert!(output.stdout.contains("127.0.0.1:9") && !output.stdout.contains("hush"), "{}", output.stdout);
    let check = run(&project, &["check"]).await;
    assert!(
        check.stdout.contains("`base_url` holds credentials") && !check.stdout.contains("hush"),
        "{}",
        check.stdout
    );
}

#[tokio::test]
async fn a_new_agent_with_a_dot_is_told_as_it_is_written() {
    let project = Project::new();
    let made = run(&project, &["new", "agent", "a.b"]).await;
    assert!(made.stdout.contains("`\"a.b\" = \"a.b.toml\"`"), "{}", made.stdout);
}

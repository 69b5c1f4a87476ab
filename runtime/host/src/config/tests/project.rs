//! A whole project, read in one pass.

#![expect(clippy::disallowed_methods, reason = "each test makes a project in a folder of its own")]

use std::path::Path;

use tempfile::TempDir;

use crate::config::{ProjectFiles, read_project};
use crate::render::{Style, to_text};

fn project(registry: &str, agents: &[(&str, &[u8])]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for folder in ["config", "agents"] {
        std::fs::create_dir(root.path().join(folder)).unwrap();
    }
    write(root.path(), "config/runtime.toml", b"[project]\n");
    write(root.path(), "config/registry.toml", registry.as_bytes());
    for (name, bytes) in agents {
        write(root.path(), &format!("agents/{name}"), bytes);
    }
    root
}

fn write(root: &Path, file: &str, bytes: &[u8]) {
    let path = root.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn read(root: &TempDir) -> ProjectFiles {
    read_project(root.path(), &|_| None)
}

fn problems(project: &ProjectFiles) -> Vec<String> {
    project.all_problems().iter().map(ToString::to_string).collect()
}

const GOOD: &[u8] = b"id = \"good\"\ninstructions = \"x\"\n";

#[test]
fn ten_ways_to_break_a_project_are_all_reported_at_once() {
    let body = |id: &str, rest: &str| format!("id = \"{id}\"\ninstructions = \"x\"\n{rest}\n").into_bytes();
    let registry = "[agents]\ngood = \"good.toml\"\nsyntax = \"syntax.toml\"\ntype = \"type.toml\"\nkey = \"key.toml\"\nid = \"id.toml\"\n\
                    missing = \"missing.toml\"\ngood = \"again.toml\"\nmodel = \"model.toml\"\ntool = \"tool.toml\"\nfactory = \"factory.toml\"\nbytes = \"bytes.toml\"\n";
    let mut latin1 = body("bytes", "");
    latin1.extend_from_slice(b"name = \"Zo\xeb\"\n");
    let files: &[(&str, &[u8])] = &[
        ("good.toml", GOOD),
        ("syntax.toml", b"id = \"syntax\ninstructions = \"x\"\n"),
        ("type.toml", &body("type", "tools = \"scale\"")),
        ("key.toml", &body("key", "max_step = 3")),
        ("id.toml", &body("other", "")),
        ("model.toml", &body("model", "model = \"openai/\"")),
        ("tool.toml", &body("tool", "tools = [\"get time\"]")),
        ("factory.toml", &body("factory", "memory = \"create memory\"")),
        ("bytes.toml", &latin1),
    ];
    let root = project(registry, files);
    let project = read(&root);
    let found = problems(&project);
    let places: Vec<String> = found.iter().map(|line| line.split("]: ").next().unwrap().to_owned()).collect();
    assert_eq!(
        places,
        [
            "agents/bytes.toml:4:11: error[encoding",
            "agents/factory.toml:3:10: error[bad_factory",
            "agents/id.toml:1:6: error[id_mismatch",
            "agents/key.toml:3:1: error[unknown_key",
            "agents/model.toml:3:9: error[bad_model",
            "agents/syntax.toml:1:6: error[unclosed_string",
            "agents/tool.toml:3:10: error[bad_tool",
            "agents/type.toml:3:9: error[wrong_type",
            "config/registry.toml:7:11: error[file_missing",
            "config/registry.toml:8:1: error[duplicate_key",
        ]
    );
    let serving: Vec<&str> =
        project.agents.iter().filter(|agent| agent.definition.is_some()).map(|agent| agent.id.as_str()).collect();
    assert_eq!(serving, ["good"], "the others do not stop it");
    for agent in project.agents.iter().filter(|agent| agent.id.as_str() != "good") {
        assert!(agent.problems.iter().all(|problem| problem.agent.as_deref() == Some(agent.id.as_str())));
        assert_eq!(agent.problems.len(), 1, "{}", agent.id);
    }
    let shown = to_text(&project.all_problems(), &|file| project.source(file), Style::default());
    assert!(shown.ends_with("10 errors in 9 files\n"), "{shown}");
}

#[test]
fn a_file_without_a_line_is_named_with_the_line_to_add() {
    let root = project(
        "[agents]\ngood = \"good.toml\"\n",
        &[
            ("good.toml", GOOD),
            ("poet.toml", b"id = \"the.poet\"\ninstructions = \"x\"\n"),
            ("broken.toml", b"id = \n"),
            ("copy.toml", GOOD),
            (".hidden.toml", GOOD),
            ("good.test.toml", GOOD),
            ("notes.md", b"x"),
        ],
    );
    let project = read(&root);
    assert_eq!(project.unregistered, ["agents/broken.toml", "agents/copy.toml", "agents/poet.toml"]);
    let helps: Vec<String> = project.problems.iter().filter_map(|problem| problem.help.clone()).collect();
    assert!(helps[0].ends_with("broken = \"broken.toml\""), "{}", helps[0]);
    assert!(helps[1].contains("belongs to agents/good.toml"), "{}", helps[1]);
    assert!(helps[2].ends_with("\"the.poet\" = \"poet.toml\""), "{}", helps[2]);
    assert!(project.problems.iter().all(|problem| !problem.is_error()));
}

#[test]
fn one_file_is_one_agent() {
    let root = project("[agents]\ngood = \"good.toml\"\nbetter = \"good.toml\"\n", &[("good.toml", GOOD)]);
    let project = read(&root);
    assert!(project.agents[0].definition.is_some());
    assert!(project.agents[1].definition.is_none());
    assert_eq!(
        problems(&project),
        [
            "config/registry.toml:3:10: error[duplicate_file]: `good.toml` is registered twice: as `good` and as `better`"
        ]
    );
}

#[cfg(unix)]
#[test]
fn nothing_outside_agents_is_read() {
    let root = project(
        "[agents]\nlink = \"link.toml\"\ndeep = \"deep/secret.toml\"\nup = \"../secret.toml\"\nwords = \"words.toml\"\ninside = \"inside.toml\"\n",
        &[
            ("words.toml", b"id = \"words\"\ninstructions_file = \"words.md\"\n"),
            ("real/inside.toml", b"id = \"inside\"\ninstructions = \"x\"\n"),
        ],
    );
    let secret = b"id = \"link\"\ninstructions = \"secret\"\n";
    write(root.path(), "secret.toml", secret);
    write(root.path(), "outside/secret.toml", secret);
    let agents = root.path().join("agents");
    std::os::unix::fs::symlink(root.path().join("secret.toml"), agents.join("link.toml")).unwrap();
    std::os::unix::fs::symlink("../secret.toml", agents.join("words.md")).unwrap();
    std::os::unix::fs::symlink("../outside", agents.join("deep")).unwrap();
    std::os::unix::fs::symlink("real/inside.toml", agents.join("inside.toml")).unwrap();
    let project = read(&root);
    let of = |id: &str| project.agents.iter().find(|agent| agent.id.as_str() == id).unwrap();
    for id in ["link", "deep", "up", "words"] {
        assert!(of(id).definition.is_none(), "{id}");
        assert_eq!(of(id).problems.len(), 1, "{id}: {:?}", of(id).problems);
    }
    assert!(of("inside").definition.is_some(), "a link that stays inside is fine");
    assert!(!format!("{project:?}").contains("\"secret\""));
}

#[test]
fn what_cannot_be_read_is_said_of_that_agent_alone() {
    let root = project(
        "[agents]\ngood = \"good.toml\"\nfolder = \"folder.toml\"\nlarge = \"large.toml\"\ngod = \"god.toml\"\n",
        &[("good.toml", GOOD), ("goods.toml", GOOD), ("folder.toml/x", b""), ("large.toml", &vec![b' '; 5 << 20])],
    );
    let project = read(&root);
    assert_eq!(
        problems(&project),
        [
            "agents/goods.toml: warning[unregistered]: the file has no line in `config/registry.toml`, so it is not served",
            "config/registry.toml:3:10: error[file_unreadable]: `folder.toml` is not a file",
            "config/registry.toml:4:9: error[file_too_large]: `large.toml` is larger than 4 MiB",
            "config/registry.toml:5:7: error[file_missing]: `god.toml` does not exist",
        ]
    );
    let help = project.agents[3].problems[0].help.as_deref();
    assert_eq!(help, Some("did you mean \"goods.toml\"?"), "`good.toml` is nearer, and taken by another line");
    assert!(project.agents[1..].iter().all(|agent| agent.problems[0].help.is_some()));
    assert!(project.agents[0].definition.is_some());
}

#[test]
fn an_instructions_file_is_read_from_agents() {
    let root = project(
        "[agents]\na = \"deep/a.toml\"\n",
        &[("deep/a.toml", b"id = \"a\"\ninstructions_file = \"deep/a.md\"\n"), ("deep/a.md", b"One.\r\nTwo.\r\n")],
    );
    let project = read(&root);
    assert_eq!(project.agents[0].definition.as_ref().unwrap().instructions, "One.\nTwo.\n");
}

#[test]
fn missing_folders_and_files_are_problems_and_not_the_end() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(
        problems(&read(&root)),
        [
            "agents: error[file_missing]: `agents` does not exist",
            "config/registry.toml: error[file_missing]: `config/registry.toml` does not exist",
            "config/runtime.toml: error[file_missing]: `config/runtime.toml` does not exist",
        ]
    );
    let helps: Vec<_> = read(&root).all_problems().into_iter().filter_map(|problem| problem.help).collect();
    assert!(helps[0].contains("make the folder"), "{helps:?}");
    assert!(helps[1].ends_with("\nchat-agent = \"chat-agent.toml\""), "{helps:?}");
}

#[test]
fn many_agents_are_read_quickly_enough_to_be_reloaded() {
    let count = 10_000;
    let names: Vec<String> = (0..count).map(|n| format!("a{n}.toml")).collect();
    let bodies: Vec<Vec<u8>> =
        (0..count).map(|n| format!("id = \"a{n}\"\ninstructions = \"x\"\n").into_bytes()).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(String::as_str).zip(bodies.iter().map(Vec::as_slice)).collect();
    let lines: String = (0..count).map(|n| format!("a{n} = \"a{n}.toml\"\n")).collect();
    let root = project(&format!("[agents]\n{lines}"), &files);
    let project = read(&root);
    assert_eq!(project.agents.iter().filter(|agent| agent.definition.is_some()).count(), count);
    assert!(project.all_problems().is_empty());
}

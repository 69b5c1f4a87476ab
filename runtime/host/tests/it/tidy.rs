//! The code's own rules: sizes, docs, who may import whom, nothing heavy, generated files fresh.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::project::Project;
use crate::roster::run;

const LONGEST_FILE: usize = 400;
const LONGEST_FUNCTION: usize = 60;
/// Functions that may be longer, each for a reason: `file::function`.
const LONG_FUNCTIONS: &[&str] = &[];
/// Files that may be longer, each for a reason.
const LONG_FILES: &[&str] = &[];

/// What a room may import of ours. Drivers never import each other.
const IMPORTS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("abi", &[]),
    ("sdk", &["abi"]),
    ("engine", &["model"]),
    ("storage", &["model"]),
    ("provider", &["model"]),
    ("tools", &["model"]),
    ("testkit", &["model"]),
    ("server", &["model", "engine"]),
    ("embed", &["model"]),
    ("plugin", &["model", "abi"]),
    ("mcp", &["model"]),
    ("host", &["model", "abi", "engine", "storage", "provider", "tools", "embed", "plugin", "mcp", "server"]),
    ("bench", &["model", "abi", "testkit", "storage", "plugin", "fixture-faults", "fixture-kinds"]),
];

/// What a module of the engine may import of the others.
const ENGINE: &[(&str, &[&str])] = &[
    ("definition", &[]),
    ("tool", &[]),
    ("trace", &[]),
    ("memory", &["definition"]),
    ("registry", &["definition", "memory", "tool"]),
    ("turn", &["definition", "memory", "registry", "tool", "trace"]),
];

/// Crates whose build costs minutes, or that bring C libraries nobody needs here.
const HEAVY: &[&str] =
    &["libduckdb-sys", "candle-core", "wasmtime", "ort-sys", "openssl-sys", "aws-lc-sys", "librocksdb-sys", "v8"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Every Rust file below `folder`, with its path relative to the workspace.
fn rust_files(folder: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).expect("inside").to_string_lossy().into_owned();
                files.push((name, fs::read_to_string(&path).expect("text")));
            }
        }
    }
    files.sort();
    files
}

fn rooms() -> Vec<String> {
    let entries = fs::read_dir(root().join("runtime")).expect("runtime/");
    let mut rooms: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    rooms.sort();
    rooms
}

#[test]
fn files_are_short() {
    let long: Vec<String> = rust_files("runtime")
        .into_iter()
        .map(|(name, text)| (name, text.lines().count()))
        .filter(|(name, lines)| *lines > LONGEST_FILE && !LONG_FILES.contains(&name.as_str()))
        .map(|(name, lines)| format!("{name}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "longer than {LONGEST_FILE} lines: {long:#?}");
}

/// The guide's list of faults names tests that are there.
#[test]
fn the_guide_names_tests_that_exist() {
    let guide = fs::read_to_string(root().join("docs/testing.md")).expect("the guide");
    let (_, list) = guide.split_once("### Known faults, and their tests").expect("the list");
    let quoted = list.split('`').skip(1).step_by(2).filter(|text| !text.contains(' '));
    let named: BTreeSet<&str> = quoted.collect();
    assert!(named.len() > 20, "{named:?}");
    let files = rust_files("runtime");
    let there = |name: &str| files.iter().any(|(_, text)| text.contains(&format!("fn {name}(")));
    let missing: Vec<&str> = named.into_iter().filter(|name| !there(name)).collect();
    assert!(missing.is_empty(), "no such tests: {missing:?}");
}

/// Name and length of each function of a formatted file, signature and closing brace included.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = line.len() - line.trim_start().len();
        let end = format!("{}}}", " ".repeat(indent));
        // A function of one line, or a trait's without a body, ends before any such brace counts.
        let signature = lines[at..].iter().position(|line| line.ends_with(['{', '}', ';']));
        if signature.is_none_or(|offset| !lines[at + offset].ends_with('{')) {
            continue;
        }
        if let Some(length) = lines[at..].iter().position(|line| *line == end) {
            found.push((name, length + 1));
        }
    }
    found
}

fn function_name(line: &str) -> Option<String> {
    let code = line.trim_start();
    let words = ["pub ", "pub(crate) ", "pub(super) ", "const ", "async "];
    let mut rest = code;
    while let Some(after) = words.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = after;
    }
    let name = rest.strip_prefix("fn ")?;
    Some(name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
}

#[test]
fn functions_are_short() {
    let mut long = Vec::new();
    for (file, text) in rust_files("runtime") {
        for (name, lines) in functions(&text) {
            let place = format!("{file}::{name}");
            if lines > LONGEST_FUNCTION && !LONG_FUNCTIONS.contains(&place.as_str()) {
                long.push(format!("{place}: {lines} lines"));
            }
        }
    }
    assert!(long.is_empty(), "longer than {LONGEST_FUNCTION} lines: {long:#?}");
}

#[test]
fn the_measure_of_functions_measures() {
    let text = "fn a() {\n    b();\n}\n\nimpl X {\n    pub async fn c(\n        &self,\n    ) {\n        d();\n    }\n    fn e();\n}\n";
    assert_eq!(functions(text), [("a".to_owned(), 3), ("c".to_owned(), 5)]);
}

#[test]
fn every_crate_says_what_it_is() {
    for room in rooms() {
        for file in ["lib.rs", "main.rs"] {
            let path = root().join("runtime").join(&room).join("src").join(file);
            if let Ok(text) = fs::read_to_string(&path) {
                assert!(text.starts_with("//! "), "runtime/{room}/src/{file} has no crate docs");
            }
        }
    }
}

/// Our crates among the ordinary dependencies of a manifest.
fn imports_of(room: &str) -> BTreeSet<String> {
    let manifest = fs::read_to_string(root().join(format!("runtime/{room}/Cargo.toml"))).expect("a manifest");
    let manifest: toml_edit::DocumentMut = manifest.parse().expect("TOML");
    let Some(dependencies) = manifest["dependencies"].as_table_like() else { return BTreeSet::new() };
    dependencies.iter().filter_map(|(name, _)| name.strip_prefix("roster-")).map(str::to_owned).collect()
}

#[test]
fn rooms_import_only_what_they_may() {
    for room in rooms() {
        let allowed = IMPORTS.iter().find(|(name, _)| *name == room);
        let allowed = allowed.unwrap_or_else(|| panic!("the new room `{room}` needs a line in IMPORTS")).1;
        for import in imports_of(&room) {
            assert!(allowed.contains(&import.as_str()), "`{room}` may not import `{import}`");
        }
    }
}

#[test]
fn modules_of_the_engine_import_one_way() {
    for (file, text) in rust_files("runtime/engine/src") {
        let Some(module) = file.strip_prefix("runtime/engine/src/").and_then(|rest| rest.split(['/', '.']).next())
        else {
            continue;
        };
        if module == "lib" {
            continue;
        }
        let allowed = ENGINE.iter().find(|(name, _)| *name == module);
        let allowed = allowed.unwrap_or_else(|| panic!("the new module `{module}` needs a line in ENGINE")).1;
        for (at, _) in text.match_indices("crate::") {
            let import: String = text[at + 7..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let is_module = ENGINE.iter().any(|(name, _)| *name == import);
            assert!(!is_module || import == module || allowed.contains(&import.as_str()), "{file} imports `{import}`");
        }
    }
}

#[test]
fn nothing_heavy_is_built() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).expect("Cargo.lock");
    for name in HEAVY {
        assert!(!lock.contains(&format!("name = \"{name}\"")), "`{name}` is among the dependencies");
    }
}

#[tokio::test]
async fn the_schemas_checked_in_are_fresh() {
    for kind in ["agent", "runtime", "registry"] {
        let output = run(&Project::new(), &["schema", kind]).await;
        let file = format!("docs/schema/{kind}.schema.json");
        let kept = fs::read_to_string(root().join(&file)).expect("checked in");
        assert!(output.stdout == kept, "stale; refresh with: roster schema {kind} > {file}");
    }
}

/// The project of this repository is what `cargo run` serves.
#[tokio::test]
async fn the_samples_are_clean() {
    let samples = crate::roster::command(&root(), &["check", "--strict"]);
    let output = crate::roster::finish(samples).await;
    assert_eq!(output.code, Some(0), "{}", output.stdout);
}

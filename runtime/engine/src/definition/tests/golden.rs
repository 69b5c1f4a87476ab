//! Every message that an agent's file can cause: `tests/golden/agent/*.toml` and the `.problems` beside each.
//! `UPDATE_GOLDEN=1` writes them anew; read the difference before keeping it.

#![expect(clippy::disallowed_methods, reason = "goldens are files of this crate")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::definition::{Loaded, Problem, Unreadable, load_agent};

pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/agent")
}

/// The files' names without their ends, sorted, and their bytes.
pub(super) fn files() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "toml") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            found.push((name, std::fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

pub(super) fn load(name: &str, bytes: &[u8]) -> Loaded {
    let beside = |path: &str| std::fs::read(folder().join(path)).map_err(|_| Unreadable::Missing);
    load_agent(&format!("agents/{name}.toml"), bytes, &beside)
}

fn written(problems: &[Problem]) -> String {
    let mut text = String::new();
    for problem in problems {
        writeln!(text, "{problem}").unwrap();
        if let Some(help) = &problem.help {
            writeln!(text, "  help: {help}").unwrap();
        }
    }
    text
}

#[test]
fn every_message_is_as_written() {
    let mut different = Vec::new();
    for (name, bytes) in files() {
        let found = written(&load(&name, &bytes).problems);
        let path = folder().join(format!("{name}.problems"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if found != expected || !path.exists() {
            different.push(format!("{name}\n--- expected\n{expected}--- found\n{found}"));
        }
    }
    assert!(different.is_empty(), "UPDATE_GOLDEN=1 writes these anew:\n{}", different.join("\n"));
}

#[test]
fn good_files_are_definitions_and_bad_ones_have_a_place_and_a_way_out() {
    let files = files();
    assert!(files.len() > 80, "the goldens are there");
    for (name, bytes) in files {
        let loaded = load(&name, &bytes);
        let errors = loaded.problems.iter().filter(|problem| problem.is_error()).count();
        assert_eq!(loaded.definition.is_some(), errors == 0, "{name}");
        assert_eq!(name.starts_with("good_"), loaded.problems.is_empty(), "{name}");
        for problem in &loaded.problems {
            assert!(problem.line.is_some() && problem.column.is_some(), "{name}: no place: {problem}");
            assert!(!problem.message.ends_with('.'), "{name}: {problem}");
            let first = problem.message.chars().next().unwrap();
            assert!(!first.is_uppercase(), "{name}: {problem}");
            if let Some(span) = &problem.span
                && problem.file == loaded.positions.file.as_ref()
                && !loaded.positions.source.is_empty()
            {
                assert!(loaded.positions.source.get(span.clone()).is_some(), "{name}: {span:?} cuts a character");
            }
        }
    }
}

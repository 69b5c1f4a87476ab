//! The samples of the guide for teams load without a problem.

use crate::definition::{Unreadable, load_agent};

#[test]
#[expect(clippy::disallowed_methods, reason = "the guide is a file of this project")]
fn every_sample_of_the_guide_is_clean() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md");
    let guide = std::fs::read_to_string(path).unwrap();
    let samples: Vec<&str> = guide.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(samples.len() >= 9, "{}", samples.len());
    for sample in samples {
        let whole = sample.lines().any(|line| line.starts_with("id = "));
        let text = if whole { sample.to_owned() } else { format!("id = \"a\"\ninstructions = \"x\"\n{sample}") };
        let loaded = load_agent("agents/a.toml", text.as_bytes(), &|_: &str| Err(Unreadable::Missing));
        assert!(loaded.problems.is_empty() && loaded.definition.is_some(), "{:?} in:\n{text}", loaded.problems);
    }
}

/// Every key of the tables that teams write is spoken of.
#[test]
#[expect(clippy::disallowed_methods, reason = "the guide is a file of this project")]
fn the_guide_names_every_key_that_is_built() {
    use crate::definition::keys::AGENT;
    use crate::definition::shape::{Key, Shape, Status, TableShape};

    fn walk(table: &'static TableShape, missing: &mut Vec<&'static str>, guide: &str) {
        for key in table.keys.iter().filter(|key| key.status == Status::Built) {
            if !guide.contains(key.name) {
                missing.push(key.name);
            }
            below(key, missing, guide);
        }
    }
    fn below(key: &'static Key, missing: &mut Vec<&'static str>, guide: &str) {
        match &key.shape {
            Shape::Table(table) => walk(table, missing, guide),
            Shape::Either(shapes) => {
                for shape in *shapes {
                    if let Shape::Table(table) = shape {
                        walk(table, missing, guide);
                    }
                }
            }
            _ => {}
        }
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md");
    let guide = std::fs::read_to_string(path).unwrap();
    let mut missing = Vec::new();
    walk(&AGENT, &mut missing, &guide);
    assert!(missing.is_empty(), "{missing:?}");
}

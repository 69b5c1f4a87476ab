//! The schema and the loader accept the same files.

use jsonschema::Validator;

use super::golden;
use crate::definition::keys::{self, AGENT};
use crate::definition::shape::{Key, Shape, TableShape, TextRule};
use crate::definition::view::json_of;
use crate::definition::{schema, syntax};

fn validator() -> Validator {
    jsonschema::draft7::new(&schema::agent()).unwrap()
}

/// What no schema can say: what TOML itself refuses, and what depends on other files or keys.
const BEYOND_A_SCHEMA: &[&str] = &[
    "syntax",
    "duplicate_key",
    "encoding",
    "merge_conflict",
    "nested_too_deep",
    "bad_escape",
    "unquoted_string",
    "unclosed_string",
    "unclosed_list",
    "unclosed_table",
    "unclosed_header",
    "file_missing",
    "missing_stages",
    "bad_stage",
    "output_of_pipeline",
];

#[test]
fn schema_and_loader_agree_on_every_golden() {
    let validator = validator();
    let mut compared = 0;
    for (name, bytes) in golden::files() {
        let loaded = golden::load(&name, &bytes);
        let beyond = |code: &str| BEYOND_A_SCHEMA.contains(&code);
        let dated = name == "name_date"; // JSON has no dates, so a schema takes one for a string.
        if dated || loaded.problems.iter().any(|problem| problem.is_error() && beyond(problem.code)) {
            continue;
        }
        let parsed = syntax::parse(&name, &loaded.positions.source);
        let value = json_of(&toml::de::DeValue::Table(parsed.root.into_inner()));
        let refused: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(loaded.definition.is_some(), refused.is_empty(), "{name}: {refused:?} {:?}", loaded.problems);
        compared += 1;
    }
    assert!(compared > 40, "{compared}");
}

/// Every rule reached from a table, once.
fn rules(table: &'static TableShape, found: &mut Vec<&'static TextRule>) {
    let keys = table.keys.iter().chain(table.others);
    for key in keys {
        of_shape(&key.shape, found);
    }
    found.extend(table.names);
}

fn of_shape(shape: &'static Shape, found: &mut Vec<&'static TextRule>) {
    match shape {
        Shape::Rule(rule) => found.push(rule),
        Shape::List(list) => of_shape(&list.item, found),
        Shape::Table(table) => rules(table, found),
        Shape::Either(shapes) => shapes.iter().for_each(|shape| of_shape(shape, found)),
        _ => {}
    }
}

const TEXTS: &[&str] = &[
    "",
    " ",
    "a",
    "A",
    "a/b",
    "a/b/c",
    "/a",
    "a/",
    "a//b",
    "a:b",
    "a:b:c",
    ":a",
    "a:",
    "mcp:a",
    "mcp:a/b",
    "mcp:a/*",
    "mcp:/b",
    "mcp:a/",
    "mcp:a/b/c",
    "mcp:a/b:c",
    "a/b:c",
    "a:b/c",
    "..",
    "../a",
    "a/..",
    "a/../b",
    "a/..b",
    ".a",
    "a/.b",
    "./a",
    "a/./b",
    "a..b",
    "a b",
    "a/b c",
    "a\\b",
    "a\tb",
    "C:\\a",
    "0s",
    "00s",
    "1s",
    "01s",
    "10m",
    "1.5s",
    "1 s",
    "s",
    "5",
    "999999999d",
    "1000000000d",
    "0000000001s",
    "4MiB",
    "4mib",
    "0B",
    "1kB",
    "-1s",
    "http://a",
    "https://a/b",
    "http://",
    "http:///a",
    "http://a b",
    "http://a?x",
    "http://a#x",
    "ftp://a",
    "HTTP://a",
    "A_B",
    "1A",
    "_a",
    "A-B",
    "漢字",
    "a漢",
    "a.b-c_d",
    "-a",
    ".",
    "a/漢",
    "create_memory",
    "plugin:create_memory",
    "openai/gpt-4o",
    "or/meta/llama:free",
    "http://[::1]:80/v1",
    "127.0.0.1:80",
    "localhost:80",
    "${A}",
];

/// A rule's function and its pattern are two ways to say one thing.
pub(crate) fn patterns_agree(rules: &[&'static TextRule], texts: &[&str]) {
    for rule in rules {
        let schema = serde_json::json!({ "pattern": rule.pattern });
        let validator = jsonschema::draft7::new(&schema).unwrap();
        for text in texts {
            let by_function = (rule.check)(text).is_ok();
            let by_pattern = validator.is_valid(&serde_json::json!(text));
            assert_eq!(by_function, by_pattern, "{:?} under {}", text, rule.pattern);
        }
    }
}

#[test]
fn every_rule_is_its_pattern() {
    let mut found = Vec::new();
    rules(&AGENT, &mut found);
    found.push(&keys::FILE_BELOW);
    found.push(&crate::definition::units::SIZE);
    assert!(found.len() > 20, "{}", found.len());
    let long = ["p".repeat(64), "p".repeat(65), "p".repeat(513)];
    let texts: Vec<&str> = TEXTS.iter().copied().chain(long.iter().map(String::as_str)).collect();
    patterns_agree(&found, &texts);
}

#[test]
fn every_key_says_what_it_is_for() {
    fn walk(table: &'static TableShape) {
        for key in table.keys {
            assert!(key.about.len() > 8 && key.about.ends_with('.'), "{}: {}", key.name, key.about);
            below(key);
        }
    }
    fn below(key: &'static Key) {
        if let Shape::Table(table) = &key.shape {
            walk(table);
        }
    }
    walk(&AGENT);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the checked-in schema is a file of this project")]
fn the_checked_in_schema_is_fresh() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/agent.schema.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, schema::to_text(&schema::agent())).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    let hint = "stale: refresh it by `roster schema agent > docs/schema/agent.schema.json`";
    assert!(found == schema::to_text(&schema::agent()), "{hint}");
}

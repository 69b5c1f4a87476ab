//! A rule's function and its pattern are two ways to say one thing.

use roster_engine::definition::shape::{Shape, TableShape, TextRule};
use serde_json::json;

use crate::config::shapes::{REGISTRY, RUNTIME};

fn of_table(table: &'static TableShape, found: &mut Vec<&'static TextRule>) {
    found.extend(table.names);
    for key in table.keys.iter().chain(table.others) {
        of_shape(&key.shape, found);
    }
}

fn of_shape(shape: &'static Shape, found: &mut Vec<&'static TextRule>) {
    match shape {
        Shape::Rule(rule) => found.push(rule),
        Shape::List(list) => of_shape(&list.item, found),
        Shape::Table(table) => of_table(table, found),
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
    "/a",
    "a/",
    "a//b",
    "a/b/c",
    "a:b",
    "..",
    "../a.toml",
    "a/../b.toml",
    "a.toml",
    ".toml",
    "a.test.toml",
    "x/.a.toml",
    "x/a.toml",
    "./a.toml",
    "a.toml/",
    "a\\b.toml",
    "C:/a.toml",
    "a b.toml",
    "a.md",
    "127.0.0.1:80",
    "127.0.0.1:0",
    "127.0.0.1",
    "localhost:80",
    "[::1]:80",
    ":80",
    "host:80",
    "127.0.0.1:x",
    "*",
    "https://a.example",
    "https://a.example:8443",
    "https://a.example/",
    "https://a?x",
    "ftp://a",
    "http://",
    "file:a",
    "file:",
    "file:a/",
    "file:/a/b.db",
    "duckdb:a",
    "duckdb:",
    "sqlite:a",
    "demo",
    "demo2",
    "demo/pro",
    "demo/",
    "openai/gpt 4",
    "0s",
    "1s",
    "14d",
    "1GiB",
    "1 GiB",
    "漢",
    "a漢",
    "_a",
    "-a",
    "A_B",
    "1A",
];

#[test]
fn every_rule_is_its_pattern() {
    let mut rules = Vec::new();
    of_table(&RUNTIME, &mut rules);
    of_table(&REGISTRY, &mut rules);
    assert!(rules.len() > 20, "{}", rules.len());
    let long = ["a".repeat(64), "a".repeat(65), "ab".repeat(32), "g".repeat(64), "a".repeat(513)];
    let texts: Vec<&str> = TEXTS.iter().copied().chain(long.iter().map(String::as_str)).collect();
    for rule in rules {
        let validator = jsonschema::draft7::new(&json!({ "pattern": rule.pattern })).unwrap();
        for text in &texts {
            let by_function = (rule.check)(text).is_ok();
            assert_eq!(by_function, validator.is_valid(&json!(text)), "{text:?} under {}", rule.pattern);
        }
    }
}

#[test]
fn every_key_says_what_it_is_for() {
    fn walk(table: &'static TableShape) {
        for key in table.keys {
            assert!(key.about.len() > 8 && key.about.ends_with('.'), "{}: {}", key.name, key.about);
            if let Shape::Table(inner) = &key.shape {
                walk(inner);
            }
        }
    }
    walk(&RUNTIME);
    walk(&REGISTRY);
}

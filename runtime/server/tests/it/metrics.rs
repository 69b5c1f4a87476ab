//! `/metrics`: the text is read line by line as a collector would.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use http::StatusCode;
use roster_engine::trace::ReloadOutcome;

use crate::world::World;

/// A sample: its name, its labels, its value.
#[derive(Debug, PartialEq)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `name="value",…}` up to and with the brace; what follows it is given back.
fn labels(mut rest: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    while !rest.starts_with('}') {
        let (name, after) = rest.split_once("=\"").expect("a label");
        assert!(is_name(name), "{name}");
        let mut value = String::new();
        let mut letters = after.char_indices();
        let end = loop {
            match letters.next().expect("a closing quote") {
                (at, '"') => break at,
                (_, '\\') => match letters.next().expect("an escaped letter").1 {
                    'n' => value.push('\n'),
                    escaped @ ('"' | '\\') => value.push(escaped),
                    other => panic!("no such escape: {other}"),
                },
                (_, letter) => value.push(letter),
            }
        };
        assert!(labels.insert(name.to_owned(), value).is_none(), "{name} stands twice");
        rest = after[end + 1..].trim_start_matches(',');
    }
    (labels, &rest[1..])
}

fn sample(line: &str) -> Sample {
    let end = line.find(['{', ' ']).expect("a value");
    let (name, rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let (labels, rest) = rest.strip_prefix('{').map_or((BTreeMap::new(), rest), labels);
    let value = rest.strip_prefix(' ').expect("one space before the value");
    Sample { name: name.to_owned(), labels, value: value.parse().unwrap_or_else(|_| panic!("no number: {line}")) }
}

/// The parts a family's samples may have behind its name.
fn suffixes(kind: &str) -> &'static [&'static str] {
    match kind {
        "counter" => &["_total"],
        "gauge" => &[""],
        "histogram" => &["_bucket", "_sum", "_count"],
        other => panic!("no such kind: {other}"),
    }
}

/// Every sample, checked to stand below the head of its family and every line to be one of the known forms.
fn parse(text: &str) -> Vec<Sample> {
    let body = text.strip_suffix("# EOF\n").expect("the mark of the end, once and last");
    let (mut families, mut samples) = (BTreeSet::new(), Vec::new());
    let mut family: Option<(String, String)> = None;
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let [word, name, rest] = comment.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            assert!(is_name(name) && name.starts_with("roster_"), "{line}");
            match word {
                "HELP" => assert!(families.insert(name.to_owned()), "{name} stands twice"),
                "TYPE" => family = Some((name.to_owned(), rest.to_owned())),
                other => panic!("unexpected `{other}`"),
            }
            continue;
        }
        let sample = sample(line);
        let (name, kind) = family.as_ref().expect("a head before its samples");
        let suffix = sample.name.strip_prefix(name.as_str()).unwrap_or_else(|| panic!("{line} below {name}"));
        assert!(suffixes(kind).contains(&suffix), "{line}");
        samples.push(sample);
    }
    samples
}

#[tokio::test]
async fn a_collector_can_read_every_line() {
    let world = World::new();
    let asked = crate::chat::ask("clerk", Some("c"), "hello");
    world.post("/api/chat", &asked).await.frames();
    let metrics = &world.app.services.metrics;
    metrics.reload(ReloadOutcome::Published, Duration::from_millis(20));
    metrics.factory_call("clerk");
    metrics.generation(3);
    metrics.tool_call("odd \"name\" \\ of\ntwo lines", "ok");

    let answer = world.get("/metrics").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert_eq!(answer.text.matches("# EOF").count(), 1);
    let samples = parse(&answer.text);
    let value = |name: &str, labels: &[(&str, &str)]| {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let found = samples.iter().find(|sample| sample.name == name && sample.labels == labels);
        found.unwrap_or_else(|| panic!("{name} {labels:?} in {samples:#?}")).value
    };
    let is = |seen: f64, wanted: u32| (seen - f64::from(wanted)).abs() < 1e-9;
    assert!(is(value("roster_turns_total", &[("agent", "clerk"), ("outcome", "finished")]), 1));
    assert!(is(value("roster_turns_running", &[]), 0));
    assert!(is(value("roster_reloads_total", &[("outcome", "published")]), 1));
    assert!(is(value("roster_reload_seconds_count", &[]), 1));
    assert!(is(value("roster_reload_seconds_bucket", &[("le", "+Inf")]), 1));
    assert!(is(value("roster_memory_factory_calls_total", &[("agent", "clerk")]), 1));
    assert!(is(value("roster_registry_generation", &[]), 3));
    assert!(is(value("roster_tool_calls_total", &[("name", "odd \"name\" \\ of\ntwo lines"), ("outcome", "ok")]), 1));
}

#[tokio::test]
async fn both_listeners_tell_the_same() {
    let world = World::new();
    let (gateway, studio) = (world.get("/metrics").await, world.studio("/metrics").await);
    assert_eq!(gateway.text, studio.text);
    assert_eq!(studio.header("cache-control"), "no-store");
}

use roster_engine::turn::FinishReason;
use roster_model::message::{ToolCall, ToolResult};
use roster_model::provider::{Completion, ModelSettings, PromptMessage, UserPart};
use serde_json::{Map, Value, json};

use super::cassette::{self, Exchange, Piece};
use super::file::{Turn, parse};
use super::judge::{Called, Came, Fault, judge};
use super::report::{FileReport, TestReport};
use super::request::{Difference, difference, fingerprint, normal};

fn completion(call: &str, took: u64, say: &str) -> Completion {
    let arguments = Map::new();
    let (id, name) = (call.to_owned(), "t".to_owned());
    Completion {
        model: "m".to_owned(),
        messages: vec![
            PromptMessage::User(vec![UserPart::Text(say.to_owned())]),
            PromptMessage::Assistant {
                text: String::new(),
                reasoning: Vec::new(),
                calls: vec![ToolCall { id: id.clone(), name: name.clone(), arguments, malformed: None }],
            },
            PromptMessage::Tool(vec![ToolResult {
                call_id: id,
                name,
                output: json!(1),
                is_error: false,
                duration_ms: took,
            }]),
        ],
        tools: Vec::new().into(),
        output_schema: None,
        settings: ModelSettings { max_retries: Some(u32::try_from(took).unwrap()), ..ModelSettings::default() },
        attempts: std::sync::Arc::default(),
    }
}

#[test]
fn ids_and_durations_make_no_other_request_and_words_do() {
    let first = normal("stub", &completion("a", 1, "hi"));
    assert_eq!(fingerprint(&first), fingerprint(&normal("stub", &completion("b", 9, "hi"))));
    let other = normal("stub", &completion("a", 1, "ho"));
    assert_ne!(fingerprint(&first), fingerprint(&other));
    let place = "messages[0].user[0]".to_owned();
    let found = Difference { place, recorded: Some(json!("hi")), now: Some(json!("ho")) };
    assert_eq!(difference(&first, &other), Some(found));
    assert_eq!(difference(&first, &first), None);
    let added = difference(&json!({"a": [1]}), &json!({"a": [1, 2]})).unwrap();
    assert_eq!((added.place.as_str(), added.recorded, added.now), ("a[1]", None, Some(json!(2))));
}

#[test]
fn pieces_that_belong_together_are_one() {
    let mut answer = Vec::new();
    let part = |index, fragment: &str| Piece::Arguments { index, fragment: fragment.to_owned() };
    for piece in [Piece::Text("a".into()), Piece::Text("b".into()), part(0, "{"), part(1, "["), part(1, "]")] {
        cassette::push(&mut answer, piece);
    }
    assert_eq!(answer, [Piece::Text("ab".into()), part(0, "{"), part(1, "[]")]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "files of the test's own")]
fn cassettes_hold_no_keys_and_what_is_none_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.cassette.json");
    assert_eq!(cassette::load(&path), Ok(Vec::new()), "none is there");
    let end = json!({"end": {"reason": "stop", "usage": {}, "model": null}});
    let answer = vec![Piece::Text("sk-secret".into()), serde_json::from_value(end).unwrap()];
    let exchange = Exchange { fingerprint: "f".into(), request: json!({"q": "sk-secret"}), answer };
    cassette::save(&path, &[exchange], &["sk-secret".to_owned(), "s".to_owned()]).unwrap();
    let read = cassette::load(&path).unwrap();
    assert_eq!((&read[0].request, &read[0].answer[0]), (&json!({"q": "***"}), &Piece::Text("***".into())));
    for (text, fault) in [
        ("{", "is no cassette"),
        ("{\"cassette\": 2, \"exchanges\": 7}", "is in form 2"),
        ("{\"cassette\": 1, \"exchanges\": [{\"fingerprint\": \"f\", \"request\": 1, \"answer\": []}]}", "has no end"),
    ] {
        std::fs::write(&path, text).unwrap();
        let refused = cassette::load(&path).unwrap_err();
        assert!(refused.contains(fault), "{refused}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn files_that_say_nothing_or_too_much_are_refused_with_the_place() {
    for (text, fault) in [
        ("tests = []", "there is no test"),
        ("[[tests]]\nname = \"a\"\nturns = []", "says nothing"),
        ("[[tests]]\nname = \"a\"\n[[tests.turns]]\nsay = \" \"", "is empty"),
        ("[[tests]]\nname = \"a\"\n[[tests.turns]]\nsya = \"x\"", "line 4"),
        ("[[tests]]\nname = \"a\"\n[[tests.turns]]\nsay = \"x\"\nmatches = [\"(\"]", "no regular expression"),
        ("[[tests]]\nname = \"a\"\n[[tests.turns]]\nsay = \"x\"\nfinish = \"done\"", "unknown variant `done`"),
        ("[[tools]]\nname = \"t\"\n[[tests]]\nname = \"a\"\n[[tests.turns]]\nsay = \"x\"", "`result` or `error`"),
        (
            "[[tests]]\nname = \"a\"\n[[tests.turns]]\nsay = \"x\"\n[[tests]]\nname = \"a\"\n[[tests.turns]]\nsay = \"x\"",
            "two tests are called \"a\"",
        ),
    ] {
        let refused = parse(text.as_bytes()).unwrap_err();
        assert!(refused.contains(fault), "{fault}: {refused}");
    }
}

fn turn(expected: &str) -> Turn {
    let text = format!("[[tests]]\nname = \"a\"\n[[tests.turns]]\nsay = \"x\"\n{expected}");
    parse(text.as_bytes()).unwrap().tests.remove(0).turns.remove(0)
}

fn came() -> Came {
    let Value::Object(arguments) = json!({"place": {"city": "Berlin", "days": 2}}) else { panic!() };
    let called = Called { offered: "files_read".into(), written: "mcp:files/read".into(), arguments };
    let usage = serde_json::from_value(json!({"total_tokens": 12})).unwrap();
    Came { answer: "21 degrees".into(), calls: vec![called], model_calls: 2, usage, end: Ok(FinishReason::Stop) }
}

#[test]
fn what_is_as_expected_has_no_faults() {
    for expected in [
        "",
        "contains = [\"21\"]\nlacks = [\"22\"]\nmatches = ['^\\d+ degrees$']\nmax_model_calls = 2\nmax_tokens = 12",
        "calls = [{ tool = \"files_read\" }]",
        "calls = [{ tool = \"mcp:files/read\", arguments = { place = { city = \"Berlin\", days = 2.0 } } }]",
    ] {
        assert_eq!(judge(&turn(expected), &came()), [], "{expected}");
    }
}

#[test]
fn each_thing_that_is_not_is_a_fault() {
    for (expected, fault) in [
        ("contains = [\"22\"]", "does not contain \"22\""),
        ("lacks = [\"21\"]", "contains \"21\""),
        ("matches = [\"^x\"]", "matches `^x`"),
        ("max_model_calls = 1", "max_model_calls"),
        ("max_tokens = 11", "max_tokens"),
        ("finish = \"length\"", "ends otherwise"),
        ("calls = []", "calls of tools differ"),
        ("calls = [{ tool = \"files_read\", arguments = { place = { city = \"Paris\" } } }]", "calls of tools differ"),
        ("calls = [{ tool = \"files_read\" }, { tool = \"files_read\" }]", "calls of tools differ"),
    ] {
        let faults = judge(&turn(expected), &came());
        assert!(faults.len() == 1 && faults[0].what.contains(fault), "{expected}: {faults:?}");
    }
}

#[test]
fn reports_keep_to_80_columns() {
    let long = "word ".repeat(60) + &"漢".repeat(90);
    let fault = Fault { turn: 1, expected: Some(long.clone()), got: Some(String::new()), ..Fault::new(long.clone()) };
    let test = TestReport { faults: vec![fault], said: Some(long.clone()), turns: 1, ..TestReport::new(&long) };
    let report = FileReport { tests: vec![test], ..FileReport::new("agents/x.test.toml", "x") };
    let text = report.text();
    let columns = |line: &str| unicode_width::UnicodeWidthStr::width(line);
    assert!(text.lines().all(|line| columns(line) <= 80), "{text}");
    assert!(text.contains("          - word") && text.contains("          + (nothing)"), "{text}");
}

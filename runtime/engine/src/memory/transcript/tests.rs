use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

type Row = (Role, Vec<Part>);

fn read_rows(rows: &[Row]) -> Vec<PromptMessage> {
    read(rows.iter().map(|(role, parts)| (*role, parts.as_slice())))
}

fn call(id: &str) -> Part {
    Part::ToolCall(ToolCall { id: id.into(), name: "t".into(), arguments: Map::new(), malformed: None })
}

fn result(id: &str) -> Part {
    Part::ToolResult(ToolResult {
        call_id: id.into(),
        name: "t".into(),
        output: json!({"ok": id}),
        is_error: false,
        duration_ms: 1,
    })
}

/// The prompt in short: `u`, `a:text[c1,c2]`, `t[c1,c2!]` (`!` an error result).
fn short(prompt: &[PromptMessage]) -> String {
    let one = |message: &PromptMessage| match message {
        PromptMessage::System(_) => "s".to_owned(),
        PromptMessage::User(_) => "u".to_owned(),
        PromptMessage::Assistant { text, calls, .. } => {
            let ids: Vec<_> = calls.iter().map(|call| call.id.as_str()).collect();
            format!("a:{text}[{}]", ids.join(","))
        }
        PromptMessage::Tool(results) => {
            let ids: Vec<_> =
                results.iter().map(|r| format!("{}{}", r.call_id, if r.is_error { "!" } else { "" })).collect();
            format!("t[{}]", ids.join(","))
        }
    };
    prompt.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn check(parts: Vec<Part>, expected: &str) {
    let rows = [(Role::User, vec![Part::text("q")]), (Role::Assistant, parts)];
    assert_eq!(short(&read_rows(&rows)), expected);
}

#[test]
fn a_turn_with_tools_becomes_steps() {
    check(
        vec![Part::text("hm"), call("1"), call("2"), result("1"), result("2"), Part::text("done")],
        "u a:hm[1,2] t[1,2] a:done[]",
    );
    check(vec![call("1"), result("1"), call("2"), result("2")], "u a:[1] t[1] a:[2] t[2]");
}

#[test]
fn results_follow_the_order_of_calls() {
    check(vec![call("1"), call("2"), result("2"), result("1")], "u a:[1,2] t[1,2]");
}

#[test]
fn a_call_without_result_is_answered_as_interrupted() {
    check(vec![call("1")], "u a:[1] t[1!]");
    check(vec![call("1"), call("2"), result("2")], "u a:[1,2] t[1!,2]");
}

#[test]
fn orphan_results_and_errors_vanish() {
    check(vec![result("9"), Part::text("x")], "u a:x[]");
    check(vec![Part::Error { code: "c".into(), message: "m".into() }], "u");
    check(vec![], "u");
}

#[test]
fn repeated_call_ids_are_told_apart() {
    check(vec![call("1"), result("1"), call("1"), result("1")], "u a:[1] t[1] a:[1_2] t[1_2]");
    check(vec![call("1"), call("1"), result("1"), result("1")], "u a:[1,1_2] t[1,1_2]");
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        "[a-c]{0,2}".prop_map(Part::text),
        "[1-3]{0,1}".prop_map(|id| call(&id)),
        "[1-3]{0,1}".prop_map(|id| result(&id)),
        Just(Part::Error { code: "c".into(), message: "m".into() }),
        Just(Part::Reasoning { text: "r".into(), opaque: Some(json!(1)) }),
    ]
}

fn any_row() -> impl Strategy<Value = Row> {
    let role = prop_oneof![Just(Role::System), Just(Role::User), Just(Role::Assistant)];
    (role, prop::collection::vec(any_part(), 0..8))
}

proptest! {
    #[test]
    fn whatever_the_rows_the_prompt_is_legal(rows in prop::collection::vec(any_row(), 0..12)) {
        let prompt = read_rows(&rows);
        let mut seen = HashSet::new();
        let mut open: Vec<String> = Vec::new();
        for message in &prompt {
            match message {
                PromptMessage::System(_) => prop_assert!(false, "no system rows in history"),
                PromptMessage::User(parts) => {
                    prop_assert!(open.is_empty());
                    prop_assert!(!parts.is_empty());
                }
                PromptMessage::Assistant { text, calls, .. } => {
                    prop_assert!(open.is_empty());
                    prop_assert!(!text.is_empty() || !calls.is_empty());
                    for call in calls {
                        prop_assert!(seen.insert(call.id.clone()), "call id twice");
                        open.push(call.id.clone());
                    }
                }
                PromptMessage::Tool(results) => {
                    let ids: Vec<_> = results.iter().map(|r| r.call_id.clone()).collect();
                    prop_assert_eq!(&ids, &open);
                    open.clear();
                }
            }
        }
        prop_assert!(open.is_empty(), "every call has its result");
    }
}

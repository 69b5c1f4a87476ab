use proptest::prelude::*;
use serde_json::{Map, json};

use super::rules::Dialect;
use super::*;

type Row = (Role, Vec<Part>);

fn read_rows(rows: &[Row]) -> Vec<PromptMessage> {
    read(rows.iter().map(|(role, parts)| (*role, parts.as_slice())), ResultCap::default())
}

/// What a model is given, with results of at most [`CAP`] bytes.
fn prompt(rows: &[Row]) -> Vec<PromptMessage> {
    for_model(rows.iter().map(|(role, parts)| (*role, parts.as_slice())), ResultCap::new(CAP, true))
}

const CAP: usize = 1_500;

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

fn long_result(id: &str, length: usize) -> Part {
    let output =
        if length.is_multiple_of(2) { json!("é".repeat(length)) } else { json!([{"n": "é".repeat(length)}]) };
    let (call_id, name) = (id.to_owned(), "t".to_owned());
    Part::ToolResult(ToolResult { call_id, name, output, is_error: length.is_multiple_of(3), duration_ms: 1 })
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

#[test]
fn blank_words_are_no_message_and_odd_ids_and_names_become_legal() {
    check(vec![Part::text(" \n")], "u");
    check(vec![call("a.b/c"), result("a.b/c")], "u a:[a_b_c] t[a_b_c]");
    check(vec![call("a.b"), call("a/b"), result("a.b"), result("a/b")], "u a:[a_b,a_b_2] t[a_b,a_b_2]");
    let long = "x".repeat(90);
    let prompt = read_rows(&[(Role::User, vec![Part::text("q")]), (Role::Assistant, vec![call(&long), call(&long)])]);
    let PromptMessage::Assistant { calls, .. } = &prompt[1] else { panic!("{prompt:?}") };
    assert!(calls.iter().all(|call| call.id.len() <= 40) && calls[0].id != calls[1].id);
}

#[test]
fn an_answer_after_an_answer_goes_on_with_it() {
    let rows = [
        (Role::User, vec![Part::text("q")]),
        (Role::Assistant, vec![Part::text("a")]),
        (Role::Assistant, vec![Part::text("b"), call("1"), result("1")]),
    ];
    assert_eq!(short(&read_rows(&rows)), "u a:a\n\nb[1] t[1]");
}

#[test]
fn what_a_model_is_given_begins_with_a_person_and_ends_for_the_model() {
    let for_model = |rows: &[Row]| short(&prompt(rows));
    let answer = || (Role::Assistant, vec![Part::text("a")]);
    let question = || (Role::User, vec![Part::text("q")]);
    assert_eq!(for_model(&[answer(), question()]), "u a:a[] u");
    assert_eq!(for_model(&[question(), answer()]), "u a:a[] u");
    assert_eq!(for_model(&[(Role::User, vec![Part::text(" ")])]), "u");
    assert_eq!(for_model(&[]), "u");
    assert_eq!(for_model(&[question(), (Role::Assistant, vec![call("1"), result("1")])]), "u a:[1] t[1]");
}

#[test]
fn results_above_the_cap_are_fed_as_their_beginning_and_end_wherever_they_stand() {
    let rows = [
        (Role::User, vec![Part::text("q")]),
        (Role::Assistant, vec![call("1"), call("2"), long_result("2", 2_000), result("1"), Part::text("a")]),
        (Role::User, vec![Part::text("q".repeat(5_000))]),
        (Role::Assistant, vec![call("3"), long_result("3", 2_001)]),
    ];
    let prompt = prompt(&rows);
    assert_eq!(short(&prompt), "u a:[1,2] t[1,2] a:a[] u a:[3] t[3!]");
    let texts = |at: usize| match &prompt[at] {
        PromptMessage::Tool(results) => results.iter().map(|result| result.output.clone()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(texts(2)[0], json!({"ok": "1"}), "what fits stays what it is");
    assert!(texts(2)[1].as_str().is_some_and(|text| text.contains("of 4000 bytes")), "{:?}", texts(2));
    assert!(texts(6)[0].as_str().is_some_and(|text| text.starts_with("[{\"n\":\"éé") && text.ends_with("é\"}]")));
    assert!(matches!(&prompt[4], PromptMessage::User(parts) if parts == &[UserPart::Text("q".repeat(5_000))]));
}

/// The checker itself refuses what providers refuse.
#[test]
fn the_rules_refuse_what_providers_refuse() {
    let user = || PromptMessage::User(vec![UserPart::Text("q".into())]);
    let says = |text: &str, ids: &[&str]| {
        let calls = ids.iter().map(|id| ToolCall {
            id: (*id).into(),
            name: "t".into(),
            arguments: Map::new(),
            malformed: None,
        });
        PromptMessage::Assistant { text: text.into(), reasoning: Vec::new(), calls: calls.collect() }
    };
    let answers = |ids: &[&str]| {
        let result = |id: &&str| ToolResult {
            call_id: (*id).into(),
            name: "t".into(),
            output: json!(1),
            is_error: false,
            duration_ms: 0,
        };
        PromptMessage::Tool(ids.iter().map(result).collect())
    };
    let legal = vec![user(), says("", &["1", "2"]), answers(&["1", "2"]), says("a", &[]), user()];
    for dialect in Dialect::ALL {
        assert_eq!(rules::check(dialect, &legal), Ok(()), "{dialect:?}");
    }
    let refused = |messages: Vec<PromptMessage>| {
        assert!(Dialect::ALL.iter().any(|dialect| rules::check(*dialect, &messages).is_err()), "{}", short(&messages));
    };
    refused(vec![]);
    refused(vec![says("a", &[]), user()]);
    refused(vec![user(), says("a", &[])]);
    refused(vec![user(), says("", &["1"]), user()]);
    refused(vec![user(), says("", &["1"])]);
    refused(vec![user(), says("", &["1", "2"]), answers(&["2", "1"])]);
    refused(vec![user(), says("", &["1"]), answers(&["1", "2"])]);
    refused(vec![user(), answers(&["1"])]);
    refused(vec![user(), says("", &["1"]), answers(&["1"]), says("", &["1"]), answers(&["1"])]);
    refused(vec![user(), says("a", &[]), says("", &["1"]), answers(&["1"])]);
    refused(vec![user(), says(" ", &["1"]), answers(&["1"])]);
    refused(vec![user(), says("", &["a.b"]), answers(&["a.b"])]);
    let long = "x".repeat(41);
    refused(vec![user(), says("", &[&long]), answers(&[&long])]);
    refused(vec![PromptMessage::User(Vec::new())]);
    refused(vec![user(), PromptMessage::System("s".into()), user()]);
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{0,2}", Just(" ".to_owned()), Just("\n".to_owned())]
}

fn any_id() -> impl Strategy<Value = String> {
    prop_oneof!["[1-3]{0,1}", Just("x.y/z".to_owned()), Just("漢".to_owned()), Just("l".repeat(70))]
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        any_text().prop_map(Part::text),
        any_id().prop_map(|id| call(&id)),
        any_id().prop_map(|id| result(&id)),
        (any_id(), 0_usize..3_000).prop_map(|(id, length)| long_result(&id, length)),
        Just(Part::Error { code: "c".into(), message: "m".into() }),
        Just(Part::Reasoning { text: "r".into(), opaque: Some(json!(1)) }),
    ]
}

fn any_row() -> impl Strategy<Value = Row> {
    let role = prop_oneof![Just(Role::System), Just(Role::User), Just(Role::Assistant)];
    (role, prop::collection::vec(any_part(), 0..8))
}

/// What every history must be, whatever was stored.
fn assert_legal(rows: &[Row]) {
    let prompt = prompt(rows);
    for dialect in Dialect::ALL {
        assert_eq!(rules::check(dialect, &prompt), Ok(()), "{dialect:?}: {}", short(&prompt));
    }
    for message in &prompt {
        let PromptMessage::Tool(results) = message else { continue };
        for ToolResult { output, .. } in results {
            let length = output.as_str().map_or_else(|| output.to_string().len(), str::len);
            assert!(length <= CAP, "{length}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    /// 10,000 histories, each cut by a window at both ends and in the middle of its last row, as a crash leaves it.
    #[test]
    fn whatever_the_rows_and_cuts_every_provider_takes_the_prompt(
        rows in prop::collection::vec(any_row(), 0..12),
        from in 0_usize..12,
        to in 0_usize..13,
        crash in 0_usize..8,
    ) {
        let mut cut: Vec<Row> = rows.into_iter().take(to).skip(from).collect();
        if let Some((_, parts)) = cut.last_mut() {
            parts.truncate(crash);
        }
        assert_legal(&cut);
        cut.push((Role::User, vec![Part::text("next?")]));
        assert_legal(&cut);
    }
}

#[path = "../../../../../fuzz/rows.rs"]
mod fuzz_rows;

/// What fuzzing found worth keeping stays legal: the corpus runs as an ordinary test.
#[test]
#[expect(clippy::disallowed_methods, reason = "the corpus is files of this project")]
fn the_corpus_of_the_fuzz_target_is_legal() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/transcript");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        assert_legal(&fuzz_rows::rows(&std::fs::read(entry.unwrap().path()).unwrap()));
        seen += 1;
    }
    assert!(seen >= 8, "{seen}");
}

proptest! {
    #[test]
    fn whatever_the_bytes_every_provider_takes_the_prompt(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        assert_legal(&fuzz_rows::rows(&bytes));
    }
}

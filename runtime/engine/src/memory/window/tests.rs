use roster_model::id::MessageId;
use roster_model::message::{Message, MessageStatus, Role, Seq, ToolCall, ToolResult};
use roster_model::time::Timestamp;
use serde_json::{Map, Value, json};

use super::*;
use crate::definition::orchestration::ORCHESTRATE;

fn row(seq: u64, parts: Vec<Part>) -> StoredMessage {
    let message = Message {
        id: MessageId::new(format!("m{seq}")).unwrap(),
        role: Role::User,
        parts,
        created_at: Timestamp::from_millis(0),
        status: MessageStatus::Complete,
        origin: None,
        metadata: Map::new(),
    };
    StoredMessage { seq: Seq(seq), turn: None, message }
}

/// Rows of 5 tokens each: 4 for the message and 1 for its letters.
fn rows(count: u64) -> Vec<StoredMessage> {
    (1..=count).map(|seq| row(seq, vec![Part::text("abcd")])).collect()
}

fn result(output: Value) -> Part {
    let (call_id, name) = ("1".to_owned(), "t".to_owned());
    Part::ToolResult(ToolResult { call_id, name, output, is_error: false, duration_ms: 0 })
}

fn seqs(rows: &[StoredMessage]) -> Vec<u64> {
    rows.iter().map(|row| row.seq.0).collect()
}

#[test]
fn the_estimate_is_as_documented() {
    let check = |part: Part, expected: u32| assert_eq!(estimate_tokens(&[part], ResultCap::default()), expected + 4);
    check(Part::text("abcde"), 2);
    check(Part::text("猫在"), 2);
    check(Part::text(""), 0);
    check(
        Part::File {
            media_type: "image/png".into(),
            data: roster_model::message::FileData::Url("u".into()),
            name: None,
        },
        256,
    );
    let arguments = json!({"a": 1}).as_object().unwrap().clone();
    check(Part::ToolCall(ToolCall { id: "1".into(), name: "tool".into(), arguments, malformed: None }), 1 + 2);
    check(result(json!("abcd")), 1);
    check(result(json!({"a": 1})), 2);
    check(result(json!("é".repeat(32 * 1024))), 32 * 1024);
    assert_eq!(estimate_tokens(&[], ResultCap::default()), 4);
}

#[test]
fn without_a_budget_everything_is_kept() {
    let fitted = fit(rows(3), None, ResultCap::default());
    assert_eq!((seqs(&fitted.kept), fitted.cut.len(), fitted.left), (vec![1, 2, 3], 0, None));
}

#[test]
fn the_oldest_rows_go_first_and_the_edge_is_exact() {
    for (budget, kept, left) in [
        (15, vec![1, 2, 3], 0),
        (14, vec![2, 3], 4),
        (10, vec![2, 3], 0),
        (9, vec![3], 4),
        (4, vec![], 4),
        (0, vec![], 0),
    ] {
        let fitted = fit(rows(3), Some(budget), ResultCap::default());
        assert_eq!(seqs(&fitted.kept), kept, "{budget}");
        assert_eq!(fitted.cut.len() + fitted.kept.len(), 3);
        assert_eq!(fitted.left, Some(left), "{budget}");
    }
}

#[test]
fn what_is_kept_is_the_newest_without_a_gap() {
    let mut mixed = rows(3);
    mixed[1] = row(2, vec![Part::text("x".repeat(400))]);
    assert_eq!(
        seqs(&fit(mixed, Some(20), ResultCap::default()).kept),
        [3],
        "row 1 would fit, but not with row 2 between"
    );
}

#[test]
fn a_result_costs_what_is_fed_of_it() {
    let cap = ResultCap::new(2_000, true);
    for output in [json!("x".repeat(1_000_000)), json!(vec!["x"; 300_000])] {
        let measured = measure(&[result(output.clone())], cap);
        assert!((480..=504).contains(&measured.tokens), "{}", measured.tokens);
        let [cut] = measured.cut.as_slice() else { panic!("{measured:?}") };
        let whole = output.as_str().map_or_else(|| output.to_string().len(), str::len);
        assert_eq!((cut.call.as_str(), cut.tool.as_str(), cut.bytes), ("1", "t", whole));
        assert_eq!(cut.fed, cap.fed(&output).text.len());
    }
    let mut long = rows(3);
    long[1] = row(2, vec![result(json!("x".repeat(1_000_000)))]);
    let fitted = fit(long, Some(520), cap);
    assert_eq!(seqs(&fitted.kept), [1, 2, 3], "as it is fed, it fits");
}

#[test]
fn the_record_of_an_orchestration_is_not_fed_and_costs_nothing() {
    let arguments = json!({"pattern": "parallel"}).as_object().unwrap().clone();
    let call = ToolCall { id: "1".into(), name: ORCHESTRATE.into(), arguments, malformed: None };
    let output = json!({"stages": ["x".repeat(100_000)]});
    let result = ToolResult { call_id: "1".into(), name: ORCHESTRATE.into(), output, is_error: false, duration_ms: 0 };
    let measured = measure(&[Part::ToolCall(call), Part::ToolResult(result)], ResultCap::default());
    assert_eq!(measured, Measured { tokens: 4, cut: Vec::new() });
}

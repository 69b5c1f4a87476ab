use proptest::prelude::*;
use serde_json::json;

use super::*;

const CAP: usize = 2_000;

fn cap() -> ResultCap {
    ResultCap::new(CAP, true)
}

/// The beginning, the note and the end of what is fed.
fn taken_apart(fed: &str) -> (&str, &str, &str) {
    let from = fed.find("\n\n[This result is").expect("a note");
    let to = from + fed[from..].find("]\n\n").expect("its end") + "]\n\n".len();
    (&fed[..from], &fed[from..to], &fed[to..])
}

/// Cut, within the cap, a beginning and an end of `whole`, as the note says.
fn assert_cut(fed: &FedResult<'_>, whole: &str) {
    assert_eq!(fed.cut_from, Some(whole.len()));
    assert!(fed.text.len() <= CAP && fed.text.len() > CAP - NOTE, "{}", fed.text.len());
    let (head, note, tail) = taken_apart(&fed.text);
    assert!(whole.starts_with(head) && whole.ends_with(tail), "{head}{tail}");
    assert!(head.len() > 2 * tail.len() && tail.len() > 400, "{} {}", head.len(), tail.len());
    let told = format!("{} of {} bytes", head.len() + tail.len(), whole.len());
    assert!(note.contains(&told), "{note} {told}");
}

#[test]
fn what_fits_is_fed_whole_and_a_byte_more_is_not() {
    for (length, whole) in [(0, true), (CAP - 1, true), (CAP, true), (CAP + 1, false), (50 * CAP, false)] {
        let text = "x".repeat(length);
        let output = json!(text);
        let fed = cap().fed(&output);
        assert_eq!(fed.cut_from.is_none(), whole, "{length}");
        if whole {
            assert!(matches!(fed.text, Cow::Borrowed(same) if same == text), "{length}");
        } else {
            assert_cut(&fed, &text);
        }
    }
}

#[test]
fn characters_stay_whole_wherever_the_cut_falls() {
    for letter in ["é", "漢", "😀"] {
        for shift in 0..4 {
            let text = format!("{}{}", "a".repeat(shift), letter.repeat(3_000));
            assert_cut(&cap().fed(&json!(text)), &text);
            // In JSON a quote stands before and after it.
            let list = json!([text]);
            assert_cut(&cap().fed(&list), &list.to_string());
        }
    }
}

#[test]
fn what_is_no_text_is_fed_as_its_json() {
    let small = json!({"ok": [1, null, "é"]});
    assert_eq!(cap().fed(&small), FedResult { text: small.to_string().into(), cut_from: None });
    for rows in [150, 151, 152, 200, 10_000] {
        let table: Vec<Value> = (0..rows).map(|n| json!({"n": n})).collect();
        let (output, text) = (json!(table), json!(table).to_string());
        match cap().fed(&output) {
            fed if text.len() <= CAP => assert_eq!((fed.cut_from, &*fed.text), (None, text.as_str())),
            fed => assert_cut(&fed, &text),
        }
    }
}

#[test]
fn json_at_the_cap_is_whole_and_its_end_may_lie_in_what_was_read_first() {
    for over in 0..600 {
        let output = json!(["x".repeat(CAP - 4 + over)]);
        let fed = cap().fed(&output);
        if over == 0 { assert_eq!(fed.cut_from, None) } else { assert_cut(&fed, &output.to_string()) }
    }
}

#[test]
fn what_is_not_stored_is_not_said_to_be() {
    let long = json!("x".repeat(CAP * 2));
    assert!(cap().fed(&long).text.contains("The whole is stored."));
    assert!(!ResultCap::new(CAP, false).fed(&long).text.contains("stored"));
}

#[test]
fn no_cap_is_too_small_for_the_note() {
    let least = ResultCap::new(0, true);
    let huge = json!("x".repeat(10_000_000));
    let fed = least.fed(&huge);
    assert!(fed.text.len() <= ResultCap::LEAST, "{}", fed.text.len());
    assert!(taken_apart(&fed.text).1.len() <= NOTE);
}

#[test]
fn a_large_value_is_not_written_into_memory_whole() {
    let table = json!(vec!["some words"; 100_000]);
    let mut ends = Ends { most: CAP, tail_most: 400, ..Ends::default() };
    serde_json::to_writer(&mut ends, &table).unwrap();
    assert_eq!(ends.bytes, table.to_string().len());
    assert!(ends.head.capacity() + ends.tail.capacity() < 4 * CAP);
}

#[test]
fn a_failed_result_is_cut_and_stays_failed() {
    let whole = ToolResult {
        call_id: "1".into(),
        name: "t".into(),
        output: json!("e".repeat(CAP * 3)),
        is_error: true,
        duration_ms: 7,
    };
    let fed = cap().result(&whole);
    assert_cut(&cap().fed(&whole.output), &"e".repeat(CAP * 3));
    assert_eq!(fed, ToolResult { output: json!(cap().fed(&whole.output).text), ..whole.clone() });
    let mut parts = [Part::text("x".repeat(CAP * 3)), Part::ToolResult(whole)];
    cap().cut(&mut parts);
    assert_eq!(parts, [Part::text("x".repeat(CAP * 3)), Part::ToolResult(fed)]);
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::from),
        "\\PC{0,300}".prop_map(Value::from),
        (0_usize..3_000).prop_map(|length| json!("é\"\n".repeat(length))),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-c]{1,40}", inner, 0..6).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_the_output_it_is_whole_or_within_the_cap_and_never_cut_twice(output in any_value(), most in 0_usize..5_000) {
        let cap = ResultCap::new(most, true);
        let whole = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
        let fed = cap.fed(&output);
        prop_assert!(fed.text.len() <= cap.most());
        match fed.cut_from {
            None => prop_assert_eq!(&*fed.text, &whole),
            Some(bytes) => {
                prop_assert_eq!(bytes, whole.len());
                let (head, _, tail) = taken_apart(&fed.text);
                prop_assert!(bytes > cap.most() && whole.starts_with(head) && whole.ends_with(tail));
            }
        }
        let again = Value::String(fed.text.clone().into_owned());
        prop_assert_eq!(cap.fed(&again), FedResult { text: fed.text, cut_from: None });
    }
}

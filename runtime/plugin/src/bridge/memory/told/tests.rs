use serde_json::json;

use super::*;

fn given(seqs: &[(u64, &str)]) -> Vec<contract::Row> {
    let one = |(seq, id): &(u64, &str)| contract::Row {
        seq: *seq,
        turn: None,
        message: contract::Message {
            id: (*id).to_owned(),
            role: "user".to_owned(),
            parts: vec![json!({ "type": "text", "text": "hi" })],
            ..contract::Message::default()
        },
    };
    seqs.iter().map(one).collect()
}

#[test]
fn newest_rows_come_as_they_were_asked_for() {
    let check = |seqs: &[(u64, &str)], good: bool| {
        let told = rows(given(seqs), 2, Some(Seq(5)));
        assert_eq!(told.is_ok(), good, "{seqs:?}: {told:?}");
        assert!(told.is_ok() || told.is_err_and(|error| error.code == "plugin_bad_output"));
    };
    check(&[], true);
    check(&[(3, "a"), (4, "b")], true);
    check(&[(2, "a"), (3, "b"), (4, "c")], false);
    check(&[(4, "a"), (5, "b")], false);
    check(&[(4, "a"), (3, "b")], false);
    check(&[(3, "a"), (3, "b")], false);
    check(&[(3, "a"), (4, "a")], false);
}

#[test]
fn a_page_of_messages_goes_on_behind_the_last() {
    let query = MessageQuery { limit: 2, before: MessageId::new("d").ok(), ..MessageQuery::default() };
    let check = |seqs: &[(u64, &str)], next: Option<&str>, good: bool| {
        let page = contract::Page { rows: given(seqs), total: u64::MAX, next: next.map(str::to_owned) };
        let told = messages(page, &query);
        assert_eq!(told.is_ok(), good, "{seqs:?}: {told:?}");
    };
    check(&[(3, "c"), (2, "b")], Some("b"), true);
    check(&[], None, true);
    check(&[], Some("b"), false);
    check(&[(4, "d"), (3, "c")], Some("c"), false);
    check(&[(2, "b"), (3, "c")], None, false);
    check(&[(3, "c"), (2, "b"), (1, "a")], None, false);
}

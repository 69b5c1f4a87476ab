use super::*;

fn call(id: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: "f".to_owned(), arguments: Map::new(), malformed: None }
}

#[test]
fn thinking_stands_where_it_stood_and_goes_to_its_own_dialect_only() {
    let piece = |dialect: &str, text: bool, calls: usize, data: &str| {
        (data.to_owned(), Some(opaque(dialect, After { text, calls }, json!(data))))
    };
    let reasoning = [
        piece("a", false, 0, "first"),
        piece("b", false, 0, "of another"),
        ("without".to_owned(), None),
        piece("a", true, 0, "after the words"),
        piece("a", true, 1, "between the calls"),
        piece("a", true, 2, "last"),
    ];
    let calls = [call("1"), call("2")];
    let shown: Vec<String> = in_order("a", "words", &reasoning, &calls)
        .into_iter()
        .map(|said| match said {
            Said::Thought { text, data } => format!("{text}={data}"),
            Said::Text(text) => text.to_owned(),
            Said::Call(call) => call.id.clone(),
        })
        .collect();
    assert_eq!(
        shown,
        [
            "first=\"first\"",
            "words",
            "after the words=\"after the words\"",
            "1",
            "between the calls=\"between the calls\"",
            "2",
            "last=\"last\""
        ]
    );
}

#[test]
fn what_is_stored_otherwise_is_no_thinking_of_this_dialect() {
    let reasoning = [("x".to_owned(), Some(json!("odd"))), ("y".to_owned(), Some(json!({"a": 1, "after": []})))];
    let said = in_order("a", "", &reasoning, &[]);
    assert_eq!(said, [Said::Thought { text: "y", data: &json!(1) }]);
}

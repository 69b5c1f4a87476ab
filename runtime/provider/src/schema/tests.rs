use serde_json::json;

use super::{is_closed, is_strict};

#[test]
fn strict_is_a_schema_whose_objects_are_closed_and_whole() {
    let inner = |closed: bool| {
        json!({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"],
            "additionalProperties": !closed})
    };
    let outer = |required: &[&str], inner| {
        json!({"type": "object", "properties": {"a": {"type": "array", "items": inner}, "n": {"type": "number"}},
            "required": required, "additionalProperties": false})
    };
    assert!(is_strict(&outer(&["a", "n"], inner(true))));
    assert!(!is_strict(&outer(&["a"], inner(true))), "`n` may be left out");
    assert!(!is_strict(&outer(&["a", "n"], inner(false))), "the inner object is open");
    assert!(!is_strict(&json!({"type": "object"})));
    assert!(is_strict(&json!({"type": "string"})));
}

#[test]
fn closed_is_a_schema_whose_objects_allow_nothing_more() {
    assert!(is_closed(
        &json!({"type": "object", "properties": {"a": {"type": "number"}}, "additionalProperties": false})
    ));
    assert!(!is_closed(&json!({"type": "array", "items": {"type": "object"}})));
    assert!(is_closed(&json!({"type": "array", "items": {"type": "string"}})));
}

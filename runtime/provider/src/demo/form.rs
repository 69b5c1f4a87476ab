//! Answers of a form: the least document that a schema asks for. It fits the schemas people write; where one asks for
//! more (a pattern, say), the answer does not fit, and the turn says so.

use serde_json::{Map, Value, json};

/// Schemas inside schemas that are followed.
const DEEPEST: u8 = 16;
/// Entries of a list, and letters of a text, that are made up at most.
const MOST: u64 = 64;

/// The least document for this schema.
pub(super) fn least(schema: &Value) -> Value {
    value(schema, schema, DEEPEST)
}

fn value(schema: &Value, root: &Value, depth: u8) -> Value {
    let Some(depth) = depth.checked_sub(1) else { return Value::Null };
    if let Some(given) = given(schema) {
        return given.clone();
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#')) {
        return value(root.pointer(target).unwrap_or(&Value::Null), root, depth);
    }
    if let Some(first) = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(key)?.get(0)) {
        return value(first, root, depth);
    }
    match kind(schema) {
        "object" => Value::Object(object(schema, root, depth)),
        "array" => {
            let item = schema.get("items").map_or(Value::Null, |items| value(items, root, depth));
            (0..count(schema, "minItems")).map(|_| item.clone()).collect()
        }
        "string" => text(schema).into(),
        "integer" | "number" => number(schema),
        "boolean" => false.into(),
        _ => Value::Null,
    }
}

/// A value that the schema itself names.
fn given(schema: &Value) -> Option<&Value> {
    let first = |key: &str| schema.get(key)?.get(0);
    schema.get("const").or_else(|| schema.get("default")).or_else(|| first("examples")).or_else(|| first("enum"))
}

fn kind(schema: &Value) -> &str {
    let named = schema.get("type").and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    named.unwrap_or(if schema.get("properties").is_some() { "object" } else { "null" })
}

fn object(schema: &Value, root: &Value, depth: u8) -> Map<String, Value> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let of = |name: &str| schema.get("properties").and_then(|all| all.get(name)).unwrap_or(&Value::Null);
    required.map(|name| (name.to_owned(), value(of(name), root, depth))).collect()
}

fn count(schema: &Value, key: &str) -> u64 {
    schema.get(key).and_then(Value::as_u64).unwrap_or_default().min(MOST)
}

fn text(schema: &Value) -> String {
    let most = schema.get("maxLength").and_then(Value::as_u64).unwrap_or(MOST);
    let least = count(schema, "minLength");
    let filled = "demo".chars().chain(std::iter::repeat('.'));
    filled.take(usize::try_from(least.max(4).min(most)).unwrap_or(4)).collect()
}

fn number(schema: &Value) -> Value {
    let whole = |key: &str| schema.get(key).and_then(Value::as_i64);
    let above = whole("exclusiveMinimum").and_then(|bound| bound.checked_add(1));
    let below = whole("exclusiveMaximum").and_then(|bound| bound.checked_sub(1));
    let (least, most) = (whole("minimum").or(above), whole("maximum").or(below));
    json!(0.max(least.unwrap_or(i64::MIN)).min(most.unwrap_or(i64::MAX)))
}

//! Schemas of answers, as far as providers are particular about them.

use serde_json::{Map, Value};

/// Whether every object in the schema names all its properties as required and allows no others: what providers ask of
/// a schema that they are to keep to strictly. Others are sent as a wish.
pub(crate) fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => is_strict_object(map) && map.values().all(is_strict),
        Value::Array(all) => all.iter().all(is_strict),
        _ => true,
    }
}

/// Whether every object in the schema allows no properties but its own.
pub(crate) fn is_closed(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            let is_object = map.contains_key("properties") || map.get("type") == Some(&Value::from("object"));
            let allows_more = map.get("additionalProperties") != Some(&Value::Bool(false));
            !(is_object && allows_more) && map.values().all(is_closed)
        }
        Value::Array(all) => all.iter().all(is_closed),
        _ => true,
    }
}

/// What a model is told where its provider cannot be asked to keep to a schema.
pub(crate) fn instruction(schema: &Value) -> String {
    format!("Answer with one JSON document and nothing else. It must be valid by this JSON Schema:\n{schema}")
}

fn is_strict_object(map: &Map<String, Value>) -> bool {
    let Some(Value::Object(properties)) = map.get("properties") else {
        // An object without `properties` may hold anything.
        return map.get("type") != Some(&Value::from("object"));
    };
    let required = map.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_closed = map.get("additionalProperties") == Some(&Value::Bool(false));
    is_closed && properties.keys().all(|name| required.iter().any(|one| one == name))
}

#[cfg(test)]
mod tests;

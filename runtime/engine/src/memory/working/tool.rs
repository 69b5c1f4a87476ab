//! The tool `update_working_memory` as the model is offered it.

use serde_json::{Map, Value, json};

use super::merge::{OBJECT_RULE, TEXT_RULE};
use crate::definition::WorkingForm;

/// The name the model calls it by.
pub const WORKING_MEMORY_TOOL: &str = "update_working_memory";

/// What it does, with the rule of joining.
#[must_use]
pub fn description(form: &WorkingForm) -> String {
    let rule = match form {
        WorkingForm::Template(_) => TEXT_RULE,
        WorkingForm::Schema(_) => OBJECT_RULE,
    };
    format!("Writes to your working memory, which you are shown at every turn. {rule}")
}

/// The schema of its one argument, `memory`: a text, or an object of the definition's schema in which every field may
/// be left out or be null.
#[must_use]
pub fn input_schema(form: &WorkingForm) -> Value {
    let memory = match form {
        WorkingForm::Template(_) => json!({"type": "string", "description": "The complete new text."}),
        WorkingForm::Schema(schema) => {
            let mut relaxed = relaxed(schema);
            relaxed.insert("type".to_owned(), json!("object"));
            Value::Object(relaxed)
        }
    };
    json!({"type": "object", "properties": {"memory": memory}, "required": ["memory"], "additionalProperties": false})
}

/// The schema of a change: no field is required and each may be null, in nested objects too.
fn relaxed(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut change = schema.clone();
    for key in ["required", "minProperties", "dependentRequired"] {
        change.shift_remove(key);
    }
    if let Some(Value::Object(properties)) = change.get_mut("properties") {
        for field in properties.values_mut() {
            *field = nullable(field);
        }
    }
    change
}

fn nullable(field: &Value) -> Value {
    let Value::Object(schema) = field else { return field.clone() };
    json!({"anyOf": [relaxed(schema), {"type": "null"}]})
}

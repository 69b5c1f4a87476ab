//! JSON Schemas of what people write, made from the same description the checker follows. Draft 7, which every TOML
//! editor understands.

use serde_json::{Map, Value, json};

use super::keys::AGENT;
use super::orchestration::MOST_STAGES;
use super::shape::{Key, ListShape, Shape, Status, TableShape, TextRule};

/// The schema of `agents/<id>.toml`.
#[must_use]
pub fn agent() -> Value {
    let mut schema = of_file(&AGENT, "An agent of Roster", false);
    // Exactly one of the two; the loader says the same in words.
    schema["oneOf"] = json!([{ "required": ["instructions"] }, { "required": ["instructions_file"] }]);
    if let Some(stages) = schema.pointer_mut("/properties/orchestration/properties/stages") {
        stages["maxItems"] = json!(MOST_STAGES);
    }
    // At most one of these two, likewise.
    if let Some(working) = schema.pointer_mut("/properties/memory/anyOf/1/properties/working_memory") {
        working["not"] = json!({ "required": ["template", "schema"] });
    }
    schema
}

/// The schema of a file. With `expands`, `${NAME}` may stand in every string.
#[must_use]
pub fn of_file(shape: &TableShape, title: &str, expands: bool) -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#"));
    schema.insert("title".to_owned(), json!(title));
    schema.extend(Writer { expands }.table(shape));
    Value::Object(schema)
}

/// A schema as it is checked in: indented, with a line end.
#[must_use]
pub fn to_text(schema: &Value) -> String {
    format!("{schema:#}\n")
}

struct Writer {
    expands: bool,
}

impl Writer {
    fn key(&self, key: &Key) -> Value {
        let mut schema = match key.status {
            Status::Built => self.shape(&key.shape),
            Status::Refused => object([("not", json!({}))]),
            Status::Passed => Map::new(),
        };
        let about = match key.status {
            Status::Built => key.about.to_owned(),
            Status::Refused | Status::Passed => format!("{} This version does not have it yet.", key.about),
        };
        schema.insert("description".to_owned(), json!(about));
        if let Some(default) = key.default.and_then(|json| serde_json::from_str::<Value>(json).ok()) {
            schema.insert("default".to_owned(), default);
        }
        Value::Object(schema)
    }

    fn shape(&self, shape: &Shape) -> Map<String, Value> {
        match shape {
            Shape::Bool => object([("type", json!("boolean"))]),
            Shape::OnlyFalse | Shape::False => object([("const", json!(false))]),
            Shape::Integer(least, most) => integer(*least, *most),
            Shape::Number(least, most) => {
                object([("type", json!("number")), ("minimum", json!(least)), ("maximum", json!(most))])
            }
            Shape::Text => object([("type", json!("string"))]),
            Shape::Rule(rule) => self.rule(rule),
            Shape::Choice(choices) => self.choice(choices),
            Shape::List(list) => self.list(list),
            Shape::Table(table) => self.table(table),
            Shape::Either(shapes) => {
                let either: Vec<Value> = shapes.iter().map(|shape| Value::Object(self.shape(shape))).collect();
                object([("anyOf", Value::Array(either))])
            }
            Shape::Any => Map::new(),
        }
    }

    fn rule(&self, rule: &TextRule) -> Map<String, Value> {
        let plain = object([("type", json!("string")), ("pattern", json!(rule.pattern))]);
        self.or_variable(plain)
    }

    fn choice(&self, choices: &[(&str, Status)]) -> Map<String, Value> {
        let built: Vec<&str> =
            choices.iter().filter(|(_, status)| *status != Status::Refused).map(|(name, _)| *name).collect();
        self.or_variable(object([("enum", json!(built))]))
    }

    /// What a variable holds is known only where the file is read.
    fn or_variable(&self, plain: Map<String, Value>) -> Map<String, Value> {
        if !self.expands {
            return plain;
        }
        object([("anyOf", json!([plain, { "type": "string", "pattern": "\\$\\{" }]))])
    }

    fn list(&self, list: &ListShape) -> Map<String, Value> {
        let mut schema = object([("type", json!("array")), ("items", Value::Object(self.shape(&list.item)))]);
        if list.least > 0 {
            schema.insert("minItems".to_owned(), json!(list.least));
        }
        if list.unique {
            schema.insert("uniqueItems".to_owned(), json!(true));
        }
        schema
    }

    fn table(&self, table: &TableShape) -> Map<String, Value> {
        let mut schema = object([("type", json!("object"))]);
        let required: Vec<&str> = table.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        if !table.keys.is_empty() {
            let keys = table.keys.iter().map(|key| (key.name.to_owned(), self.key(key)));
            schema.insert("properties".to_owned(), Value::Object(keys.collect()));
        }
        let others = table.others.map_or(json!(false), |others| self.key(others));
        schema.insert("additionalProperties".to_owned(), others);
        if let Some(rule) = table.names {
            let known = table.keys.iter().map(|key| key.name);
            let names = json!({ "anyOf": [{ "pattern": rule.pattern }, { "enum": known.collect::<Vec<_>>() }] });
            let names = if table.keys.is_empty() { json!({ "pattern": rule.pattern }) } else { names };
            schema.insert("propertyNames".to_owned(), names);
        }
        schema
    }
}

fn integer(least: i64, most: i64) -> Map<String, Value> {
    let mut schema = object([("type", json!("integer"))]);
    if least != i64::MIN {
        schema.insert("minimum".to_owned(), json!(least));
    }
    if most != i64::MAX {
        schema.insert("maximum".to_owned(), json!(most));
    }
    schema
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Map<String, Value> {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

//! Arguments: from the text a model wrote to a checked JSON object, or a fault the model can act on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

/// Why a call is not run. Told to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentFault {
    /// What is wrong and what was expected.
    pub message: String,
}

/// Reads the text of a call's arguments. Empty or blank is an empty object; anything else that is not exactly one JSON
/// object (broken, cut, two objects glued, `null`, a list, a number) is a fault: such a call is never run.
///
/// # Errors
/// [`ArgumentFault`] says what was there instead.
pub fn parse_arguments(text: &str) -> Result<Map<String, Value>, ArgumentFault> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    let found = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(map)) => return Ok(map),
        Ok(Value::Null) => "`null`".to_owned(),
        Ok(Value::Array(_)) => "a list".to_owned(),
        Ok(Value::Bool(_)) => "a boolean".to_owned(),
        Ok(Value::Number(_)) => "a number".to_owned(),
        Ok(Value::String(_)) => "a text".to_owned(),
        Err(error) if error.is_eof() => "JSON that ends too early".to_owned(),
        Err(error) => format!("no legal JSON ({error})"),
    };
    Err(ArgumentFault { message: format!("the arguments are {found}; expected exactly one JSON object") })
}

/// A compiled schema of a tool's arguments.
pub struct Validator {
    compiled: jsonschema::Validator,
    schema_text: String,
}

/// The longest schema told back to a model in full.
const SCHEMA_SHOWN: usize = 2_000;
/// Characters of a fault that are told; of a longer one the value is left out.
const FAULT_SHOWN: usize = 400;

impl Validator {
    /// Compiles a schema.
    ///
    /// # Errors
    /// The text says what is wrong with the schema.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let compiled = jsonschema::validator_for(schema).map_err(|error| error.to_string())?;
        Ok(Self { compiled, schema_text: schema.to_string() })
    }

    /// The first faults of a value, each with its place; `None` when it fits.
    #[must_use]
    pub fn faults(&self, value: &Value) -> Option<String> {
        if self.compiled.is_valid(value) {
            return None;
        }
        let told = |error: jsonschema::ValidationError<'_>| {
            let fault: String = match error.instance_path().as_str() {
                "" => error.to_string(),
                place => format!("`{place}`: {error}"),
            };
            match fault.char_indices().nth(FAULT_SHOWN) {
                // The value stands first and is what is long; what is wrong with it stands last.
                Some(_) => match error.instance_path().as_str() {
                    "" => error.masked().to_string(),
                    place => format!("`{place}`: {}", error.masked()),
                },
                None => fault,
            }
        };
        Some(self.compiled.iter_errors(value).take(8).map(told).collect::<Vec<_>>().join("; "))
    }

    /// Adds the schema to what a model is told, unless it is too long.
    pub fn tell_schema(&self, message: &mut String) {
        if self.schema_text.len() <= SCHEMA_SHOWN {
            message.push_str(". Expected: ");
            message.push_str(&self.schema_text);
        }
    }

    /// Checks arguments.
    ///
    /// # Errors
    /// [`ArgumentFault`] lists every fault with its place, and the schema.
    pub fn check(&self, arguments: &Map<String, Value>) -> Result<(), ArgumentFault> {
        let Some(faults) = self.faults(&Value::Object(arguments.clone())) else { return Ok(()) };
        let mut message = format!("the arguments do not fit the schema: {faults}");
        self.tell_schema(&mut message);
        Err(ArgumentFault { message })
    }
}

/// Compiled schemas, shared by all agents that use the same tool: a compiled schema takes kilobytes.
#[derive(Default)]
pub struct Schemas(Mutex<HashMap<String, Compiled>>);

/// A schema, and what checks values against it.
pub type Compiled = (Arc<Value>, Arc<Validator>);

impl Schemas {
    /// The schema compiled, once for each distinct text.
    ///
    /// # Errors
    /// As [`Validator::new`].
    pub fn get(&self, schema: Value) -> Result<Compiled, String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = schema.to_string();
        if let Some(found) = known.get(&text) {
            return Ok(found.clone());
        }
        let compiled = Arc::new(Validator::new(&schema)?);
        let made = (Arc::new(schema), compiled);
        known.insert(text, made.clone());
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Validator {
        Validator::new(&json!({
            "type": "object",
            "properties": {"amount": {"type": "number"}},
            "required": ["amount"],
        }))
        .expect("legal schema")
    }

    #[test]
    fn blank_is_an_empty_object() {
        for text in ["", "  ", "{}", "\n"] {
            assert_eq!(parse_arguments(text), Ok(Map::new()), "{text:?}");
        }
    }

    #[test]
    fn everything_but_one_object_is_a_fault() {
        for text in ["{\"amount\": 5", "{\"amount\":5}{\"amount\":6}", "null", "[]", "5", "\"x\"", "{amount:5}"] {
            let fault = parse_arguments(text).expect_err(text);
            assert!(fault.message.contains("expected exactly one JSON object"), "{}", fault.message);
        }
    }

    #[test]
    fn the_fault_names_the_place_and_the_schema() {
        let check = |text: &str| schema().check(&parse_arguments(text).expect("object"));
        assert!(check("{\"amount\":5}").is_ok());
        let wrong = check("{\"amount\":\"5\"}").expect_err("a text is no number").message;
        assert!(wrong.contains("/amount") && wrong.contains("number"), "{wrong}");
        let missing = check("{}").expect_err("required").message;
        assert!(missing.contains("amount") && missing.contains("Expected: {"), "{missing}");
    }
}

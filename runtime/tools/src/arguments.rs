//! A call's arguments: the schema of a tool's own type, and reading into it.

use roster_model::tool::ToolError;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Reads the arguments. The schema was checked before; this guards the callers that did not.
///
/// # Errors
/// Code `invalid_arguments`, naming what does not fit.
pub(crate) fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|fault| ToolError { code: "invalid_arguments", message: format!("the arguments do not fit: {fault}") })
}

/// The JSON Schema of `T`, as models are told it: without the names of our types.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let inlined = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = inlined.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.to_value()
}

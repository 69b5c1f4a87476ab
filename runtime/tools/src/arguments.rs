//! Reading a call's arguments into a tool's own type.

use roster_model::tool::ToolError;
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

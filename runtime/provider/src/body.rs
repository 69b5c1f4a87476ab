//! Bodies of requests: what the dialects that write them as JSON trees share.

use roster_model::provider::{ModelSettings, ProviderError, ProviderErrorKind};
use serde_json::{Map, Value};

/// Writes the body, after putting in the options that are passed through: each replaces what stands there, except that
/// an object named in `joined` is joined with it, and that nothing in `kept` is touched.
///
/// # Errors
/// `BadRequest` when it cannot be written, which JSON values always can.
pub(crate) fn written(
    mut body: Map<String, Value>,
    settings: &ModelSettings,
    kept: &[&str],
    joined: &[&str],
) -> Result<Vec<u8>, ProviderError> {
    for (name, option) in &settings.provider_options {
        if kept.contains(&name.as_str()) {
            continue;
        }
        match (body.get_mut(name), option) {
            (Some(Value::Object(there)), Value::Object(more)) if joined.contains(&name.as_str()) => {
                there.extend(more.clone());
            }
            _ => drop(body.insert(name.clone(), option.clone())),
        }
    }
    serde_json::to_vec(&body).map_err(|error| {
        ProviderError::new(ProviderErrorKind::BadRequest, format!("the request cannot be written: {error}"))
    })
}

/// Puts a field that is there.
pub(crate) fn put(body: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body.insert(name.to_owned(), value.into());
    }
}

/// A result of a tool as text.
pub(crate) fn as_text(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

//! Where the real providers refuse a request, dialect by dialect.

mod chat;
mod contents;
mod messages;
mod responses;

use serde_json::Value;

use super::dialect::ServerDialect;
use super::recorded::RecordedRequest;

pub use chat::strict_fault;

/// The first reason for which a strict provider of this dialect would refuse the request; `None` when it would take it.
/// Headers that must be there are checked too, except the key.
#[must_use]
pub fn strict_fault_of(dialect: ServerDialect, request: &RecordedRequest) -> Option<String> {
    let body = request.json();
    match dialect {
        ServerDialect::Chat => chat::strict_fault(body),
        ServerDialect::Responses => object(body).and_then(responses::check).err(),
        ServerDialect::Messages if request.header("anthropic-version").is_none() => {
            Some("anthropic-version: header is required".to_owned())
        }
        ServerDialect::Messages => object(body).and_then(messages::check).err(),
        ServerDialect::Contents => object(body).and_then(|body| contents::check(body, request.path())).err(),
    }
}

fn object(body: Option<&Value>) -> Result<&Value, String> {
    body.filter(|body| body.is_object()).ok_or_else(|| "the body is not a JSON object".to_owned())
}

/// # Errors
/// The first field that the provider does not know.
fn known(value: &Value, fields: &[&str], place: &str) -> Result<(), String> {
    let unknown = value.as_object().and_then(|map| map.keys().find(|key| !fields.contains(&key.as_str())));
    unknown.map_or(Ok(()), |key| Err(format!("{place}{key}: Extra inputs are not permitted")))
}

/// # Errors
/// When it is no name of a tool.
fn named(name: &Value) -> Result<&str, String> {
    let name = name.as_str().unwrap_or_default();
    let legal = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if legal && (1..=64).contains(&name.len()) {
        return Ok(name);
    }
    Err(format!("'{name}' does not match '^[a-zA-Z0-9_-]{{1,64}}$'"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;

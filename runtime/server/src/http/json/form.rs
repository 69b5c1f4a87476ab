//! A body of the wrong form, told in words of the people who write it: which field, what it must be, what it is.

use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

use crate::http::error::ApiError;

/// Reads the body once more, now keeping track of where it stands; only bodies that were refused come here.
pub(super) fn fault<T: DeserializeOwned>(body: &[u8]) -> ApiError {
    let mut reader = serde_json::Deserializer::from_slice(body);
    match serde_path_to_error::deserialize::<_, T>(&mut reader) {
        Ok(_) => ApiError::invalid("the body is not of the expected form"),
        Err(error) => {
            let place = place(error.path());
            let told = error.into_inner().to_string();
            describe(&place, told.rsplit_once(" at line ").map_or(told.as_str(), |(told, _)| told))
        }
    }
}

/// `messages.0.role`; empty for the whole body.
fn place(path: &Path) -> String {
    let mut place = String::new();
    for segment in path {
        let step = match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } => key.clone(),
            Segment::Enum { variant } => variant.clone(),
            Segment::Unknown => continue,
        };
        if !place.is_empty() {
            place.push('.');
        }
        place.push_str(&step);
    }
    place
}

fn describe(place: &str, told: &str) -> ApiError {
    if let Some(name) = quoted(told, "missing field `") {
        let name = if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
        return ApiError::invalid(format!("`{name}` is missing")).param(name);
    }
    if let Some(name) = quoted(told, "duplicate field `") {
        return ApiError::invalid(format!("the body holds `{name}` twice")).param(name);
    }
    let subject = if place.is_empty() { "the body".to_owned() } else { format!("`{place}`") };
    let message = match told.split_once(", expected ") {
        Some((found, wanted)) => match found_words(found) {
            Some(found) => format!("{subject} must be {}, not {found}", wanted_words(wanted)),
            None => format!("{subject} must be {}", wanted_words(wanted)),
        },
        None => format!("{subject} is not of the expected form: {told}"),
    };
    let error = ApiError::invalid(message);
    if place.is_empty() { error } else { error.param(place) }
}

fn quoted<'a>(told: &'a str, before: &str) -> Option<&'a str> {
    told.strip_prefix(before)?.strip_suffix('`')
}

/// What the parser calls the value it found. Texts are never repeated: they may be long, or secret.
fn found_words(found: &str) -> Option<String> {
    let value = found.strip_prefix("invalid type: ").or_else(|| found.strip_prefix("invalid value: "));
    let Some(value) = value else { return found.starts_with("invalid length").then(|| "a list".to_owned()) };
    let number = |value: &str| value.trim_matches('`').to_owned();
    let (kind, rest) = value.split_once(' ').unwrap_or((value, ""));
    Some(match kind {
        "string" => "a text".to_owned(),
        "integer" | "boolean" => number(rest),
        "floating" => number(rest.strip_prefix("point ").unwrap_or(rest)),
        "sequence" => "a list".to_owned(),
        "map" => "an object".to_owned(),
        "null" => "null".to_owned(),
        "unit" => "empty".to_owned(),
        _ => return None,
    })
}

/// What it must be. Words the doors' own readers use stay as they are.
fn wanted_words(wanted: &str) -> &str {
    match wanted {
        "f32" | "f64" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of at least 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "a boolean" => "`true` or `false`",
        "a string" | "a borrowed string" => "a text",
        "a sequence" => "a list",
        "a map" => "an object",
        "unit" => "null",
        wanted if wanted.starts_with("struct ") => "an object",
        wanted if wanted.starts_with("tuple ") => "a list",
        wanted => wanted,
    }
}

#[cfg(test)]
mod tests;

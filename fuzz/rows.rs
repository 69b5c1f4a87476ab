//! Bytes as stored rows: what the fuzz target and the ordinary tests feed the transcript reader.

use roster_model::message::{FileData, Part, Role, ToolCall, ToolResult};
use serde_json::{Map, Value};

/// Reads bytes as rows. Every byte string is some history; a byte begins a row or a part, and texts and ids follow with
/// their length first.
pub(super) fn rows(bytes: &[u8]) -> Vec<(Role, Vec<Part>)> {
    let mut rows: Vec<(Role, Vec<Part>)> = Vec::new();
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first % 10 {
            0 => rows.push((Role::User, Vec::new())),
            1 => rows.push((Role::Assistant, Vec::new())),
            2 => rows.push((Role::System, Vec::new())),
            kind => {
                let (part, after) = part(kind, rest);
                rest = after;
                match rows.last_mut() {
                    Some((_, parts)) => parts.push(part),
                    None => rows.push((Role::User, vec![part])),
                }
            }
        }
    }
    rows
}

fn part(kind: u8, bytes: &[u8]) -> (Part, &[u8]) {
    let (text, rest) = text(bytes);
    let part = match kind {
        3 | 4 => Part::Text { text },
        5 | 6 => Part::ToolCall(ToolCall { name: text.clone(), id: text, arguments: Map::new(), malformed: None }),
        7 => {
            let output = Value::String(text.clone());
            Part::ToolResult(ToolResult { name: text.clone(), call_id: text, output, is_error: false, duration_ms: 0 })
        }
        8 => Part::Reasoning { text, opaque: Some(Value::Null) },
        _ => Part::File { media_type: "image/png".to_owned(), data: FileData::Base64(text), name: None },
    };
    (part, rest)
}

fn text(bytes: &[u8]) -> (String, &[u8]) {
    let Some((length, rest)) = bytes.split_first() else { return (String::new(), bytes) };
    let (text, rest) = rest.split_at(usize::from(*length % 64).min(rest.len()));
    (String::from_utf8_lossy(text).into_owned(), rest)
}

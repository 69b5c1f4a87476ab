//! What a tool of a server gave, as the model is told it: words and structured values. What a model cannot read in a
//! tool's result (images, sounds, binary files) is described and left out. How much of it a model is fed is none of ours.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

use super::secrets::cut;

/// A result, or what the tool says went wrong.
pub(super) fn read(result: CallToolResult) -> Result<Value, String> {
    if result.is_error == Some(true) {
        let words = words(&result.content);
        return Err(if words.is_empty() { "the tool failed without a word".to_owned() } else { cut(&words, 8_000) });
    }
    let only_words = result.content.iter().all(|block| matches!(block, ContentBlock::Text(_)));
    match result.structured_content {
        // A server repeats it as text for clients that know no better.
        Some(value) if only_words => Ok(value),
        Some(value) => Ok(json!({"content": blocks(result.content), "structured": value})),
        None if only_words => Ok(Value::String(words(&result.content))),
        None => Ok(Value::Array(blocks(result.content))),
    }
}

fn words(content: &[ContentBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn blocks(content: Vec<ContentBlock>) -> Vec<Value> {
    let one = |block| match block {
        ContentBlock::Text(text) => json!({"type": "text", "text": text.text}),
        ContentBlock::Image(image) => left_out("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => left_out("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                json!({"type": "resource", "uri": uri, "text": text})
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let mut value = left_out("resource", mime_type.as_deref().unwrap_or("application/octet-stream"), &blob);
                value["uri"] = Value::String(uri);
                value
            }
            _ => json!({"type": "resource", "note": "of an unknown kind; left out"}),
        },
        ContentBlock::ResourceLink(link) => {
            let mut value = json!({"type": "resource_link", "uri": link.uri, "name": link.name});
            for (key, text) in [("description", link.description), ("mimeType", link.mime_type)] {
                if let Some(text) = text {
                    value[key] = Value::String(text);
                }
            }
            value
        }
        _ => json!({"note": "content of an unknown kind; left out"}),
    };
    content.into_iter().map(one).collect()
}

fn left_out(kind: &str, media_type: &str, base64: &str) -> Value {
    let bytes = base64.len() / 4 * 3;
    json!({"type": kind, "mimeType": media_type, "bytes": bytes, "note": "not text; left out"})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(result: Value, expected: Value) {
        let result: CallToolResult = serde_json::from_value(result).expect("legal");
        assert_eq!(read(result), Ok(expected));
    }

    #[test]
    fn words_are_words_and_structured_values_are_values() {
        check(json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}), json!("a\nb"));
        check(json!({"content": []}), json!(""));
        check(
            json!({"content": [{"type": "text", "text": "{\"n\":1}"}], "structuredContent": {"n": 1}}),
            json!({"n": 1}),
        );
    }

    #[test]
    fn what_is_no_text_is_described() {
        check(
            json!({"content": [
                {"type": "text", "text": "see"},
                {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                {"type": "resource_link", "uri": "file:///a", "name": "a"},
                {"type": "resource", "resource": {"uri": "file:///b", "text": "words"}},
                {"type": "resource", "resource": {"uri": "file:///c", "blob": "AAAAAAAA"}},
            ]}),
            json!([
                {"type": "text", "text": "see"},
                {"type": "image", "mimeType": "image/png", "bytes": 3, "note": "not text; left out"},
                {"type": "resource_link", "uri": "file:///a", "name": "a"},
                {"type": "resource", "uri": "file:///b", "text": "words"},
                {"type": "resource", "mimeType": "application/octet-stream", "bytes": 6, "note": "not text; left out", "uri": "file:///c"},
            ]),
        );
    }

    #[test]
    fn errors_keep_their_words_and_long_texts_are_whole() {
        let failed = json!({"content": [{"type": "text", "text": "no such file"}], "isError": true});
        assert_eq!(read(serde_json::from_value(failed).expect("legal")), Err("no such file".to_owned()));
        let long = json!({"content": [{"type": "text", "text": "é".repeat(500_000)}]});
        let read = read(serde_json::from_value(long).expect("legal")).expect("a text");
        assert_eq!(read, json!("é".repeat(500_000)));
    }
}

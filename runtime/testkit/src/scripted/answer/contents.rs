//! Gemini's contents.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Answer, frame, object, words};

/// What the provider signs the first call of an answer with.
const SIGNATURE: &str = "c2NyaXB0ZWQtdGhvdWdodA==";

impl Answer {
    /// Thoughts word by word, text word by word, calls, and a last chunk with the finish reason and the tokens.
    pub(super) fn contents_frames(&self) -> Vec<Bytes> {
        let thoughts = words(&self.reasoning).map(|word| json!({"text": word, "thought": true}));
        let text = words(&self.text).map(|word| json!({"text": word}));
        let parts: Vec<Value> = thoughts.chain(text).chain(self.function_calls()).collect();
        let mut frames: Vec<Bytes> =
            parts.iter().map(|part| frame(&self.chunk(std::slice::from_ref(part), None))).collect();
        // There is no end mark but the finish reason.
        if self.done_mark {
            frames.push(frame(&self.chunk(&[], Some(self.finish_or("STOP", "STOP")))));
        }
        frames
    }

    pub(super) fn contents_body(&self) -> Value {
        let mut parts = Vec::new();
        if !self.reasoning.is_empty() {
            parts.push(json!({"text": self.reasoning, "thought": true}));
        }
        if !self.text.is_empty() {
            parts.push(json!({"text": self.text}));
        }
        parts.extend(self.function_calls());
        self.chunk(&parts, Some(self.finish_or("STOP", "STOP")))
    }

    fn function_calls(&self) -> impl Iterator<Item = Value> {
        self.calls.iter().enumerate().map(|(number, call)| {
            let mut part = json!({"functionCall": {"id": call.id, "name": call.name, "args": object(&call.arguments)}});
            if number == 0 {
                part["thoughtSignature"] = json!(SIGNATURE);
            }
            part
        })
    }

    fn chunk(&self, parts: &[Value], finish: Option<&str>) -> Value {
        let mut candidate = json!({"index": 0});
        if !parts.is_empty() {
            candidate["content"] = json!({"role": "model", "parts": parts});
        }
        let mut chunk = json!({"modelVersion": self.model, "responseId": "scripted"});
        if let Some(finish) = finish {
            candidate["finishReason"] = json!(finish);
            if let Some((input, output)) = self.usage {
                chunk["usageMetadata"] = json!({"promptTokenCount": input, "candidatesTokenCount": output,
                    "totalTokenCount": input + output});
            }
        }
        chunk["candidates"] = json!([candidate]);
        chunk
    }
}

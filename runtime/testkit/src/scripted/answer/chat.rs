//! Chat completions.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{Answer, Call, frame, words};

impl Answer {
    /// The frames of a stream: role, thinking word by word, text word by word, calls, finish, usage, done mark.
    pub(super) fn chat_frames(&self, with_usage: bool) -> Vec<Bytes> {
        let mut frames = vec![self.choice(&json!({"role": "assistant", "content": ""}), None)];
        frames.extend(words(&self.reasoning).map(|word| self.choice(&json!({"reasoning_content": word}), None)));
        frames.extend(words(&self.text).map(|word| self.choice(&json!({"content": word}), None)));
        for (index, call) in self.calls.iter().enumerate() {
            let start = json!({"index": index, "id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": ""}});
            frames.push(self.choice(&json!({"tool_calls": [start]}), None));
            let arguments = json!({"index": index, "function": {"arguments": call.arguments}});
            frames.push(self.choice(&json!({"tool_calls": [arguments]}), None));
        }
        frames.push(self.choice(&json!({}), Some(self.finish_or("stop", "tool_calls"))));
        if let (true, Some(usage)) = (with_usage, self.usage_object()) {
            let mut chunk = self.envelope("chat.completion.chunk");
            chunk.insert("choices".to_owned(), json!([]));
            chunk.insert("usage".to_owned(), usage);
            frames.push(frame(&Value::Object(chunk)));
        }
        if self.done_mark {
            frames.push(Bytes::from_static(b"data: [DONE]\n\n"));
        }
        frames
    }

    pub(super) fn chat_body(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.text});
        if !self.reasoning.is_empty() {
            message["reasoning_content"] = json!(self.reasoning);
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.iter().map(whole_call).collect();
            if self.text.is_empty() {
                message["content"] = Value::Null;
            }
        }
        let mut body = self.envelope("chat.completion");
        let choice = json!({"index": 0, "message": message, "finish_reason": self.finish_or("stop", "tool_calls")});
        body.insert("choices".to_owned(), json!([choice]));
        if let Some(usage) = self.usage_object() {
            body.insert("usage".to_owned(), usage);
        }
        Value::Object(body)
    }

    fn usage_object(&self) -> Option<Value> {
        let (input, output) = self.usage?;
        Some(json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}))
    }

    fn envelope(&self, object: &str) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("id".to_owned(), json!("chatcmpl-scripted"));
        map.insert("object".to_owned(), json!(object));
        map.insert("created".to_owned(), json!(1_700_000_000));
        map.insert("model".to_owned(), json!(self.model));
        map
    }

    fn choice(&self, delta: &Value, finish: Option<&str>) -> Bytes {
        let mut chunk = self.envelope("chat.completion.chunk");
        chunk.insert("choices".to_owned(), json!([{"index": 0, "delta": delta, "finish_reason": finish}]));
        frame(&Value::Object(chunk))
    }
}

fn whole_call(call: &Call) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
}

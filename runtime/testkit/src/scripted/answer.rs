//! A model's answer in the form of chat completions, as frames of a stream and as one body.

use bytes::Bytes;
use serde_json::{Map, Value, json};

/// One call of a tool in an answer.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// What a model says, before it is put in a form.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) model: String,
    pub(super) reasoning: String,
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    /// `None`: by what the answer holds.
    pub(super) finish: Option<String>,
    /// Tokens of prompt and answer; `None`: the server never tells.
    pub(super) usage: Option<(u64, u64)>,
    pub(super) done_mark: bool,
}

impl Answer {
    pub(super) fn new() -> Self {
        Self {
            model: "scripted-1".to_owned(),
            reasoning: String::new(),
            text: String::new(),
            calls: Vec::new(),
            finish: None,
            usage: Some((7, 3)),
            done_mark: true,
        }
    }

    /// The frames of a stream: role, thinking word by word, text word by word, calls, finish, usage, done mark.
    pub(super) fn frames(&self, with_usage: bool) -> Vec<Bytes> {
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
        frames.push(self.choice(&json!({}), Some(self.finish())));
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

    /// The whole answer as one JSON body.
    pub(super) fn body(&self) -> Bytes {
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
        let choice = json!({"index": 0, "message": message, "finish_reason": self.finish()});
        body.insert("choices".to_owned(), json!([choice]));
        if let Some(usage) = self.usage_object() {
            body.insert("usage".to_owned(), usage);
        }
        Bytes::from(Value::Object(body).to_string())
    }

    fn finish(&self) -> &str {
        match &self.finish {
            Some(finish) => finish,
            None if self.calls.is_empty() => "stop",
            None => "tool_calls",
        }
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

fn frame(value: &Value) -> Bytes {
    Bytes::from(format!("data: {value}\n\n"))
}

/// Cuts after each run of blanks, so that the pieces joined are the text again.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ').filter(|word| !word.is_empty())
}

//! OpenAI's responses.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Answer, named_frame, words};

/// The encrypted form of all reasoning.
pub(in crate::scripted) const ENCRYPTED: &str = "gAAAAABscripted";

impl Answer {
    /// Start, an item each for reasoning, text and calls with their pieces, end mark with the whole.
    pub(super) fn responses_frames(&self) -> Vec<Bytes> {
        let mut frames = vec![self.event("response.created", &json!({"response": self.response("in_progress", &[])}))];
        for (number, item) in self.items().iter().enumerate() {
            let number = json!({"output_index": number});
            let with = |more: Value| merged(number.clone(), more);
            frames.push(self.event("response.output_item.added", &with(json!({"item": begun(item)}))));
            let (name, pieces): (&str, Vec<&str>) = match item["type"].as_str().unwrap_or_default() {
                "reasoning" => ("response.reasoning_summary_text.delta", words(&self.reasoning).collect()),
                "message" => ("response.output_text.delta", words(&self.text).collect()),
                _ => ("response.function_call_arguments.delta", item["arguments"].as_str().into_iter().collect()),
            };
            frames.extend(pieces.into_iter().map(|piece| self.event(name, &with(json!({"delta": piece})))));
            frames.push(self.event("response.output_item.done", &with(json!({"item": item}))));
        }
        if self.done_mark {
            let response = json!({"response": self.responses_body()});
            let is_whole = self.finish_or("stop", "stop") == "stop";
            frames.push(self.event(if is_whole { "response.completed" } else { "response.incomplete" }, &response));
        }
        frames
    }

    /// Every finish reason but `stop` leaves the answer incomplete.
    pub(super) fn responses_body(&self) -> Value {
        let finish = self.finish_or("stop", "stop");
        if finish == "stop" {
            return self.response("completed", &self.items());
        }
        let mut response = self.response("incomplete", &self.items());
        response["incomplete_details"] = json!({"reason": finish});
        response
    }

    fn items(&self) -> Vec<Value> {
        let mut items = Vec::new();
        if !self.reasoning.is_empty() {
            let summary = json!([{"type": "summary_text", "text": self.reasoning}]);
            items.push(json!({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": ENCRYPTED}));
        }
        if !self.text.is_empty() {
            let content = json!([{"type": "output_text", "text": self.text, "annotations": []}]);
            items.push(json!({"type": "message", "id": "msg_1", "role": "assistant", "content": content}));
        }
        items.extend(self.calls.iter().map(|call| {
            json!({"type": "function_call", "id": "fc_1", "call_id": call.id, "name": call.name,
                "arguments": call.arguments})
        }));
        items
    }

    fn response(&self, status: &str, output: &[Value]) -> Value {
        let mut response = json!({"id": "resp_scripted", "object": "response", "status": status, "model": self.model,
            "error": null, "incomplete_details": null, "output": output});
        if let (Some((input, output)), true) = (self.usage, status != "in_progress") {
            response["usage"] = json!({"input_tokens": input, "output_tokens": output, "total_tokens": input + output});
        }
        response
    }

    fn event(&self, name: &str, more: &Value) -> Bytes {
        named_frame(&merged(json!({"type": name}), more.clone()))
    }
}

/// The item as it begins: nothing in it yet.
fn begun(item: &Value) -> Value {
    let mut item = item.clone();
    for (key, nothing) in [("content", json!([])), ("summary", json!([])), ("arguments", json!(""))] {
        if item.get(key).is_some() {
            item[key] = nothing;
        }
    }
    item
}

fn merged(mut one: Value, more: Value) -> Value {
    if let (Value::Object(one), Value::Object(more)) = (&mut one, more) {
        one.extend(more);
    }
    one
}

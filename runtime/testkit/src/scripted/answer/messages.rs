//! Anthropic's messages.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Answer, named_frame, object, words};

/// What the provider signs thinking with.
pub(in crate::scripted) const SIGNATURE: &str = "c2NyaXB0ZWQtc2lnbmF0dXJl";

impl Answer {
    /// Start, a block each for thinking, text and calls with their pieces, stop reason, end mark.
    pub(super) fn messages_frames(&self) -> Vec<Bytes> {
        let mut frames = vec![named_frame(&json!({"type": "message_start", "message": self.message(&[], None)}))];
        let mut number = 0;
        let mut block = |first: &Value, pieces: Vec<Value>| {
            frames.push(named_frame(&json!({"type": "content_block_start", "index": number, "content_block": first})));
            for delta in pieces {
                frames.push(named_frame(&json!({"type": "content_block_delta", "index": number, "delta": delta})));
            }
            frames.push(named_frame(&json!({"type": "content_block_stop", "index": number})));
            number += 1;
        };
        if !self.reasoning.is_empty() {
            let thinking = words(&self.reasoning).map(|word| json!({"type": "thinking_delta", "thinking": word}));
            let signature = json!({"type": "signature_delta", "signature": SIGNATURE});
            block(&json!({"type": "thinking", "thinking": "", "signature": ""}), thinking.chain([signature]).collect());
        }
        if !self.text.is_empty() {
            let pieces = words(&self.text).map(|word| json!({"type": "text_delta", "text": word})).collect();
            block(&json!({"type": "text", "text": ""}), pieces);
        }
        for call in &self.calls {
            let first = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
            block(&first, vec![json!({"type": "input_json_delta", "partial_json": call.arguments})]);
        }
        let delta = json!({"stop_reason": self.finish_or("end_turn", "tool_use"), "stop_sequence": null});
        let mut last = json!({"type": "message_delta", "delta": delta});
        if let Some((_, output)) = self.usage {
            last["usage"] = json!({"output_tokens": output});
        }
        frames.push(named_frame(&last));
        if self.done_mark {
            frames.push(named_frame(&json!({"type": "message_stop"})));
        }
        frames
    }

    pub(super) fn messages_body(&self) -> Value {
        let mut blocks = Vec::new();
        if !self.reasoning.is_empty() {
            blocks.push(json!({"type": "thinking", "thinking": self.reasoning, "signature": SIGNATURE}));
        }
        if !self.text.is_empty() {
            blocks.push(json!({"type": "text", "text": self.text}));
        }
        for call in &self.calls {
            let input = object(&call.arguments);
            blocks.push(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}));
        }
        self.message(&blocks, Some(self.finish_or("end_turn", "tool_use")))
    }

    fn message(&self, content: &[Value], stop: Option<&str>) -> Value {
        let mut message = json!({"id": "msg_scripted", "type": "message", "role": "assistant", "model": self.model,
            "content": content, "stop_reason": stop, "stop_sequence": null});
        if let Some((input, output)) = self.usage {
            let output = if stop.is_some() { output } else { 0 };
            message["usage"] = json!({"input_tokens": input, "output_tokens": output});
        }
        message
    }
}

//! Whole answers, and what answers leave in prompts.

use roster_model::provider::PromptMessage;
use serde_json::{Value, json};

use crate::config::Dialect;
use crate::tests::goldens::whole;
use crate::tests::{call, completion, user, with_tools};

#[tokio::test]
async fn whole_answers_are_read_as_streams_are() {
    for (body, expected) in [
        (
            r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"hi"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":4,"cache_read_input_tokens":20,"cache_creation_input_tokens":0,"output_tokens":3}}"#,
            "reasoning \"hm\"\nopaque {\"anthropic\":{\"signature\":\"c2ln\"},\"after\":{\"text\":false,\"calls\":0}}\ntext \"hi\"\nend Stop 24/3/27/20/- claude-sonnet-4-5\n",
        ),
        (
            r#"{"type":"message","content":[{"type":"tool_use","id":"a","name":"weigh","input":{"box":1}},{"type":"tool_use","id":"b","name":"ping","input":{}}],"stop_reason":"tool_use"}"#,
            "call 0 a weigh\narguments 0 \"{\\\"box\\\":1}\"\ncall 1 b ping\nend ToolCalls -/-/-/-/- -\n",
        ),
        (
            r#"{"type":"message","content":[{"type":"text","text":"long"}],"stop_reason":"max_tokens"}"#,
            "text \"long\"\nend Length -/-/-/-/- -\n",
        ),
    ] {
        assert_eq!(whole(Dialect::Anthropic, body).await, expected, "{body}");
    }
}

#[tokio::test]
async fn whole_failures_keep_their_kind_and_tokens() {
    for (body, expected) in [
        (
            r#"{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":0}}"#,
            "error Empty 7/0/7/-/-",
        ),
        (r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, "error Overloaded"),
        (r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#, "error NotFound"),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 tokens > 1 maximum"}}"#,
            "error ContextLength",
        ),
        (r#"{"detail":"no"}"#, "error Server"),
        (r#"{"type":"mess"#, "error Protocol"),
        ("", "error Protocol"),
    ] {
        let shown = whole(Dialect::Anthropic, body).await;
        assert!(shown.starts_with(expected), "{body}: {shown}");
    }
}

/// What the stream left as opaque parts stands in the next request as the provider sent it.
#[tokio::test]
async fn thinking_goes_back_as_it_came() {
    let stream = include_str!("../../../tests/golden/anthropic/thinking-interleaved.deltas");
    let mut reasoning: Vec<(String, Option<Value>)> = Vec::new();
    for line in stream.lines() {
        if let Some(text) = line.strip_prefix("reasoning ") {
            reasoning.push((serde_json::from_str(text).expect("text"), None));
        } else if let (Some(opaque), Some(last)) = (line.strip_prefix("opaque "), reasoning.last_mut()) {
            last.1 = Some(serde_json::from_str(opaque).expect("JSON"));
        }
    }
    let calls = vec![call("a", json!({"box": 1})), call("b", json!({"box": 2}))];
    let said = PromptMessage::Assistant { text: "First.".to_owned(), reasoning, calls };
    let completion = with_tools(completion(vec![user("hi"), said]));
    let body = Dialect::Anthropic.wire(true).encode(&completion).expect("encoded");
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    let kinds: Vec<String> = body["messages"][1]["content"]
        .as_array()
        .expect("blocks")
        .iter()
        .map(|block| format!("{}{}", block["type"].as_str().expect("type"), block["signature"].as_str().unwrap_or("")))
        .collect();
    assert_eq!(kinds, ["thinkingczE=", "text", "thinkingczI=", "tool_use", "thinkingczM=", "tool_use"]);
}

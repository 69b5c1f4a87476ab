//! What each dialect's strict server takes, and that it refuses what differs from it in one place.

use serde_json::{Value, json};

use super::{contents, messages, responses};

/// Refuses the value with one field set otherwise (`null` takes it away), saying so.
fn refuses(check: impl Fn(&Value) -> Result<(), String>, good: &Value, changes: &[(&str, Value, &str)]) {
    assert_eq!(check(good), Ok(()));
    for (place, value, expected) in changes {
        let mut bad = good.clone();
        let target = bad.pointer_mut(place).unwrap_or_else(|| panic!("no {place}"));
        *target = value.clone();
        let fault = check(&bad).expect_err(place);
        assert!(fault.contains(expected), "{place}: {fault}");
    }
}

#[test]
fn messages_are_checked() {
    let good = json!({
        "model": "m", "max_tokens": 2000, "temperature": 1, "thinking": {"type": "enabled", "budget_tokens": 1024},
        "tool_choice": {"type": "auto"},
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object", "additionalProperties": false}}},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "u"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "", "signature": "c2NyaXB0ZWQtc2lnbmF0dXJl"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            ]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]},
        ],
    });
    refuses(
        messages::check,
        &good,
        &[
            ("/model", json!(""), "model"),
            ("/max_tokens", json!(null), "max_tokens"),
            ("/max_tokens", json!(1024), "must be greater"),
            ("/temperature", json!(0.5), "may only be set to 1"),
            ("/thinking/budget_tokens", json!(100), "1024"),
            ("/tool_choice/type", json!("any"), "forces tool use"),
            ("/tools/0/name", json!("a.b"), "does not match"),
            ("/tools/0/input_schema", json!({}), "Input should be 'object'"),
            ("/output_config/format/schema", json!({"type": "object"}), "additionalProperties"),
            ("/messages/0/role", json!("assistant"), "alternate"),
            ("/messages/0/content/0/text", json!(" "), "non-empty"),
            ("/messages/0/content", json!([]), "non-empty content"),
            ("/messages/1/content/0/signature", json!("forged"), "Invalid `signature`"),
            ("/messages/1/content/1/input", json!("{}"), "valid dictionary"),
            ("/messages/1/content/1/id", json!("b"), "unexpected `tool_use_id`"),
            ("/messages/2/content/0", json!({"type": "text", "text": "x"}), "without `tool_result`"),
            ("/messages/2/content/0/tool_use_id", json!("z"), "unexpected"),
        ],
    );
    let mut extra = good;
    extra["seed"] = json!(7);
    assert!(messages::check(&extra).expect_err("unknown").contains("seed"));
}

#[test]
fn contents_are_checked() {
    let good = json!({
        "generationConfig": {"topK": 1, "thinkingConfig": {"thinkingLevel": "low"}},
        "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "contents": [
            {"role": "user", "parts": [{"text": "u"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s"}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
        ],
    });
    let check = |body: &Value| contents::check(body, "/v1beta/models/gemini-3-flash:generateContent");
    refuses(
        check,
        &good,
        &[
            ("/generationConfig/thinkingConfig", json!({"thinkingLevel": "low", "thinkingBudget": 1}), "only set one"),
            ("/tools/0/functionDeclarations/0/name", json!("a b"), "does not match"),
            ("/toolConfig/functionCallingConfig/allowedFunctionNames/0", json!("g"), "no function declared"),
            ("/contents", json!([]), "not specified"),
            ("/contents/0/role", json!("model"), "take turns"),
            ("/contents/0/parts", json!([]), "must not be empty"),
            ("/contents/0/parts/0", json!({"words": "u"}), "words"),
            ("/contents/1/parts/0", json!({"functionCall": {"name": "f", "args": {}}}), "thought_signature"),
            ("/contents/1/parts/0/functionCall/args", json!("{}"), "must be an object"),
            ("/contents/2/parts/0/functionResponse/name", json!("g"), "equal to the number"),
            ("/contents/2/parts/0/functionResponse/response", json!("1"), "must be an object"),
        ],
    );
    let old = |body: &Value| contents::check(body, "/v1beta/models/gemini-2.5-flash:generateContent");
    assert!(old(&good).expect_err("a level").contains("not supported"));
    let stream = contents::check(&good, "/v1beta/models/gemini-3-flash:streamGenerateContent");
    assert!(stream.expect_err("no sse").contains("alt=sse"));
    let mut extra = good;
    extra["generationConfig"]["maxTokens"] = json!(1);
    assert!(check(&extra).expect_err("unknown").contains("maxTokens"));
}

#[test]
fn responses_are_checked() {
    let good = json!({
        "model": "m", "store": false, "max_output_tokens": 16,
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": {}}},
        "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": false}],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "u"}]},
            {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gAAAAABscripted"},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "1"},
        ],
    });
    refuses(
        responses::check,
        &good,
        &[
            ("/model", json!(""), "model"),
            ("/max_output_tokens", json!(5), ">= 16"),
            ("/text/format/name", json!(null), "text.format.name"),
            ("/tools/0/strict", json!(null), "strict"),
            ("/tools/0/name", json!("a.b"), "does not match"),
            ("/input", json!([]), "input"),
            ("/input/0/role", json!("robot"), "Invalid role"),
            ("/input/0/content/0/type", json!("text"), "Invalid value"),
            ("/input/1/encrypted_content", json!("forged"), "could not be verified"),
            ("/input/2", json!({"role": "user", "content": "x"}), "without its required following item"),
            ("/input/2/arguments", json!("[]"), "no JSON text of an object"),
            ("/input/3/call_id", json!("z"), "No tool call found"),
            ("/input/3", json!({"role": "user", "content": "x"}), "No tool output found"),
        ],
    );
    let mut extra = good;
    extra["stop"] = json!(["x"]);
    assert!(responses::check(&extra).expect_err("unknown").contains("stop"));
}

//! `/v1`.

use http::{Method, StatusCode};
use roster_model::message::MessageStatus;
use roster_model::provider::{Delta, ProviderError, ProviderErrorKind, StopReason, ToolChoice, Usage};
use serde_json::{Value, json};

use crate::double::{Say, call, end, fail, stop, words};
use crate::world::{Answer, World, ask as request, send};

const PATH: &str = "/v1/chat/completions";

fn ask(model: &str, extra: &Value) -> Value {
    let mut body = json!({"model": model, "messages": [{"role": "user", "content": "hi"}]});
    for (key, value) in extra.as_object().expect("an object") {
        body[key] = value.clone();
    }
    body
}

#[tokio::test]
async fn whole() {
    let world = World::new();
    world.model.say([Say::Delta(Delta::Reasoning("hm".into())), words("hel"), words("lo"), stop()]);
    let answer = world.post(PATH, &ask("echo", &json!({}))).await;
    assert_eq!(answer.status, StatusCode::OK);
    let body = answer.json();
    assert!(body["id"].as_str().expect("id").starts_with("chatcmpl-"));
    assert_eq!((&body["object"], &body["model"]), (&json!("chat.completion"), &json!("echo")));
    assert_eq!(body["created"], 1_893_456_000);
    let message = json!({"role": "assistant", "content": "hello", "refusal": null, "reasoning_content": "hm"});
    let choice = json!([{"index": 0, "message": message, "logprobs": null, "finish_reason": "stop"}]);
    assert_eq!(body["choices"], choice);
    assert_eq!(body["usage"], json!({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}));
}

#[tokio::test]
async fn streamed_byte_for_byte() {
    let world = World::new();
    world.model.say([Say::Delta(Delta::Reasoning("hm".into())), words("hi"), stop()]);
    let options = json!({"stream": true, "stream_options": {"include_usage": true}});
    let answer = world.post(PATH, &ask("echo", &options)).await;
    let id = answer.frames()[0]["id"].as_str().expect("id").to_owned();
    let head = format!(
        "data: {{\"id\":\"{id}\",\"object\":\"chat.completion.chunk\",\"created\":1893456000,\"model\":\"echo\",\"choices\":"
    );
    let chunk = |delta: &str, reason: &str| {
        format!(
            "{head}[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{reason}}}],\"usage\":null}}\n\n"
        )
    };
    let expected = [
        chunk("{\"role\":\"assistant\",\"content\":\"\"}", "null"),
        chunk("{\"reasoning_content\":\"hm\"}", "null"),
        chunk("{\"content\":\"hi\"}", "null"),
        chunk("{}", "\"stop\""),
        format!("{head}[],\"usage\":{{\"prompt_tokens\":7,\"completion_tokens\":3,\"total_tokens\":10}}}}\n\n"),
        "data: [DONE]\n\n".to_owned(),
    ];
    assert_eq!(answer.text, expected.concat());
}

#[tokio::test]
async fn without_asking_there_is_no_usage() {
    let world = World::new();
    let answer = world.post(PATH, &ask("echo", &json!({"stream": true}))).await;
    assert!(!answer.text.contains("usage"), "{}", answer.text);
    assert_eq!(answer.frames().last(), Some(&json!("[DONE]")));
}

#[tokio::test]
async fn tools_run_here_and_are_not_sent_to_the_client() {
    for stream in [true, false] {
        let world = World::new();
        world.model.say(call("add", r#"{"a": 2, "b": 3}"#));
        world.model.say([words("5"), stop()]);
        let answer = world.post(PATH, &ask("clerk", &json!({"stream": stream}))).await;
        assert!(!answer.text.contains("tool_calls"), "{}", answer.text);
        assert!(answer.text.contains("\"content\":\"5\"") && answer.text.contains("\"finish_reason\":\"stop\""));
    }
}

#[tokio::test]
async fn out_of_steps_is_length() {
    let world = World::new();
    for _ in 0..3 {
        world.model.say(call("add", r#"{"a": 1, "b": 1}"#));
    }
    let body = world.post(PATH, &ask("clerk", &json!({}))).await.json();
    assert_eq!(body["choices"][0]["finish_reason"], "length");
}

#[tokio::test]
async fn nothing_is_stored_unless_a_conversation_is_named() {
    let world = World::new();
    let answer = world.post(PATH, &ask("clerk", &json!({}))).await;
    assert_eq!(answer.header("x-conversation-id"), "");
    let list = world.get("/api/conversations?resource=shop").await.json();
    assert_eq!(list["conversations"], json!([]));
}

async fn with_header(world: &World, conversation: &str, body: &Value) -> Answer {
    let mut request = request(Method::POST, PATH, body.to_string().into());
    let value = http::HeaderValue::from_bytes(conversation.as_bytes()).expect("legal");
    request.headers_mut().insert("x-conversation-id", value);
    send(&world.gateway, request).await
}

/// TO-a3 at this door.
#[tokio::test]
async fn with_a_conversation_only_the_newest_question_counts() {
    let world = World::new();
    let mut shown = Vec::new();
    for turn in 1..=3 {
        shown.push(json!({"role": "user", "content": format!("q{turn}")}));
        let body = json!({"model": "clerk", "messages": shown});
        let answer = match turn {
            1 => world.post(PATH, &json!({"model": "clerk", "messages": shown, "conversation_id": "c"})).await,
            _ => with_header(&world, "c", &body).await,
        };
        assert_eq!(answer.header("x-conversation-id"), "c");
        shown.push(json!({"role": "assistant", "content": "EDITED"}));
    }
    assert_eq!(world.rows("shop", "c").await.len(), 6);
    assert_eq!(
        world.model.prompt(),
        "system: Be brief. | user: q1 | assistant: echo: q1 | user: q2 | assistant: echo: q2 | user: q3"
    );
}

#[tokio::test]
async fn two_names_for_the_conversation_must_agree() {
    let world = World::new();
    let body = ask("clerk", &json!({"conversation_id": "a"}));
    let answer = with_header(&world, "b", &body).await;
    assert_eq!(answer.openai_error(), (400, "invalid_request".into(), Some("conversation_id".into())));
    assert_eq!(with_header(&world, "a", &body).await.status, StatusCode::OK);
    assert_eq!(with_header(&world, "漢", &ask("clerk", &json!({}))).await.status, StatusCode::OK);
    assert_eq!(world.rows("shop", "漢").await.len(), 2);
}

#[tokio::test]
async fn messages_are_folded_into_what_the_turn_knows() {
    let world = World::new();
    let body = json!({"model": "echo", "messages": [
        {"role": "developer", "content": "dev"},
        {"role": "user", "content": [{"type": "input_text", "text": "q"}, {"type": "image_url", "image_url": "https://a.example/b.png"}]},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}},
            {"id": "2", "type": "function", "function": {"name": "g", "arguments": ""}}]},
        {"role": "tool", "tool_call_id": "2", "content": "two"},
        {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "one"}]},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "next"}]});
    assert_eq!(world.post(PATH, &body).await.status, StatusCode::OK);
    assert_eq!(
        world.model.prompt(),
        "system: Echo. | system: dev | user: q<image/*> | assistant: [f][g] | tool: \"one\"\"two\" | assistant: done | user: next"
    );
}

#[tokio::test]
async fn settings_reach_the_model() {
    let world = World::new();
    let settings = json!({"temperature": 0.5, "top_p": 0.9, "max_tokens": 11, "max_completion_tokens": 12, "stop": "END",
        "seed": -4, "presence_penalty": 1, "frequency_penalty": -1.5, "reasoning_effort": "low", "tool_choice": "required",
        "n": 1, "user": "u", "logit_bias": {"1": 2}, "tools": [], "response_format": {"type": "text"}});
    assert_eq!(world.post(PATH, &ask("echo", &settings)).await.status, StatusCode::OK);
    let set = world.model.asked()[0].settings.clone();
    assert_eq!((set.temperature, set.top_p, set.max_output_tokens), (Some(0.5), Some(0.9), Some(12)));
    assert_eq!((set.stop, set.seed), (vec!["END".to_owned()], Some(-4)));
    assert_eq!((set.presence_penalty, set.frequency_penalty), (Some(1.0), Some(-1.5)));
    assert_eq!((set.reasoning_effort.as_deref(), set.tool_choice), (Some("low"), Some(ToolChoice::Required)));
}

async fn refuses(extra: Value, code: &str, param: Option<&str>) {
    let world = World::new();
    let answer = world.post(PATH, &ask("echo", &extra)).await;
    assert_eq!(answer.openai_error(), (400, code.to_owned(), param.map(str::to_owned)), "{extra}");
    assert!(world.model.asked().is_empty());
}

#[tokio::test]
async fn what_cannot_be_honoured_is_refused() {
    refuses(json!({"functions": [{"name": "f"}]}), "unsupported_parameter", Some("functions")).await;
    refuses(json!({"n": 2}), "unsupported_parameter", Some("n")).await;
    refuses(json!({"tool_choice": {"type": "function"}}), "unsupported_parameter", Some("tool_choice")).await;
    refuses(json!({"response_format": {"type": "json_object"}}), "unsupported_parameter", Some("response_format"))
        .await;
    for (param, value) in [
        ("temperature", json!(2.1)),
        ("top_p", json!(-0.1)),
        ("presence_penalty", json!(3)),
        ("frequency_penalty", json!(-3)),
        ("max_tokens", json!(0)),
        ("stop", json!(["a", "b", "c", "d", "e"])),
        ("stop", json!("")),
    ] {
        refuses(json!({param: value}), "invalid_request", Some(param)).await;
    }
    refuses(json!({"temperature": "hot"}), "invalid_request", Some("temperature")).await;
    refuses(json!({"stream": "yes"}), "invalid_request", Some("stream")).await;
}

#[tokio::test]
async fn messages_of_no_legal_form_are_refused() {
    let call = json!({"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]});
    let user = json!({"role": "user", "content": "q"});
    let result = json!({"role": "tool", "tool_call_id": "1", "content": "r"});
    for (messages, param) in [
        (json!([]), "messages"),
        (json!([{"role": "system", "content": "s"}]), "messages"),
        (json!([{"role": "user", "content": ""}]), "messages.0.content"),
        (json!([{"role": "alien", "content": "x"}]), "messages.0.role"),
        (json!([user, result]), "messages.1.tool_call_id"),
        (json!([user, call, result, result, user]), "messages.3.tool_call_id"),
        (json!([{"role": "user", "content": [{"type": "hologram"}]}]), "messages.0.content.0.type"),
        (json!([{"role": "user", "content": [{"type": "text"}]}]), "messages.0.content.0.text"),
        (
            json!([{"role": "user", "content": [{"type": "image_url", "image_url": "file:///x"}]}]),
            "messages.0.content.0",
        ),
    ] {
        refuses(json!({"messages": messages}), "invalid_request", Some(param)).await;
    }
    refuses(json!({"messages": "hi"}), "invalid_request", Some("messages")).await;
    refuses(json!({"messages": [{"content": "hi"}]}), "invalid_request", Some("messages.0.role")).await;
    refuses(json!({"messages": [{"role": "user", "content": 7}]}), "invalid_request", Some("messages.0.content")).await;
}

#[tokio::test]
async fn an_early_failure_is_an_honest_status() {
    for stream in [true, false] {
        let world = World::new();
        let mut limited = ProviderError::new(ProviderErrorKind::RateLimited, "slow down");
        limited.retry_after = Some(std::time::Duration::from_millis(2_500));
        world.model.say([Say::Fail(limited)]);
        let answer = world.post(PATH, &ask("clerk", &json!({"stream": stream}))).await;
        assert_eq!(answer.openai_error(), (429, "provider_rate_limited".into(), None));
        assert_eq!(answer.header("retry-after"), "3");
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.json()["error"]["type"], "rate_limit_error");
    }
}

/// H3: the official clients send a failed request again, and would store its question again.
#[tokio::test]
async fn a_failure_with_a_stored_question_is_not_to_be_sent_again() {
    for stream in [true, false] {
        for said in [Say::Fail(ProviderError::new(ProviderErrorKind::Server, "down")), Say::Panic] {
            let world = World::new();
            world.model.say([said]);
            let answer = world.post(PATH, &ask("clerk", &json!({"stream": stream, "conversation_id": "c"}))).await;
            assert!(answer.status.is_server_error(), "{}", answer.text);
            assert_eq!(answer.header("x-should-retry"), "false", "{}", answer.text);
            assert!(!world.rows("shop", "c").await.is_empty());
        }
        let world = World::new();
        world.model.say([fail(ProviderErrorKind::Server)]);
        let answer = world.post(PATH, &ask("clerk", &json!({"stream": stream}))).await;
        assert_eq!((answer.status.as_u16(), answer.header("x-should-retry")), (502, ""), "nothing is stored");
        world.model.lose_key();
        let answer = world.post(PATH, &ask("clerk", &json!({"stream": stream, "conversation_id": "c"}))).await;
        assert_eq!((answer.status.as_u16(), answer.header("x-should-retry")), (503, ""), "nothing is stored");
    }
}

#[tokio::test]
async fn a_usage_nobody_told_is_null() {
    let world = World::new();
    let silent = Delta::End { reason: StopReason::Stop, usage: Usage::default(), model: None };
    world.model.say([words("hi"), Say::Delta(silent)]);
    let body = world.post(PATH, &ask("echo", &json!({}))).await.json();
    assert_eq!(body.get("usage"), Some(&Value::Null));
}

/// TO-b5 at this door.
#[tokio::test]
async fn half_an_answer_is_never_handed_on_as_a_whole_one() {
    let world = World::new();
    world.model.say([words("Hel"), words("lo"), fail(ProviderErrorKind::Truncated)]);
    let options = json!({"stream": true, "conversation_id": "c", "stream_options": {"include_usage": true}});
    let frames = world.post(PATH, &ask("clerk", &options)).await.frames();
    let (done, rest) = frames.split_last().expect("frames");
    let (error, rest) = rest.split_last().expect("an error");
    assert_eq!(done, &json!("[DONE]"));
    assert_eq!(error["error"]["code"], "provider_truncated");
    assert!(rest.iter().all(|chunk| chunk["choices"].get(0).is_none_or(|choice| choice["finish_reason"].is_null())));
    let rows = world.rows("shop", "c").await;
    assert_eq!((rows[1].message.text().as_str(), rows[1].message.status), ("Hello", MessageStatus::Failed));

    world.model.say([words("Hel"), words("lo"), fail(ProviderErrorKind::Truncated)]);
    let answer = world.post(PATH, &ask("clerk", &json!({"conversation_id": "d"}))).await;
    assert_eq!(answer.openai_error(), (502, "provider_truncated".into(), None));
    assert_eq!(world.rows("shop", "d").await[1].message.status, MessageStatus::Failed);
}

#[tokio::test]
async fn reasons_are_openais_words() {
    for (reason, word) in [(StopReason::Length, "length"), (StopReason::ContentFilter, "content_filter")] {
        let world = World::new();
        world.model.say([words("x"), end(reason)]);
        let body = world.post(PATH, &ask("echo", &json!({}))).await.json();
        assert_eq!(body["choices"][0]["finish_reason"], word);
    }
}

#[tokio::test]
async fn models_in_both_forms() {
    let world = World::new();
    let plain = world.get("/api/models").await.json();
    assert_eq!(
        plain,
        json!([
            {"id": "clerk", "name": "Clerk", "description": "Answers.", "provider": "stub"},
            {"id": "echo", "name": "echo", "description": "", "provider": "stub"},
            {"id": "keeper", "name": "keeper", "description": "", "provider": "stub"},
        ])
    );
    let list = world.get("/v1/models").await.json();
    assert_eq!(list["object"], "list");
    let clerk = json!({"id": "clerk", "object": "model", "created": 1_893_456_000, "owned_by": "stub"});
    assert_eq!(list["data"][0], clerk);
    world.clock.advance(std::time::Duration::from_secs(60));
    assert_eq!(world.get("/v1/models/clerk").await.json(), clerk, "`created` stays");
    assert_eq!(
        world.get("/v1/models/nope").await.openai_error(),
        (404, "model_not_found".into(), Some("model".into()))
    );
}

//! TO-g4 and the rate limit.

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::{Method, Request, StatusCode};
use serde_json::json;

use crate::world::{World, ask, send};

const DOORS: [&str; 2] = ["/api/chat", "/v1/chat/completions"];

/// A message with a picture as a data address, exactly `length` bytes long.
fn picture(length: usize) -> String {
    let body = |data: &str| {
        let part = json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}});
        json!({"model": "echo", "messages": [{"role": "user", "content": [part]}]}).to_string()
    };
    let body = body(&"A".repeat(length - body("").len()));
    assert_eq!(body.len(), length);
    body
}

fn chunked(path: &str, body: &str) -> Request<Body> {
    let chunks: Vec<_> = body
        .as_bytes()
        .chunks(1000)
        .map(|chunk| Ok::<_, std::convert::Infallible>(Bytes::copy_from_slice(chunk)))
        .collect();
    ask(Method::POST, path, Body::from_stream(stream::iter(chunks)))
}

#[tokio::test]
async fn one_limit_on_all_doors_named_in_the_doors_own_shape() {
    let world = World::new();
    world.configure(|config| config.body_limit = 10_000);
    for path in DOORS {
        for (length, fine) in [(9_999, true), (10_000, true), (10_001, false), (1_000_000, false)] {
            let sized = ask(Method::POST, path, picture(length).into());
            for (way, request) in [("sized", sized), ("chunked", chunked(path, &picture(length)))] {
                let answer = send(&world.gateway, request).await;
                if fine {
                    assert_eq!(answer.status, StatusCode::OK, "{path} {way} {length}: {}", answer.text);
                    continue;
                }
                let (status, code) = match path {
                    "/api/chat" => answer.plain_error(),
                    _ => (answer.openai_error().0, answer.openai_error().1),
                };
                assert_eq!((status, code.as_str()), (413, "body_too_large"), "{path} {way} {length}");
                assert!(answer.text.contains("10000 bytes"), "{}", answer.text);
            }
        }
    }
}

#[tokio::test]
async fn the_default_limit_takes_an_ordinary_picture() {
    let world = World::new();
    let answer = send(&world.gateway, ask(Method::POST, "/api/chat", picture(4 * 1024 * 1024).into())).await;
    assert_eq!(answer.status, StatusCode::OK);
    let answer = send(&world.gateway, ask(Method::POST, "/api/chat", picture(4 * 1024 * 1024 + 1).into())).await;
    assert_eq!(answer.json()["limit"], 4 * 1024 * 1024);
}

#[tokio::test]
async fn deep_nesting_ends_the_request_only() {
    let world = World::new();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_object = "{\"a\":".repeat(100_000);
    for path in DOORS {
        for body in [
            deep.clone(),
            deep_object.clone(),
            format!("{{\"model\":\"echo\",\"messages\":{deep}}}"),
            format!("{{\"model\":\"echo\",\"messages\":[{{\"role\":\"user\",\"content\":{deep}}}]}}"),
            format!("{{\"model\":{deep},\"messages\":[]}}"),
        ] {
            let answer = send(&world.gateway, ask(Method::POST, path, body.into())).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}");
        }
    }
    let choice =
        format!("{{\"model\":\"echo\",\"tool_choice\":{deep},\"messages\":[{{\"role\":\"user\",\"content\":\"x\"}}]}}");
    let answer = send(&world.gateway, ask(Method::POST, DOORS[1], choice.into())).await;
    assert_eq!(answer.openai_error().0, 400);
    assert_eq!(world.get("/health").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_wrong_form_is_told_with_its_field_in_peoples_words() {
    let world = World::new();
    for (body, message) in [
        (json!([]), "the body must be an object, not a list"),
        (json!({"model": "echo"}), "`messages` is missing"),
        (json!({"model": "echo", "messages": [{"content": "x"}]}), "`messages.0.role` is missing"),
        (json!({"model": 7, "messages": []}), "`model` must be a text, not 7"),
        (
            json!({"model": "echo", "messages": [{"role": "user", "content": {}}]}),
            "`messages.0.content` must be a text or a list of parts, not an object",
        ),
    ] {
        let answer = world.post("/api/chat", &body).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["error"]), (400, &json!(message)));
    }
}

#[tokio::test]
async fn ten_thousand_messages_are_a_request_like_any_other() {
    let world = World::new();
    let messages: Vec<_> = (0..10_000)
        .map(|n| json!({"role": if n % 2 == 0 { "user" } else { "assistant" }, "content": format!("m{n}")}))
        .collect();
    let mut messages = messages;
    messages.push(json!({"role": "user", "content": "last"}));
    let answer = world.post("/api/chat", &json!({"model": "echo", "messages": messages})).await;
    assert!(answer.text.contains("last"));
}

#[tokio::test]
async fn what_is_no_json_is_told_with_its_place() {
    let world = World::new();
    let answer = send(&world.gateway, ask(Method::POST, "/api/chat", "{\n  \"model\": nope}".into())).await;
    assert_eq!(answer.plain_error(), (400, "invalid_json".into()));
    assert!(answer.json()["error"].as_str().expect("text").contains("line 2 column"), "{}", answer.text);
    for bad in ["", "{", "{\"model\":\"echo\"} x", "\u{feff}{}"] {
        let answer = send(&world.gateway, ask(Method::POST, "/v1/chat/completions", bad.to_owned().into())).await;
        assert_eq!(answer.openai_error().0, 400, "{bad:?}");
    }
    let bytes = Body::from(&b"{\"model\":\"\xff\"}"[..]);
    assert_eq!(send(&world.gateway, ask(Method::POST, "/api/chat", bytes)).await.plain_error().0, 400);
    let answer = send(&world.gateway, ask(Method::POST, "/api/chat", "{\"messages\":[]}".into())).await;
    assert_eq!(answer.plain_error(), (400, "invalid_request".into()));
    assert_eq!(answer.json()["error"], "`model` is missing");
}

#[tokio::test]
async fn another_content_type_is_415() {
    let world = World::new();
    let body = json!({"model": "echo", "messages": [{"role": "user", "content": "hi"}]}).to_string();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonx"] {
        for path in DOORS {
            let mut request = ask(Method::POST, path, body.clone().into());
            request.headers_mut().insert("content-type", kind.parse().expect("legal"));
            assert_eq!(send(&world.gateway, request).await.status.as_u16(), 415, "{kind}");
        }
        let mut request = ask(Method::POST, "/api/conversations", "{}".into());
        request.headers_mut().insert("content-type", kind.parse().expect("legal"));
        assert_eq!(send(&world.gateway, request).await.plain_error(), (415, "unsupported_media_type".into()));
    }
    for kind in ["application/json", "Application/JSON", "application/json;charset=utf-8"] {
        let mut request = ask(Method::POST, "/api/chat", body.clone().into());
        request.headers_mut().insert("content-type", kind.parse().expect("legal"));
        assert_eq!(send(&world.gateway, request).await.status, StatusCode::OK, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_a_minute() {
    let world = World::new();
    world.configure(|config| config.requests_per_minute = 3);
    for _ in 0..3 {
        assert_eq!(world.get("/api/models").await.status, StatusCode::OK);
    }
    let refused = world.get("/v1/models").await;
    assert_eq!(refused.openai_error(), (429, "rate_limited".into(), None));
    assert_eq!(refused.header("retry-after"), "20");
    for _ in 0..5 {
        assert_eq!(world.get("/health").await.status, StatusCode::OK, "public routes are free");
    }
    tokio::time::advance(std::time::Duration::from_secs(20)).await;
    assert_eq!(world.get("/api/models").await.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_given_up() {
    let world = World::new();
    let body = Body::from_stream(stream::pending::<Result<Bytes, std::convert::Infallible>>());
    let answer = send(&world.gateway, ask(Method::POST, "/api/chat", body)).await;
    assert_eq!(answer.plain_error(), (408, "body_timeout".into()));
}

#[tokio::test]
async fn twenty_thousand_messages_are_taken_and_one_more_is_not() {
    let world = World::new();
    for path in DOORS {
        for (count, status) in [(20_000, StatusCode::OK), (20_001, StatusCode::BAD_REQUEST)] {
            let messages = vec![json!({"role": "user", "content": "a"}); count];
            let answer = world.post(path, &json!({"model": "echo", "messages": messages})).await;
            assert_eq!(answer.status, status, "{path} with {count}: {}", answer.text);
            assert!(status.is_success() || answer.text.contains("at most 20000"), "{}", answer.text);
        }
    }
}

/// Many steps in one list, each result right behind its call, are read in one pass; a flood of calls in one is refused.
#[tokio::test]
async fn a_list_of_many_steps_is_read_in_one_pass() {
    let world = World::new();
    let call =
        |id: usize| json!({"id": format!("c{id}"), "type": "function", "function": {"name": "x", "arguments": "{}"}});
    let mut messages = vec![json!({"role": "user", "content": "go"})];
    for id in 0..4_000 {
        messages.push(json!({"role": "assistant", "tool_calls": [call(id)]}));
        messages.push(json!({"role": "tool", "tool_call_id": format!("c{id}"), "content": "ok"}));
    }
    messages.push(json!({"role": "user", "content": "and now?"}));
    let answer = world.post(DOORS[1], &json!({"model": "echo", "messages": messages})).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let calls: Vec<_> = (0..129).map(call).collect();
    let messages = json!([{"role": "assistant", "tool_calls": calls}, {"role": "user", "content": "go"}]);
    let answer = world.post(DOORS[1], &json!({"model": "echo", "messages": messages})).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert!(answer.text.contains("at most 128 are taken"), "{}", answer.text);
}

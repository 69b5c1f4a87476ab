//! The server is tried over a raw socket, so that its bytes are seen as they are.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Gate, RecordedRequest, Reply, ScriptedServer, strict_fault};

const LIMIT: Duration = Duration::from_secs(10);

async fn connect(server: &ScriptedServer) -> TcpStream {
    TcpStream::connect(server.address()).await.expect("connected")
}

async fn ask(stream: &mut TcpStream, body: &Value) {
    let body = body.to_string();
    let request =
        format!("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.expect("sent");
}

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    while !String::from_utf8_lossy(&all).ends_with(end) {
        let read = tokio::time::timeout(LIMIT, stream.read(&mut buffer)).await.expect("in time").expect("read");
        assert!(read > 0, "closed after {:?}", String::from_utf8_lossy(&all));
        all.extend_from_slice(&buffer[..read]);
    }
    String::from_utf8(all).expect("text")
}

async fn read_to_end(stream: &mut TcpStream) -> (String, std::io::Result<usize>) {
    let mut all = Vec::new();
    let end = tokio::time::timeout(LIMIT, stream.read_to_end(&mut all)).await.expect("in time");
    (String::from_utf8_lossy(&all).into_owned(), end)
}

fn hello(stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": "hello"}]})
}

#[tokio::test]
async fn echoes_whole_and_streamed_on_one_connection() {
    let server = ScriptedServer::start().await;
    let mut stream = connect(&server).await;
    ask(&mut stream, &hello(false)).await;
    let whole = read_until(&mut stream, "}}").await;
    assert!(whole.starts_with("HTTP/1.1 200 "), "{whole}");
    assert!(whole.contains("content-type: application/json\r\n") && whole.contains(r#""content":"echo: hello""#));
    ask(&mut stream, &hello(true)).await;
    let streamed = read_until(&mut stream, "0\r\n\r\n").await;
    assert!(streamed.contains("content-type: text/event-stream\r\n"), "{streamed}");
    assert!(streamed.contains(r#"{"content":"echo: "}"#) && streamed.contains("data: [DONE]\n\n"), "{streamed}");
    assert!(!streamed.contains("usage"), "usage is told only when asked for: {streamed}");
    let requests = server.requests();
    assert_eq!(requests.iter().map(RecordedRequest::connection).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(requests[1].json(), Some(&hello(true)));
    assert_eq!((requests[0].method(), requests[0].path()), ("POST", "/v1/chat/completions"));
    assert_eq!(requests[0].header("Host"), Some("x"));
}

#[tokio::test]
async fn usage_comes_in_a_frame_of_its_own_when_asked_for() {
    let server = ScriptedServer::start().await;
    server.push(Reply::text("hi").usage(11, 2));
    let mut stream = connect(&server).await;
    let mut body = hello(true);
    body["stream_options"] = json!({"include_usage": true});
    ask(&mut stream, &body).await;
    let answer = read_until(&mut stream, "0\r\n\r\n").await;
    assert!(
        answer.contains(r#""choices":[],"usage":{"prompt_tokens":11,"completion_tokens":2,"total_tokens":13}"#),
        "{answer}"
    );
}

#[tokio::test]
async fn a_split_body_goes_out_in_chunks_of_that_size() {
    let server = ScriptedServer::start().await;
    server.push(Reply::raw_sse("data: 北\n\n").split_every(7));
    let mut stream = connect(&server).await;
    ask(&mut stream, &hello(true)).await;
    let mut all = Vec::new();
    let mut buffer = [0; 256];
    while !all.ends_with(b"0\r\n\r\n") {
        let read = stream.read(&mut buffer).await.expect("read");
        all.extend_from_slice(&buffer[..read]);
    }
    let body = all.windows(4).position(|window| window == b"\r\n\r\n").expect("head") + 4;
    assert_eq!(&all[body..], b"7\r\ndata: \xE5\r\n4\r\n\x8C\x97\n\n\r\n0\r\n\r\n");
}

#[tokio::test]
async fn a_gate_holds_the_answer_and_a_leaving_client_is_noticed() {
    let server = ScriptedServer::start().await;
    let gate = Gate::new();
    server.push(Reply::text("one two").hold_before(2, &gate));
    server.push(Reply::text("never read").hold(&Gate::new()));
    let mut stream = connect(&server).await;
    ask(&mut stream, &hello(true)).await;
    gate.reached().await;
    let before = read_until(&mut stream, "\n\n\r\n").await;
    assert!(before.contains("one ") && !before.contains("two"), "{before}");
    gate.open();
    assert!(read_until(&mut stream, "0\r\n\r\n").await.contains("two"));
    ask(&mut stream, &hello(true)).await;
    let requests = server.wait_for_requests(2).await;
    assert_eq!(requests[1].closed_at(), None);
    drop(stream);
    tokio::time::timeout(LIMIT, requests[1].closed()).await.expect("noticed");
    assert!(requests[1].closed_at().is_some());
}

#[tokio::test]
async fn cut_reset_short_and_nothing_are_four_different_ends() {
    let server = ScriptedServer::start().await;
    let answer = |reply: Reply| {
        server.push(reply);
        let server = &server;
        async move {
            let mut stream = connect(server).await;
            ask(&mut stream, &hello(true)).await;
            stream
        }
    };
    let (text, end) = read_to_end(&mut answer(Reply::raw_sse("data: 12345\n\n").cut_after(8)).await).await;
    assert!(text.ends_with("8\r\ndata: 12\r\n") && end.is_ok(), "{text} {end:?}");
    let (text, end) = read_to_end(&mut answer(Reply::raw_sse("data: 12345\n\n").reset_after(8)).await).await;
    assert!(text.ends_with("data: 12\r\n"), "{text}");
    assert_eq!(end.map_err(|error| error.kind()), Err(std::io::ErrorKind::ConnectionReset));
    let mut short = answer(Reply::raw_sse("data: 12345\n\n").end_after(8)).await;
    assert!(read_until(&mut short, "0\r\n\r\n").await.ends_with("8\r\ndata: 12\r\n0\r\n\r\n"));
    let (text, end) = read_to_end(&mut answer(Reply::nothing()).await).await;
    assert_eq!((text.as_str(), end.ok()), ("", Some(0)));
}

#[tokio::test]
async fn a_cut_body_with_a_length_keeps_the_length_it_promised() {
    let server = ScriptedServer::start().await;
    server.push(Reply::raw(200, "12345").cut_after(2).header("x-a", "b"));
    let mut stream = connect(&server).await;
    ask(&mut stream, &hello(false)).await;
    let (text, _) = read_to_end(&mut stream).await;
    assert!(text.ends_with("x-a: b\r\ncontent-length: 5\r\n\r\n12"), "{text}");
}

#[tokio::test]
async fn a_chunked_request_is_read_whole() {
    let server = ScriptedServer::start().await;
    let mut stream = connect(&server).await;
    let request = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n";
    for byte in request.as_bytes() {
        stream.write_all(&[*byte]).await.expect("sent");
    }
    assert_eq!(server.wait_for_requests(1).await[0].json(), Some(&json!({"a": 1})));
}

#[tokio::test]
async fn the_queue_goes_before_the_default_and_strict_before_both() {
    let server = ScriptedServer::builder().strict().start().await;
    server.always(Reply::text("default"));
    server.push(Reply::text("queued"));
    let mut stream = connect(&server).await;
    ask(&mut stream, &json!({"model": "m", "messages": []})).await;
    let refused = read_until(&mut stream, "}}").await;
    assert!(refused.starts_with("HTTP/1.1 400 ") && refused.contains("invalid_request_error"), "{refused}");
    assert_eq!(server.left_in_queue(), 1);
    for expected in ["queued", "default"] {
        ask(&mut stream, &hello(false)).await;
        assert!(read_until(&mut stream, "}}").await.contains(expected));
    }
}

fn refuses(messages: &Value, expected: &str) {
    let fault = strict_fault(Some(&json!({"model": "m", "messages": messages})));
    if expected.is_empty() {
        assert_eq!(fault, None, "{messages}");
    } else {
        assert!(fault.as_ref().is_some_and(|fault| fault.contains(expected)), "{messages}: {fault:?}");
    }
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn calling(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "{}"})
}

#[test]
fn strict_refuses_what_the_real_ones_refuse() {
    let system = json!({"role": "system", "content": "s"});
    let user = json!({"role": "user", "content": "u"});
    let said = json!({"role": "assistant", "content": "a"});
    let one = calling(&[call("1", "f", "{}")]);
    let two = calling(&[call("1", "f", "{}"), call("2", "g", r#"{"a":1}"#)]);
    refuses(&json!([system, user, said, user]), "");
    refuses(&json!([user, two, result("2"), result("1"), said, user]), "");
    refuses(&json!([user, one, result("1")]), "");
    refuses(&json!([]), "at least one message");
    refuses(&json!([system]), "no message but the system's");
    refuses(&json!([system, said, user]), "must be the user's");
    refuses(&json!([result("1")]), "must be the user's");
    refuses(&json!([user, two, result("1"), user]), "without a tool message directly after them: 2");
    refuses(&json!([user, one]), "without a tool message");
    refuses(&json!([user, one, user, result("1")]), "without a tool message");
    refuses(&json!([user, result("1")]), "does not answer a preceding tool call");
    refuses(&json!([user, one, result("1"), result("1")]), "does not answer");
    refuses(&json!([user, calling(&[call("1", "f", "{}"), call("1", "f", "{}")])]), "duplicate tool call id '1'");
    for bad in ["", "[]", "null", "{", r#"{"a":1}{"a":2}"#] {
        refuses(&json!([user, calling(&[call("1", "f", bad)]), result("1")]), "not the JSON text of an object");
    }
    for bad in ["", "a.b", "weather:get", "日", &"x".repeat(65)] {
        refuses(&json!([user, calling(&[call("1", bad, "{}")]), result("1")]), "does not match");
    }
    refuses(&json!([user, {"role": "assistant", "content": ""}]), "needs content or tool_calls");
    refuses(&json!([user, {"role": "assistant", "content": null, "tool_calls": []}]), "must not be empty");
    refuses(&json!([user, {"role": "robot", "content": "x"}]), "unknown role 'robot'");
    refuses(&json!([{"role": "user", "content": null}]), "content must be");
}

#[tokio::test]
async fn embeddings_are_made_up_of_the_texts() {
    let server = ScriptedServer::start().await;
    let mut stream = connect(&server).await;
    let body = json!({"model": "m", "input": ["one", "two", "one"]}).to_string();
    let head = format!("POST /v1/embeddings HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).await.expect("written");
    let answer = read_until(&mut stream, "\"total_tokens\":7}}").await;
    let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").expect("head").1).expect("JSON");
    let vectors: Vec<_> = (0..3).map(|place| body["data"][place]["embedding"].as_array().expect("vector")).collect();
    assert_eq!((vectors[0].len(), vectors[0]), (8, vectors[2]));
    assert_ne!(vectors[0], vectors[1]);
    assert_eq!(server.requests()[0].inputs(), ["one", "two", "one"]);
}

//! Through real sockets: what only a connection shows.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use roster_model::message::MessageStatus;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::chat::ask;
use crate::double::{Say, stop, words};
use crate::world::World;

const LIMIT: Duration = Duration::from_secs(20);

async fn start(world: &World) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let serve = roster_server::serve(listener, world.gateway.clone(), Arc::clone(&world.app.services));
    (address, world.app.services.tracker.spawn(serve))
}

async fn post(address: SocketAddr, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("connected");
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream.write_all(body.as_bytes()).await.expect("sent");
    stream
}

async fn read_until(stream: &mut TcpStream, mark: &str) -> String {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    while !String::from_utf8_lossy(&all).contains(mark) {
        let read = tokio::time::timeout(LIMIT, stream.read(&mut buffer)).await.expect("in time").expect("read");
        assert!(read > 0, "closed after {:?}", String::from_utf8_lossy(&all));
        all.extend_from_slice(&buffer[..read]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// The whole answer to a request, read until the other side closes.
async fn whole(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("connected");
    // The listener may close before it has read all of it.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(LIMIT, stream.read_to_end(&mut answer)).await.expect("closed in time");
    String::from_utf8_lossy(&answer).into_owned()
}

async fn rows_of(world: &World, thread: &str, count: usize) -> Vec<roster_model::message::StoredMessage> {
    tokio::time::timeout(LIMIT, async {
        loop {
            let rows = world.rows("shop", thread).await;
            if rows.len() >= count {
                return rows;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("in time")
}

/// TO-b1 at all three ways of asking.
#[tokio::test]
async fn a_closed_connection_interrupts_the_turn() {
    let world = World::new();
    let (address, _) = start(&world).await;
    let openai = |stream: bool| {
        serde_json::json!({"model": "clerk", "stream": stream, "conversation_id": format!("o-{stream}"),
            "messages": [{"role": "user", "content": "count"}]})
    };
    let ways = [
        ("c", "/api/chat", ask("clerk", Some("c"), "count"), true),
        ("o-true", "/v1/chat/completions", openai(true), true),
        ("o-false", "/v1/chat/completions", openai(false), false),
    ];
    for (number, (thread, path, body, streams)) in ways.into_iter().enumerate() {
        world.model.say([words("one "), words("two"), Say::Wait(Arc::default()), words(" three"), stop()]);
        let mut connection = post(address, path, &body.to_string()).await;
        if streams {
            read_until(&mut connection, "two").await;
        } else {
            while world.model.asked().len() <= number {
                tokio::task::yield_now().await;
            }
        }
        drop(connection);
        tokio::time::timeout(LIMIT, world.model.cut(number + 1)).await.expect("the provider's call is given up");
        if streams {
            let rows = rows_of(&world, thread, 2).await;
            assert_eq!(
                (rows[1].message.text().as_str(), rows[1].message.status),
                ("one two", MessageStatus::Interrupted)
            );
        }
    }
}

#[tokio::test]
async fn a_client_that_leaves_after_the_end_interrupts_nothing() {
    let world = World::new();
    let (address, _) = start(&world).await;
    let mut connection = post(address, "/api/chat", &ask("clerk", Some("c"), "hi").to_string()).await;
    read_until(&mut connection, "\"done\"").await;
    drop(connection);
    assert_eq!(rows_of(&world, "c", 2).await[1].message.status, MessageStatus::Complete);
}

#[tokio::test]
async fn an_agent_that_finishes_anyway_is_not_interrupted() {
    let world = World::new();
    let (address, _) = start(&world).await;
    let gate = Arc::new(tokio::sync::Notify::new());
    world.model.say([words("one "), Say::Wait(Arc::clone(&gate)), words("two"), stop()]);
    let mut connection = post(address, "/api/chat", &ask("keeper", Some("k"), "count").to_string()).await;
    read_until(&mut connection, "one ").await;
    drop(connection);
    gate.notify_one();
    let rows = tokio::time::timeout(LIMIT, async {
        loop {
            let rows = world.rows("ai-chat", "k").await;
            if rows.len() == 2 {
                return rows;
            }
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(rows.await.expect("in time")[1].message.text(), "one two");
}

#[tokio::test]
async fn draining_lets_the_running_answer_finish_and_refuses_new_ones() {
    let world = World::new();
    let (address, served) = start(&world).await;
    let gate = Arc::new(tokio::sync::Notify::new());
    world.model.say([words("one "), Say::Wait(Arc::clone(&gate)), words("two"), stop()]);
    let mut idle = TcpStream::connect(address).await.expect("connected");
    let mut connection = post(address, "/api/chat", &ask("clerk", Some("c"), "count").to_string()).await;
    read_until(&mut connection, "one ").await;
    world.app.services.draining.cancel();
    let closed = tokio::time::timeout(LIMIT, idle.read(&mut [0; 1])).await.expect("in time");
    assert!(matches!(closed, Ok(0) | Err(_)), "idle connections are closed");
    // One that never asks anything does not keep the runtime.
    let _silent = TcpStream::connect(address).await.expect("still accepted");
    for (path, status) in
        [("/ready", "503"), ("/health", "200"), ("/api/health", "200"), ("/api/models", "503"), ("/nowhere", "503")]
    {
        let answer = whole(address, &format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n")).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        assert!(answer.contains("connection: close"), "{path}: {answer}");
        assert_eq!(answer.contains("\"draining\""), status == "503", "{path}: {answer}");
        assert_eq!(answer.contains("retry-after: 1"), status == "503" && path != "/ready", "{path}: {answer}");
    }
    let body = ask("clerk", Some("d"), "hi").to_string();
    let mut refused = post(address, "/api/chat", &body).await;
    assert!(read_until(&mut refused, "}").await.starts_with("HTTP/1.1 503 "));
    gate.notify_one();
    assert!(read_until(&mut connection, "\"done\"").await.contains("two"));
    tokio::time::timeout(LIMIT, served).await.expect("in time").expect("no crash");
    assert!(TcpStream::connect(address).await.is_err(), "nothing listens any more");
}

#[tokio::test]
async fn stopping_interrupts_what_is_left_and_says_so() {
    let world = World::new();
    let (address, served) = start(&world).await;
    world.model.say([words("one "), Say::Wait(Arc::default())]);
    let mut connection = post(address, "/api/chat", &ask("clerk", Some("c"), "count").to_string()).await;
    read_until(&mut connection, "one ").await;
    world.app.services.draining.cancel();
    world.app.services.stop.cancel();
    let rest = read_until(&mut connection, "\"done\"").await;
    assert!(rest.contains("\"finishReason\":\"interrupted\""), "{rest}");
    tokio::time::timeout(LIMIT, served).await.expect("in time").expect("no crash");
    assert_eq!(rows_of(&world, "c", 2).await[1].message.status, MessageStatus::Interrupted);
}

#[tokio::test]
async fn a_body_over_the_limit_is_answered_to_a_client_that_sends_it_all_first() {
    let world = World::new();
    world.configure(|config| config.body_limit = 1_000_000);
    let (address, _) = start(&world).await;
    let mut connection = post(address, "/api/chat", &"x".repeat(1_000_001)).await;
    let answer = read_until(&mut connection, "}").await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("1000000 bytes"), "{answer}");
}

#[tokio::test]
async fn the_host_rule_holds_on_the_wire_and_connections_are_kept() {
    let world = World::new();
    let (address, _) = start(&world).await;
    let mut connection = TcpStream::connect(address).await.expect("connected");
    for (host, status) in [("evil.test", "403"), ("localhost", "200"), ("127.0.0.1", "200")] {
        let request = format!("GET /health HTTP/1.1\r\nhost: {host}\r\n\r\n");
        connection.write_all(request.as_bytes()).await.expect("sent");
        let answer = read_until(&mut connection, "}").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
}

/// Longer than any time limit of the listener; the clock is paused, so nobody waits for it.
const PATIENCE: Duration = Duration::from_secs(300);

#[tokio::test(start_paused = true)]
async fn a_connection_that_asks_nothing_whole_is_closed() {
    let world = World::new();
    let (address, _) = start(&world).await;
    for begun in ["", "P", "PRI * HTTP/2.0\r\n", "GET /health HT", "GET /health HTTP/1.1\r\nhost: localhost\r\nx-a: "] {
        let mut connection = TcpStream::connect(address).await.expect("connected");
        connection.write_all(begun.as_bytes()).await.expect("sent");
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(PATIENCE, connection.read_to_end(&mut rest)).await;
        assert!(closed.is_ok(), "{begun:?} holds its connection");
        assert!(!String::from_utf8_lossy(&rest).contains("200 OK"), "{begun:?}");
    }
    let mut fine = TcpStream::connect(address).await.expect("connected");
    fine.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("sent");
    assert!(read_until(&mut fine, "}").await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_head_too_large_is_refused() {
    let world = World::new();
    let (address, _) = start(&world).await;
    let filler = |bytes: usize| "a".repeat(bytes);
    let large = format!("GET /v1/models HTTP/1.1\r\nhost: localhost\r\nx-a: {}\r\n\r\n", filler(70_000));
    let answer = whole(address, &large).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert!(answer.contains("\"error\":{\"message\"") && answer.contains("\"code\":\"head_too_large\""), "{answer}");
    let far = format!("GET /health HTTP/1.1\r\nhost: localhost\r\nx-a: {}\r\n", filler(400_000));
    assert!(!whole(address, &far).await.contains("200 OK"));
    let fine =
        format!("GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-a: {}\r\n\r\n", filler(60_000));
    assert!(whole(address, &fine).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_request_names_its_host_once() {
    let world = World::new();
    let (address, _) = start(&world).await;
    for (head, status) in [
        ("GET /health HTTP/1.1\r\n\r\n", "400"),
        ("GET /health HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n", "400"),
        ("GET /health HTTP/1.0\r\n\r\n", "200"),
        ("GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n", "200"),
    ] {
        let answer = whole(address, head).await;
        let version = head.split([' ', '\r']).nth(2).expect("a version");
        assert!(answer.starts_with(&format!("{version} {status} ")), "{head:?}: {answer}");
        assert_eq!(answer.contains("\"code\":\"invalid_request\""), status == "400", "{answer}");
    }
}

#[tokio::test]
async fn deleting_a_conversation_cancels_its_turn() {
    let world = World::new();
    world.model.say([words("one "), Say::Wait(Arc::default())]);
    let (address, _) = start(&world).await;
    let mut connection = post(address, "/api/chat", &ask("clerk", Some("c"), "count").to_string()).await;
    read_until(&mut connection, "one ").await;
    assert_eq!(world.delete("/api/conversations/c?resource=shop").await.status.as_u16(), 204);
    tokio::time::timeout(LIMIT, world.model.cut(1)).await.expect("the provider's call is given up");
    let rest = read_until(&mut connection, "\"done\"").await;
    assert!(rest.contains("\"code\":\"thread_deleted\"") && !rest.contains("messageId"), "{rest}");
    assert!(world.rows("shop", "c").await.is_empty());
}

/// M6: where nothing was stored, no row is named.
#[tokio::test]
async fn an_interrupted_turn_that_said_nothing_names_no_message() {
    let world = World::new();
    world.model.say([Say::Wait(Arc::default())]);
    let (address, _) = start(&world).await;
    let mut connection = post(address, "/api/chat", &ask("clerk", Some("c"), "count").to_string()).await;
    while world.model.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    world.app.services.stop.cancel();
    let rest = read_until(&mut connection, "\"done\"").await;
    assert!(rest.contains("\"finishReason\":\"interrupted\"") && !rest.contains("messageId"), "{rest}");
    assert_eq!(world.rows("shop", "c").await.len(), 1);
}

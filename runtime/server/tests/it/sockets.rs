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
    let mut connection = TcpStream::connect(address).await.expect("connected");
    let head = format!("GET /health HTTP/1.1\r\nhost: localhost\r\nx-a: {}\r\n", "a".repeat(100_000));
    // The listener may close before it has read all of it.
    let _ = connection.write_all(head.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(LIMIT, connection.read_to_end(&mut answer)).await.expect("in time");
    assert!(!String::from_utf8_lossy(&answer).contains("200 OK"));
}

//! `POST /api/chat`.

use std::sync::Arc;

use http::StatusCode;
use roster_model::message::MessageStatus;
use roster_model::provider::{Delta, ProviderErrorKind, StopReason};
use serde_json::{Value, json};

use crate::double::{Say, call, end, fail, stop, words};
use crate::world::World;

pub(crate) fn ask(model: &str, conversation: Option<&str>, text: &str) -> Value {
    let mut body = json!({"model": model, "messages": [{"role": "user", "content": text}]});
    if let Some(conversation) = conversation {
        body["conversationId"] = conversation.into();
    }
    body
}

#[tokio::test]
async fn a_turn_byte_for_byte() {
    let world = World::new();
    let answer = world.post("/api/chat", &ask("clerk", Some("c1"), "hi")).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header("content-type"), "text/event-stream");
    assert_eq!(answer.header("cache-control"), "no-cache");
    assert_eq!(answer.header("x-accel-buffering"), "no");
    let expected = concat!(
        "data: {\"type\":\"text\",\"content\":\"echo: \"}\n\n",
        "data: {\"type\":\"text\",\"content\":\"hi\"}\n\n",
        "data: {\"type\":\"done\",\"content\":\"\",\"metadata\":{\"conversationId\":\"c1\",\"messageId\":\"msg_MSG\",",
        "\"turnId\":\"turn_TURN\",\"finishReason\":\"stop\",",
        "\"usage\":{\"inputTokens\":7,\"outputTokens\":3,\"totalTokens\":10}}}\n\n",
    );
    let rows = world.rows("shop", "c1").await;
    let turn = rows[1].turn.as_ref().expect("of a turn").to_string();
    let expected = expected.replace("msg_MSG", rows[1].message.id.as_str()).replace("turn_TURN", &turn);
    assert_eq!(answer.text, expected);
}

#[tokio::test]
async fn thinking_and_tools_have_frames_of_their_own() {
    let world = World::new();
    let mut first = vec![Say::Delta(Delta::Reasoning("hm".into()))];
    first.extend(call("add", r#"{"a": 2, "b": 3}"#));
    world.model.say(first);
    world.model.say(call("add", r#"{"a": 13, "b": 0}"#));
    world.model.say([words("5\n漢\u{2028}"), stop()]);
    let frames = world.post("/api/chat", &ask("clerk", Some("c"), "2 + 3?")).await.frames();
    let kinds: Vec<&str> = frames.iter().map(|frame| frame["type"].as_str().expect("type")).collect();
    assert_eq!(kinds, ["thinking", "tool_call", "tool_result", "tool_call", "tool_result", "text", "done"]);
    assert!(frames.iter().all(|frame| frame["content"].is_string()));
    assert_eq!(frames[0]["content"], "hm");
    assert_eq!(frames[1]["metadata"]["arguments"], json!({"a": 2, "b": 3}));
    let fine = &frames[2]["metadata"];
    assert_eq!((&fine["id"], &fine["name"]), (&frames[1]["metadata"]["id"], &json!("add")));
    assert_eq!(fine["result"], json!({"sum": 5}));
    assert!(fine["duration"].is_u64() && fine.get("error").is_none());
    let bad = &frames[4]["metadata"];
    assert_eq!(bad["error"], "13 is not added");
    assert!(bad.get("result").is_none());
    assert_ne!(fine["id"], bad["id"], "ids are unique in the thread whatever the provider sends");
    assert_eq!(frames[5]["content"], "5\n漢\u{2028}");
    assert_eq!(frames[6]["metadata"]["usage"]["totalTokens"], 30);
    let stored = world.get("/api/conversations/c/messages?resource=shop").await.json();
    let answer = &stored["messages"][1];
    assert_eq!((&answer["content"], &answer["thinking"]), (&json!("5\n漢\u{2028}"), &json!("hm")));
    assert_eq!(answer["toolCalls"][0]["result"], json!({"sum": 5}));
    assert_eq!(answer["toolCalls"][1]["error"], "13 is not added");
    assert!(answer.get("status").is_none());
}

#[tokio::test]
async fn a_fresh_thread_is_named_in_done_and_can_be_continued() {
    let world = World::new();
    let mut threads = Vec::new();
    for _ in 0..2 {
        let frames = world.post("/api/chat", &ask("clerk", None, "hi")).await.frames();
        let id = frames.last().expect("done")["metadata"]["conversationId"].as_str().expect("id").to_owned();
        assert!(id.starts_with("thread_"), "{id}");
        threads.push(id);
    }
    assert_ne!(threads[0], threads[1], "nothing joins two turns that name no conversation");
    world.post("/api/chat", &ask("clerk", Some(&threads[0]), "again")).await.frames();
    assert_eq!(world.model.prompt(), "system: Be brief. | user: hi | assistant: echo: hi | user: again");
    assert_eq!(world.rows("shop", &threads[0]).await.len(), 4);
}

/// TO-a3: the client sends everything it shows again each turn, with the ids it knows or with new ones each time, and
/// with a poorer copy of an answer that called a tool. What is stored stays as it is.
#[tokio::test]
async fn a_transcript_sent_again_is_not_stored_again() {
    for fresh_ids in [false, true] {
        let world = World::new();
        world.model.say(call("add", r#"{"a": 2, "b": 3}"#));
        let mut shown: Vec<Value> = vec![json!({"role": "system", "content": "client's system"})];
        let mut stored = Vec::new();
        for turn in 1..=3 {
            shown.push(json!({"id": format!("client-{turn}"), "role": "user", "content": format!("q{turn}")}));
            if fresh_ids {
                for (number, message) in shown.iter_mut().enumerate() {
                    message["id"] = json!(format!("random-{turn}-{number}"));
                }
            }
            let body = json!({"model": "clerk", "conversationId": "c", "messages": shown});
            let frames = world.post("/api/chat", &body).await.frames();
            let id = frames.last().expect("done")["metadata"]["messageId"].clone();
            shown.push(json!({"id": id, "role": "assistant", "content": "EDITED"}));
            let rows = world.rows("shop", "c").await;
            assert_eq!((rows.len(), &rows[..stored.len()]), (2 * turn, stored.as_slice()));
            stored = rows;
        }
        assert_eq!(stored[1].message.parts.len(), 3, "the call, its result and the words");
        let said: Vec<String> = stored.iter().map(|row| row.message.text()).collect();
        assert_eq!(said, ["q1", "echo: q1", "q2", "echo: q2", "q3", "echo: q3"]);
        assert_eq!(
            world.model.prompt(),
            "system: Be brief. | user: q1 | assistant: [add] | tool: {\"sum\":5} | assistant: echo: q1 \
             | user: q2 | assistant: echo: q2 | user: q3"
        );
    }
}

#[tokio::test]
async fn an_empty_thread_is_seeded_with_the_clients_list() {
    let world = World::new();
    let body = json!({"model": "clerk", "conversationId": "c", "messages": [
        {"role": "system", "content": "left out"},
        {"role": "user", "content": "q0"}, {"role": "assistant", "content": "a0"}, {"role": "user", "content": "q1"}]});
    world.post("/api/chat", &body).await.frames();
    assert_eq!(world.rows("shop", "c").await.len(), 4);
    assert_eq!(world.model.prompt(), "system: Be brief. | user: q0 | assistant: a0 | user: q1");
}

#[tokio::test]
async fn without_memory_the_list_is_the_whole_history() {
    let world = World::new();
    let body = json!({"model": "echo", "conversationId": "c", "messages": [
        {"role": "system", "content": "more"},
        {"role": "user", "content": "q0"}, {"role": "assistant", "content": "a0"},
        {"role": "user", "content": [{"type": "text", "text": "see "},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}]});
    let frames = world.post("/api/chat", &body).await.frames();
    assert_eq!(frames.last().expect("done")["metadata"]["conversationId"], "c");
    assert_eq!(world.model.prompt(), "system: Echo. | system: more | user: q0 | assistant: a0 | user: see <image/png>");
    assert!(world.rows("ai-chat", "c").await.is_empty());
}

/// TO-b5: half an answer is never handed on as a whole one; `done` still comes, once and last.
#[tokio::test]
async fn a_failure_in_mid_stream_is_an_error_frame_then_done() {
    for kind in [ProviderErrorKind::Truncated, ProviderErrorKind::Connect] {
        let world = World::new();
        world.model.say([words("Hel"), words("lo"), fail(kind)]);
        let frames = world.post("/api/chat", &ask("clerk", Some("c"), "hi")).await.frames();
        let kinds: Vec<&str> = frames.iter().map(|frame| frame["type"].as_str().expect("type")).collect();
        assert_eq!(kinds, ["text", "text", "error", "done"]);
        assert_eq!(frames[2]["metadata"]["code"], kind.code());
        assert_eq!(frames[3]["metadata"]["finishReason"], "error");
        let rows = world.rows("shop", "c").await;
        assert_eq!((rows[1].message.text().as_str(), rows[1].message.status), ("Hello", MessageStatus::Failed));
        let read = world.get("/api/conversations/c/messages?resource=shop").await.json();
        assert_eq!(read["messages"][1]["status"], "failed");
    }
}

#[tokio::test]
async fn a_stream_without_an_end_is_a_failure_too() {
    let world = World::new();
    world.model.say([words("Hel"), words("lo")]);
    let frames = world.post("/api/chat", &ask("clerk", Some("c"), "hi")).await.frames();
    assert_eq!(frames[2]["metadata"]["code"], "provider_truncated");
    assert_eq!(frames.last().expect("done")["type"], "done");
}

#[tokio::test]
async fn a_turn_that_crashes_still_says_done() {
    let world = World::new();
    world.model.say([words("x"), Say::Panic]);
    let frames = world.post("/api/chat", &ask("clerk", Some("c"), "hi")).await.frames();
    let kinds: Vec<&str> = frames.iter().map(|frame| frame["type"].as_str().expect("type")).collect();
    assert_eq!(kinds, ["text", "error", "done"]);
    world.post("/api/chat", &ask("clerk", Some("c"), "still there?")).await.frames();
}

#[tokio::test]
async fn finish_reasons_are_the_doors_words() {
    for (reason, word) in [(StopReason::Length, "length"), (StopReason::ContentFilter, "content-filter")] {
        let world = World::new();
        world.model.say([words("x"), end(reason)]);
        let frames = world.post("/api/chat", &ask("clerk", None, "hi")).await.frames();
        assert_eq!(frames.last().expect("done")["metadata"]["finishReason"], word);
    }
    let world = World::new();
    for _ in 0..3 {
        world.model.say(call("add", r#"{"a": 1, "b": 1}"#));
    }
    let frames = world.post("/api/chat", &ask("clerk", None, "hi")).await.frames();
    assert_eq!(frames.last().expect("done")["metadata"]["finishReason"], "tool-calls");
}

/// TO-b1, at the router: the body is dropped in mid-stream.
#[tokio::test]
async fn a_client_that_leaves_interrupts_its_turn() {
    use http_body_util::BodyExt;
    use tower::ServiceExt;
    let world = World::new();
    let gate = Arc::new(tokio::sync::Notify::new());
    world.model.say([words("one "), words("two"), Say::Wait(gate), words(" three"), stop()]);
    let body = ask("clerk", Some("c"), "count").to_string();
    let request = crate::world::ask(http::Method::POST, "/api/chat", body.into());
    let response = world.gateway.clone().oneshot(request).await.expect("infallible");
    let mut body = response.into_body();
    let mut seen = String::new();
    while !seen.contains("two") {
        let frame = body.frame().await.expect("more").expect("body").into_data().expect("data");
        seen.push_str(std::str::from_utf8(&frame).expect("UTF-8"));
    }
    drop(body);
    world.model.cut(1).await;
    world.app.services.tracker.close();
    world.app.services.tracker.wait().await;
    let rows = world.rows("shop", "c").await;
    assert_eq!((rows[1].message.text().as_str(), rows[1].message.status), ("one two", MessageStatus::Interrupted));
    world.app.services.tracker.reopen();
    world.post("/api/chat", &ask("clerk", Some("c"), "go on")).await.frames();
    assert_eq!(world.model.prompt(), "system: Be brief. | user: count | assistant: one two | user: go on");
}

#[tokio::test(start_paused = true)]
async fn silence_is_filled_with_comments() {
    let world = World::new();
    let gate = Arc::new(tokio::sync::Notify::new());
    let opener = Arc::clone(&gate);
    world.model.say([words("a"), Say::Wait(gate), words("b"), stop()]);
    let open_later = async move {
        tokio::time::sleep(std::time::Duration::from_secs(40)).await;
        opener.notify_one();
    };
    let body = ask("echo", None, "hi");
    let (answer, ()) = tokio::join!(world.post("/api/chat", &body), open_later);
    assert_eq!(answer.text.matches(": keep-alive\n\n").count(), 2, "{}", answer.text);
    assert!(answer.text.contains("\"b\""));
}

#[tokio::test(start_paused = true)]
async fn a_turn_out_of_time_says_so_and_is_done() {
    let world = World::new();
    world.model.say([words("a"), Say::Wait(Arc::default())]);
    let frames = world.post("/api/chat", &ask("clerk", Some("c"), "hi")).await.frames();
    assert_eq!(frames[1]["metadata"]["code"], "turn_timeout");
    assert_eq!(frames[2]["type"], "done");
}

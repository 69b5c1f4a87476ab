//! `memory/1`, call by call: the bridge's own keys of appends are random, and it opens again what is not open.

use serde_json::{Map, Value, json};

use super::{Transcript, raw};
use crate::world::World;

const FACTORY: &str = "create_memory";

/// An open memory, asked in the name of owners.
struct Opened<'a> {
    world: &'a World,
    log: &'a mut Transcript,
    handle: String,
}

async fn open(world: &World, log: &mut Transcript, config: Value) -> Option<String> {
    let opened = raw(world, FACTORY, "open", &json!({ "config": config })).await;
    let handle = opened.as_ref().ok().and_then(|opened| opened["handle"].as_str()).map(str::to_owned);
    // Never the same twice.
    log.say(&format!("open {config}"), &opened.map(|_| "a handle"));
    handle
}

impl Opened<'_> {
    /// With the handle, unless the input has another one. Gives the `next` of a page.
    async fn ask(&mut self, method: &str, input: Value) -> Option<Value> {
        let mut sent = Map::from_iter([("handle".to_owned(), json!(self.handle))]);
        sent.extend(input.as_object().cloned().unwrap_or_default());
        let mut outcome = raw(self.world, FACTORY, method, &Value::Object(sent)).await;
        if let Err(error) = &mut outcome {
            error.message = error.message.replace(&self.handle, "THE-HANDLE");
        }
        self.log.say(&format!("{method} {input}"), &outcome);
        outcome.ok()?.get("next").cloned()
    }

    /// Of one owner's thread.
    async fn of(&mut self, resource: &str, thread: &str, method: &str, more: Value) -> Option<Value> {
        let mut input = Map::from_iter([("resource".to_owned(), json!(resource))]);
        if !thread.is_empty() {
            input.insert("thread".to_owned(), json!(thread));
        }
        input.extend(more.as_object().cloned().unwrap_or_default());
        self.ask(method, Value::Object(input)).await
    }

    async fn all(&mut self, resource: &str, thread: &str) {
        self.of(resource, thread, "tail", json!({"limit": 100})).await;
    }
}

fn message(id: &str, role: &str, text: &str) -> Value {
    let parts = json!([{"type": "text", "text": text}]);
    json!({"id": id, "role": role, "status": "complete", "parts": parts, "created_at": 1_600_000_000_000_i64})
}

async fn appending(on: &mut Opened<'_>) {
    let turn = json!([message("q1", "user", "hello, ü 北京 😀"), message("a1", "assistant", "hi")]);
    on.of("a", "t", "append", json!({"key": "k1", "messages": turn})).await;
    let create = json!({"agent": "clerk", "title": "Tea", "metadata": {"n": 1}});
    on.of("a", "t", "append", json!({"key": "k1", "turn": "1", "messages": turn, "create": create})).await;
    for (key, messages) in [
        // The same once more, then what the key alone decides, then ids that are taken.
        ("k1", turn.clone()),
        ("k1", json!([message("q9", "user", "another")])),
        ("k2", json!([message("q2", "user", "new"), message("a1", "assistant", "taken")])),
        ("k3", json!([message("q2", "user", "one"), message("q2", "user", "twice")])),
        ("k4", json!([])),
        ("k5", json!([message("q2", "user", "more"), message("a2", "assistant", "yes"), message("q3", "user", "?")])),
    ] {
        on.of("a", "t", "append", json!({"key": key, "messages": messages})).await;
    }
    on.of("a", "t", "append", json!({"messages": []})).await;
    on.all("a", "t").await;
    for (turn, message) in [
        ("1", message("a1", "assistant", "hi there")),
        ("2", message("a1", "assistant", "of another turn")),
        ("1", message("q1", "user", "no assistant's")),
        ("3", message("a3", "assistant", "written the first time")),
    ] {
        on.of("a", "t", "save", json!({"turn": turn, "message": message})).await;
    }
    on.of("a", "nowhere", "save", json!({"message": message("a1", "assistant", "hi")})).await;
}

async fn reading(on: &mut Opened<'_>) {
    for input in [
        json!({"limit": 2}),
        json!({"limit": 0}),
        json!({"limit": 2, "before": 3}),
        json!({"limit": 2, "before": 1}),
        json!({"limit": 9, "bytes": 1}),
        json!({"limit": -1}),
        json!({}),
    ] {
        on.of("a", "t", "tail", input).await;
    }
    for input in [
        json!({"limit": 2}),
        json!({"limit": 2, "before": "a2"}),
        json!({"limit": 9, "direction": "ascending", "offset": 4}),
        json!({"limit": 9, "direction": "ascending", "offset": 99}),
        json!({"limit": 2, "direction": "ascending", "bytes": 1}),
        json!({"limit": 2, "before": "q1"}),
        json!({"limit": 2, "before": "nobody"}),
        json!({"limit": 2, "direction": "sideways"}),
    ] {
        on.of("a", "t", "messages", input).await;
    }
    for (resource, thread) in [("a", "nowhere"), ("b", "t")] {
        on.all(resource, thread).await;
        on.of(resource, thread, "messages", json!({"limit": 2})).await;
        on.of(resource, thread, "thread", json!({})).await;
        on.of(resource, thread, "update_thread", json!({"title": "Mine"})).await;
        on.of(resource, thread, "append", json!({"key": "k1", "messages": []})).await;
        on.of(resource, thread, "working_memory.get", json!({})).await;
        on.of(resource, thread, "working_memory.set", json!({"text": "mine", "seen": 0})).await;
        on.of(resource, thread, "delete_thread", json!({})).await;
    }
    on.all("a", "t").await;
}

async fn threads(on: &mut Opened<'_>) {
    on.of("a", "u", "create_thread", json!({"create": {"agent": "cook", "title": "Soup"}})).await;
    on.of("a", "u", "create_thread", json!({"create": {"title": "another"}})).await;
    on.of("a", "sub", "create_thread", json!({"create": {"agent": "maid", "parent": "u"}})).await;
    on.of("a", "v", "create_thread", json!({})).await;
    on.of("b", "t", "create_thread", json!({"create": {"title": "b's own"}})).await;
    on.of("a", "t", "thread", json!({})).await;
    on.of("a", "t", "update_thread", json!({"title": "Green tea"})).await;
    on.of("a", "t", "update_thread", json!({"metadata": {"m": [null]}})).await;
    on.of("a", "t", "update_thread", json!({})).await;
    let next = on.of("a", "", "threads", json!({"limit": 2})).await.expect("there are more");
    on.of("a", "", "threads", json!({"limit": 2, "after": next})).await;
    on.of("a", "", "threads", json!({"limit": 2, "after": next, "order": "updated"})).await;
    for input in [
        json!({"limit": 2, "after": "c9999"}),
        json!({"limit": 9, "after": "u1"}),
        json!({"limit": 9, "order": "activity"}),
        json!({"limit": 1, "order": "updated", "direction": "ascending", "offset": 1}),
        json!({"limit": 9, "agent": "cook"}),
        json!({"limit": 9, "agent": "nobody"}),
        json!({"limit": 0}),
        json!({"limit": 9, "order": "size"}),
    ] {
        on.of("a", "", "threads", input).await;
    }
    on.of("b", "", "threads", json!({"limit": 9})).await;
    on.of("nobody", "", "threads", json!({"limit": 9})).await;
}

async fn working(on: &mut Opened<'_>) {
    // Of the owner, then of a thread.
    for thread in ["", "t"] {
        on.of("a", thread, "working_memory.get", json!({})).await;
        for (text, seen) in [
            (json!("likes tea"), 1),
            (json!("likes tea"), 0),
            (json!("likes coffee"), 0),
            (json!("likes ü 北京 😀"), 1),
            (json!(null), 1),
            (json!(null), 2),
            (json!("again"), 3),
        ] {
            on.of("a", thread, "working_memory.set", json!({"text": text, "seen": seen})).await;
            on.of("a", thread, "working_memory.get", json!({})).await;
        }
        on.of("b", thread, "working_memory.get", json!({})).await;
    }
}

async fn going(on: &mut Opened<'_>) {
    for _ in 0..2 {
        // With the thread of its sub-agent, and once.
        on.of("a", "u", "delete_thread", json!({})).await;
        on.of("a", "sub", "thread", json!({})).await;
    }
    on.of("b", "t", "append", json!({"key": "k1", "messages": [message("q1", "user", "b's")]})).await;
    for _ in 0..2 {
        on.of("a", "", "erase", json!({})).await;
    }
    on.all("a", "t").await;
    on.of("a", "", "working_memory.get", json!({})).await;
    on.of("a", "", "threads", json!({"limit": 9})).await;
    on.all("b", "t").await;
}

pub(super) async fn all(world: &World, log: &mut Transcript) {
    for config in [json!({"clock": "noon"}), json!({"colour": "red"}), json!({"fail": "the disk is on holiday"})] {
        assert_eq!(open(world, log, config).await, None);
    }
    let still = json!({"clock": 1_700_000_000_000_i64});
    let handle = open(world, log, still.clone()).await.expect("opened");
    let other = open(world, log, still).await.expect("opened");
    assert_ne!(handle, other);
    let mut on = Opened { world, log, handle };
    appending(&mut on).await;
    reading(&mut on).await;
    threads(&mut on).await;
    working(&mut on).await;
    going(&mut on).await;
    on.ask("tail", json!({"handle": "nobody", "resource": "b", "thread": "t", "limit": 9})).await;
    on.ask("tail", json!({"handle": 5})).await;
    on.of("b", "t", "dream", json!({})).await;
    for _ in 0..2 {
        on.ask("close", json!({})).await;
        on.all("b", "t").await;
    }
    // In RAM each is a memory of its own.
    on.handle = other;
    on.all("b", "t").await;
    on.ask("close", json!({})).await;
    on.log.say("how often the factory was called", &world.tool("opened", json!({})).await);
}

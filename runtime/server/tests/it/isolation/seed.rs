//! Alice's things, one in every tier, each with a word in it that stands nowhere else.

use http::Method;
use roster_model::feed::FeedRecord;
use roster_model::id::{MessageId, ResourceId, TurnId};
use roster_model::message::{Message, MessageStatus, Part, Role, StoredMessage};
use roster_model::recall::{IndexEntry, IndexedVector};
use roster_model::storage::{NewThread, Thread, ThreadQuery};
use roster_model::suspension::SuspendedTurn;
use roster_model::time::Timestamp;
use roster_model::working::{MemoryScope, WorkingMemory};
use roster_server::{Auth, Scope};
use serde_json::{Map, Value, json};

use crate::double::call;
use crate::world::{KEEPERS, World, ask, bearer, grant, key, send};

/// Stands in everything of Alice's that has words, and in no request.
pub(super) const MARK: &str = "ORCHID";
pub(super) const ALICE: &str = "user:alice";
pub(super) const BOB: &str = "user:bob";

/// Her threads: with a title and metadata; of a sub-agent; a clone; one that waits for her approval, and one for the
/// result of a tool of hers.
pub(super) const THREADS: [&str; 5] = ["t-a", "t-sub", "t-copy", "t-wait", "t-await"];

/// A world in which Alice has something everywhere, and Bob nothing.
pub(super) struct Seeded {
    pub(super) world: World,
    /// The turn that waits, and its call.
    pub(super) turn: String,
    pub(super) call: String,
    /// The call whose result is awaited.
    pub(super) awaited: String,
}

/// With tokens for both, or with nobody signed in.
pub(super) async fn seeded(tokens: bool) -> Seeded {
    let world = World::with(KEEPERS);
    if tokens {
        let scopes = [Scope::Chat, Scope::Studio];
        world.configure(|config| config.auth = Auth::Tokens(vec![grant("alice", &scopes), grant("bob", &scopes)]));
    }
    stored(&world).await;
    world.model.say(call("add", &json!({"a": 2, "b": 3, "note": MARK}).to_string()));
    let asked = json!({"model": "guard", "conversationId": "t-wait", "resource": ALICE,
        "messages": [{"role": "user", "content": format!("add it to {MARK}")}]});
    let frames = alice(&world, "/api/chat", &asked).await.frames();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let (turn, id) = (text(&frames[1]["metadata"]["turnId"]), text(&frames[0]["metadata"]["id"]));
    world.model.say(call("look_up", &json!({"key": MARK}).to_string()));
    let asked = json!({"model": "clerk", "conversation_id": "t-await", "resource": ALICE, "tools": tools(),
        "messages": [{"role": "user", "content": format!("look {MARK} up")}]});
    let answer = alice(&world, "/v1/chat/completions", &asked).await.json();
    let awaited = text(&answer["choices"][0]["message"]["tool_calls"][0]["id"]);
    Seeded { world, turn, call: id, awaited }
}

pub(super) fn tools() -> Value {
    json!([{"type": "function", "function": {"name": "look_up", "description": "Looks up.", "parameters": {"type": "object"}}}])
}

async fn alice(world: &World, path: &str, body: &Value) -> crate::world::Answer {
    send(&world.gateway, bearer(ask(Method::POST, path, body.to_string().into()), "alice")).await
}

/// What stands in the store by itself.
async fn stored(world: &World) {
    let (store, thread) = (&world.app.store, key(ALICE, "t-a"));
    let metadata = json!({"description": MARK}).as_object().cloned();
    let new = NewThread { title: MARK.into(), metadata, ..NewThread::default() };
    store.create_thread(&thread, new).await.expect("made");
    store.append(&thread, vec![message("m-a")]).await.expect("saved");
    let entry = IndexEntry {
        message: MessageId::new("m-a").expect("legal"),
        vector: Some(vec![1.0 / 26.0_f32.sqrt(); 26]),
        terms: "the locker word is orchid".to_owned(),
    };
    store.index(&thread, "letters-26", vec![entry]).await.expect("indexed");
    for scope in scopes() {
        store.set_working_memory(&scope, Some(format!("{{\"name\":\"{MARK}\"}}")), 0).await.expect("set");
    }
    let record = FeedRecord {
        turn: TurnId::new("turn_a").expect("legal"),
        step: 1,
        at: world.app.services.clock.now(),
        record: json!({"fed": MARK}).to_string(),
    };
    store.put_feed(vec![(thread.clone(), vec![record])], Timestamp::from_millis(0)).await.expect("put");
    let below = NewThread { parent: Some(thread.thread.clone()), title: MARK.into(), ..NewThread::default() };
    store.create_thread(&key(ALICE, "t-sub"), below).await.expect("made");
    store.append(&key(ALICE, "t-sub"), vec![message("m-sub")]).await.expect("saved");
    let copy = key(ALICE, "t-copy").thread;
    let new = NewThread { title: MARK.into(), ..NewThread::default() };
    store.copy_thread(&thread, &copy, new, Default::default()).await.expect("copied");
}

fn message(id: &str) -> Message {
    Message {
        id: MessageId::new(id).expect("legal"),
        role: Role::User,
        parts: vec![Part::text(format!("the locker word is {MARK}"))],
        created_at: Timestamp::from_millis(0),
        status: MessageStatus::Complete,
        origin: None,
        metadata: Map::new(),
    }
}

fn scopes() -> [MemoryScope; 2] {
    [MemoryScope::Thread(key(ALICE, "t-a")), MemoryScope::Resource(ResourceId::new(ALICE).expect("legal"))]
}

/// Everything of Alice's.
#[derive(Debug, PartialEq)]
pub(super) struct State {
    threads: Vec<Thread>,
    rows: Vec<Vec<StoredMessage>>,
    working: Vec<Option<WorkingMemory>>,
    feed: Vec<FeedRecord>,
    vectors: Vec<IndexedVector>,
    waiting: Vec<SuspendedTurn>,
}

pub(super) async fn state(world: &World) -> State {
    let (store, resource) = (&world.app.store, ResourceId::new(ALICE).expect("legal"));
    let query = ThreadQuery { limit: 100, ..ThreadQuery::default() };
    let (mut rows, mut working) = (Vec::new(), Vec::new());
    for thread in THREADS {
        rows.push(world.rows(ALICE, thread).await);
    }
    for scope in scopes() {
        working.push(store.working_memory(&scope).await.expect("read"));
    }
    State {
        threads: store.threads(&resource, query).await.expect("read").rows,
        rows,
        working,
        feed: store.feed(&key(ALICE, "t-a"), None).await.expect("read"),
        vectors: store.vectors(&resource, None, "letters-26", 0, 100).await.expect("read").0,
        waiting: store.suspended_turns(&resource, 100).await.expect("read"),
    }
}

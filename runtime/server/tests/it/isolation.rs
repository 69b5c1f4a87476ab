//! TO-g2: no byte crosses from owner to owner. Every route of `/openapi.json` is walked with another owner's token, with
//! every way of naming the first one's things.

use http::{Method, StatusCode};
use roster_model::feed::FeedRecord;
use roster_model::id::{MessageId, ResourceId, TurnId};
use roster_model::message::{Message, MessageStatus, Part, Role, StoredMessage};
use roster_model::storage::{NewThread, Thread, ThreadQuery};
use roster_model::time::Timestamp;
use roster_model::working::{MemoryScope, WorkingMemory};
use roster_server::{Auth, Scope};
use serde_json::{Map, Value, json};

use crate::world::{Answer, KEEPERS, World, ask, bearer, grant, key, send};

/// Stands in everything of Alice's that has words, and in no request.
const MARK: &str = "ORCHID";
const ALICE: &str = "user:alice";

/// Alice has a thread `t-a` with a message `m-a`, working memories and a feed record; Bob has nothing.
async fn seeded() -> World {
    let world = World::with(KEEPERS);
    let scopes = [Scope::Chat, Scope::Studio];
    world.configure(|config| config.auth = Auth::Tokens(vec![grant("alice", &scopes), grant("bob", &scopes)]));
    let (store, thread) = (&world.app.store, key(ALICE, "t-a"));
    let metadata = json!({"description": MARK}).as_object().cloned();
    let new = NewThread { title: MARK.into(), metadata, ..NewThread::default() };
    store.create_thread(&thread, new).await.expect("made");
    let message = Message {
        id: MessageId::new("m-a").expect("legal"),
        role: Role::User,
        parts: vec![Part::text(format!("the locker word is {MARK}"))],
        created_at: Timestamp::from_millis(0),
        status: MessageStatus::Complete,
        origin: None,
        metadata: Map::new(),
    };
    store.append(&thread, vec![message]).await.expect("saved");
    for scope in scopes_of_alice() {
        store.set_working_memory(&scope, Some(format!("{{\"name\":\"{MARK}\"}}")), 0).await.expect("set");
    }
    let record = FeedRecord {
        turn: TurnId::new("turn_a").expect("legal"),
        step: 1,
        at: world.app.services.clock.now(),
        record: json!({"fed": MARK}).to_string(),
    };
    store.put_feed(vec![(thread, vec![record])], Timestamp::from_millis(0)).await.expect("put");
    world
}

fn scopes_of_alice() -> [MemoryScope; 2] {
    [MemoryScope::Thread(key(ALICE, "t-a")), MemoryScope::Resource(ResourceId::new(ALICE).expect("legal"))]
}

/// Everything of Alice's.
type State = (Vec<Thread>, Vec<StoredMessage>, Vec<Option<WorkingMemory>>, Vec<FeedRecord>);

async fn state(world: &World) -> State {
    let (store, resource) = (&world.app.store, ResourceId::new(ALICE).expect("legal"));
    let query = ThreadQuery { limit: 100, ..ThreadQuery::default() };
    let threads = store.threads(&resource, query).await.expect("read").rows;
    let mut working = Vec::new();
    for scope in scopes_of_alice() {
        working.push(store.working_memory(&scope).await.expect("read"));
    }
    let feed = store.feed(&key(ALICE, "t-a"), None).await.expect("read");
    (threads, world.rows(ALICE, "t-a").await, working, feed)
}

/// A request of the walk: which listener, method, path with its query.
struct Step {
    studio: bool,
    method: Method,
    path: String,
}

/// Every operation of the document, with every way of naming what is Alice's.
async fn walk() -> Vec<Step> {
    let document = World::new().get("/openapi.json").await.json();
    let mut steps = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
            let id = match path.as_str() {
                path if path.contains("/resources/") => ALICE,
                path if path.contains("/models/") => "clerk",
                _ => "t-a",
            };
            let path = path.replace("{id}", id);
            for query in queries() {
                let path = format!("{path}?{query}");
                if path.starts_with("/api/memory") {
                    steps.push(Step { studio: true, method: method.clone(), path: path.clone() });
                }
                steps.push(Step { studio: false, method: method.clone(), path });
            }
        }
    }
    steps
}

fn queries() -> Vec<String> {
    let mut queries = Vec::new();
    for agent in ["", "&agentId=clerk", "&agentId=noter", "&agentId=former"] {
        for owner in ["", "&resourceId=user:alice&resource=user:alice", "&resourceId=clerk"] {
            for thread in ["", "&threadId=t-a"] {
                queries.push(format!("searchQuery=locker%20orchid&turn=turn_a{agent}{owner}{thread}"));
            }
        }
    }
    queries
}

/// Names what is Alice's in every field a route may read.
fn body() -> Value {
    json!({
        "id": "t-a", "threadId": "t-a", "conversationId": "t-a", "conversation_id": "t-a", "newThreadId": "copy",
        "resourceId": ALICE, "resource": ALICE, "model": "clerk", "title": "x", "metadata": {"x": 1},
        "workingMemory": "{}", "messageIds": ["m-a"],
        "messages": [{"role": "user", "content": "what is the locker word?", "threadId": "t-a", "resourceId": ALICE}],
    })
}

async fn take(world: &World, step: &Step, token: &str) -> Answer {
    let body = match step.method {
        Method::GET | Method::DELETE => axum::body::Body::empty(),
        _ => body().to_string().into(),
    };
    let router = if step.studio { &world.studio } else { &world.gateway };
    send(router, bearer(ask(step.method.clone(), &step.path, body), token)).await
}

#[tokio::test]
async fn nothing_of_an_owner_reaches_another() {
    let steps = walk().await;
    assert!(steps.len() > 200, "{}", steps.len());
    let mut world = seeded().await;
    let before = state(&world).await;
    let mut answered = 0;
    for step in &steps {
        let name = format!("{} {}", step.method, step.path);
        let answer = take(&world, step, "bob").await;
        assert!(!answer.text.contains(MARK), "{name}: {}", answer.text);
        assert!(answer.status != StatusCode::UNAUTHORIZED, "{name}");
        assert_eq!(state(&world).await, before, "{name}: {}", answer.text);
        answered += usize::from(answer.status.is_success());
        if !step.method.is_safe() {
            let prompts = format!("{:?}", world.model.asked());
            assert!(!prompts.contains(MARK), "{name}: {prompts}");
            // Bob may have made things of his own under the same names, which would hide the next hole.
            world = seeded().await;
        }
    }
    assert!(answered > 50, "the walk is no walk along closed doors: {answered}");
}

/// The same walk finds Alice's things with Alice's token, so the test above can fail.
#[tokio::test]
async fn the_walk_reaches_what_it_looks_for() {
    let world = seeded().await;
    let mut reached = std::collections::BTreeSet::new();
    for step in walk().await.iter().filter(|step| step.method == Method::GET) {
        if take(&world, step, "alice").await.text.contains(MARK) {
            reached.insert(step.path.split('?').next().expect("a path").to_owned());
        }
    }
    let expected = [
        "/api/conversations",
        "/api/conversations/t-a/messages",
        "/api/memory/search",
        "/api/memory/threads",
        "/api/memory/threads/t-a",
        "/api/memory/threads/t-a/feed",
        "/api/memory/threads/t-a/messages",
        "/api/memory/threads/t-a/working-memory",
    ];
    assert_eq!(reached.into_iter().collect::<Vec<_>>(), expected);
}

/// A token's threads stay its own, whatever it is asked to do with them.
#[tokio::test]
async fn a_token_gives_nothing_away_and_erases_only_its_own() {
    let world = seeded().await;
    for to in ["user:bob", "ai-chat", "clerk"] {
        let path = "/api/memory/threads/t-a/transfer?agentId=clerk";
        let body = json!({"resourceId": to}).to_string();
        let request = bearer(ask(Method::POST, path, body.into()), "alice");
        assert_eq!(send(&world.gateway, request).await.plain_error(), (403, "transfer_refused".into()), "{to}");
    }
    let erase = |who: &'static str| {
        let path = format!("/api/memory/resources/{ALICE}");
        bearer(ask(Method::DELETE, &path, axum::body::Body::empty()), who)
    };
    assert_eq!(send(&world.gateway, erase("bob")).await.plain_error(), (404, "resource_not_found".into()));
    let erased = send(&world.gateway, erase("alice")).await.json();
    assert_eq!((&erased["threads"], &erased["messages"]), (&json!(1), &json!(1)));
}

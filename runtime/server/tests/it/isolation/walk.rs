//! Every operation of `/openapi.json` and every route of `/admin`, with every way of naming what is Alice's.

use axum::body::Body;
use http::Method;
use serde_json::{Value, json};

use super::seed::{ALICE, BOB, Seeded, THREADS, tools};
use crate::world::{Answer, World, ask, bearer, send};

/// A request of the walk. `{turn}`, `{call}` and `{awaited}` stand for what seeding made.
pub(super) struct Step {
    pub(super) studio: bool,
    pub(super) method: Method,
    /// As the document has it.
    pub(super) template: String,
    pub(super) path: String,
    body: Value,
}

impl Step {
    /// Which agent is asked in which thread, at a chat door.
    pub(super) fn asks(&self) -> String {
        let text = |name: &str| self.body[name].as_str().unwrap_or_default();
        format!("{} in {}", text("model"), text("conversationId"))
    }
}

/// How the requests name an owner.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// Alice, an agent, or nobody: for whoever has a token.
    Anybody,
    /// Bob in every place: where nobody is signed in.
    Bob,
}

/// Agents with every kind of memory.
const ASKED: [&str; 6] = ["clerk", "noter", "former", "finder", "guard", "keeper"];

/// All requests.
pub(super) async fn walk(naming: Naming) -> Vec<Step> {
    let mut steps = Vec::new();
    for (method, template) in operations().await {
        let admin = template.starts_with("/admin");
        if admin && naming == Naming::Bob {
            // Where nobody is signed in whoever reaches the operator's listener is the operator.
            continue;
        }
        for (at, path) in paths(&template, naming).into_iter().enumerate() {
            // Every agent asks for the first thread, one for the others.
            let asks = |query: &str| at == 0 || !query.contains("agentId") || query.contains("agentId=clerk");
            for (query, body) in variants(&template, naming).into_iter().filter(|(query, _)| asks(query)) {
                let path = if query.is_empty() { path.clone() } else { format!("{path}?{query}") };
                let on_both = template.starts_with("/api/memory");
                for studio in [false, true].into_iter().filter(|studio| on_both || *studio == admin) {
                    let (method, template) = (method.clone(), template.clone());
                    steps.push(Step { studio, method, template, path: path.clone(), body: body.clone() });
                }
            }
        }
    }
    steps
}

/// The document's operations, and the operator's routes as the guide lists them; a test holds the guide to the table of
/// routes.
async fn operations() -> Vec<(Method, String)> {
    let document = World::new().get("/openapi.json").await.json();
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let methods = methods.as_object().expect("methods").keys();
        operations.extend(methods.map(|method| (method.to_uppercase(), path.clone())));
    }
    let guide = include_str!("../../../../../docs/http.md");
    let named = guide.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')?.split_once(' '));
    let admin = named.filter(|(_, path)| path.starts_with("/admin"));
    operations.extend(admin.map(|(method, path)| (method.to_owned(), path.to_owned())));
    let method = |text: String| Method::from_bytes(text.as_bytes()).expect("a method");
    operations.into_iter().map(|(text, path)| (method(text), path)).collect()
}

/// The template with each of Alice's ids that fits.
fn paths(template: &str, naming: Naming) -> Vec<String> {
    let ids: &[&str] = match template {
        path if path.contains("/resources/") => match naming {
            Naming::Anybody => &[ALICE],
            Naming::Bob => &[BOB],
        },
        path if path.contains("/turns/") => &["{turn}", "turn_a"],
        path if path.contains("/models/") || path.contains("/agents/") => &["clerk"],
        path if path.contains("{id}") => &THREADS,
        _ => &[""],
    };
    ids.iter().map(|id| template.replace("{id}", id).replace("{key}", "weather")).collect()
}

/// Queries and bodies.
fn variants(template: &str, naming: Naming) -> Vec<(String, Value)> {
    let owner = match naming {
        Naming::Anybody => ALICE,
        Naming::Bob => BOB,
    };
    let named = format!("resource={owner}&resourceId={owner}");
    match template {
        "/api/chat" | "/v1/chat/completions" => {
            let bodies = ASKED.iter().flat_map(|agent| chats(agent, owner));
            bodies.map(|body| (named.clone(), body)).collect()
        }
        path if path.contains("/turns/") => {
            let mut bodies = vec![json!({"resource": owner}), json!({"callId": "{call}", "resource": owner})];
            if naming == Naming::Anybody {
                bodies.push(json!({}));
            }
            bodies.into_iter().map(|body| (named.clone(), body)).collect()
        }
        _ => queries(naming).into_iter().map(|query| (query, body(owner))).collect(),
    }
}

fn queries(naming: Naming) -> Vec<String> {
    let owners: &[&str] = match naming {
        Naming::Anybody => &["", "&resourceId=user:alice&resource=user:alice", "&resourceId=clerk"],
        Naming::Bob => &["&resourceId=user:bob&resource=user:bob"],
    };
    let include = "include=%5B%7B%22id%22:%22m-a%22,%22threadId%22:%22t-a%22,%22withNextMessages%22:5%7D%5D";
    let mut queries = Vec::new();
    for agent in ["clerk", "noter", "former", "finder"] {
        for owner in owners {
            for thread in ["", "&threadId=t-a"] {
                queries
                    .push(format!("searchQuery=locker%20orchid&turn=turn_a&agentId={agent}{owner}{thread}&{include}"));
            }
        }
    }
    queries.extend(owners.iter().map(|owner| format!("limit=10{owner}")));
    queries
}

/// A question in each of Alice's threads, in one of Bob's own, and the result that is awaited.
fn chats(agent: &str, owner: &str) -> Vec<Value> {
    let question = json!([{"role": "user", "content": "what is the locker word?"}]);
    let result = json!([{"role": "tool", "tool_call_id": "{awaited}", "content": "7"}]);
    let chat = |thread: &str, messages: &Value| {
        json!({"model": agent, "conversationId": thread, "conversation_id": thread, "resource": owner,
            "messages": messages, "tools": tools()})
    };
    let mut chats: Vec<Value> = THREADS.iter().map(|thread| chat(thread, &question)).collect();
    chats.push(chat("t-bob", &question));
    chats.push(chat("t-await", &result));
    chats
}

/// Names what is Alice's in every field a route may read.
fn body(owner: &str) -> Value {
    json!({
        "id": "t-a", "threadId": "t-a", "newThreadId": "copy", "resourceId": owner, "resource": owner, "title": "x",
        "metadata": {"x": 1}, "workingMemory": "{}", "messageIds": ["m-a"], "options": {"untilMessageId": "m-a"},
        "messages": [{"role": "user", "content": "what is the locker word?", "threadId": "t-a", "resourceId": owner}],
    })
}

/// Sends a request, with a token if there is one.
pub(super) async fn take(seeded: &Seeded, step: &Step, token: Option<&str>) -> Answer {
    let filled = |text: String| {
        let text = text.replace("{turn}", &seeded.turn).replace("{call}", &seeded.call);
        text.replace("{awaited}", &seeded.awaited)
    };
    let body = match step.method {
        Method::GET | Method::DELETE => Body::empty(),
        _ => filled(step.body.to_string()).into(),
    };
    let request = ask(step.method.clone(), &filled(step.path.clone()), body);
    let request = token.into_iter().fold(request, bearer);
    send(if step.studio { &seeded.world.studio } else { &seeded.world.gateway }, request).await
}

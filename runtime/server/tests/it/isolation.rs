//! TO-g2: no byte crosses from owner to owner. Every route of `/openapi.json` and of `/admin` is walked by another owner,
//! with every way of naming the first one's things, who has something in every tier.

mod seed;
mod walk;

use std::collections::BTreeSet;

use http::{Method, StatusCode};
use serde_json::json;

use self::seed::{ALICE, MARK, Seeded, State, seeded, state};
use self::walk::{Naming, Step, take, walk};
use crate::world::{Answer, ask, bearer, send};

/// What the model was told since `before` calls.
fn prompts(seeded: &Seeded, before: usize) -> String {
    format!("{:?}", &seeded.world.model.asked()[before..])
}

/// Takes a step as somebody else: nothing of Alice's may show, reach a model, or change.
async fn cross(seeded: &Seeded, before: &State, step: &Step, token: Option<&str>) -> Answer {
    let asked = seeded.world.model.asked().len();
    let answer = take(seeded, step, token).await;
    let name = format!("{} {}", step.method, step.path);
    assert!(!answer.text.contains(MARK), "{name}: {}", answer.text);
    let told = prompts(seeded, asked);
    assert!(!told.contains(MARK), "{name}: {told}");
    assert_eq!(state(&seeded.world).await, *before, "{name}: {}", answer.text);
    answer
}

#[tokio::test]
async fn nothing_of_an_owner_reaches_another() {
    let steps = walk(Naming::Anybody).await;
    assert!(steps.len() > 500, "{}", steps.len());
    let mut seeded = seeded(true).await;
    let mut before = state(&seeded.world).await;
    let (mut answered, mut refused) = (0, BTreeSet::new());
    for step in &steps {
        let name = format!("{} {}", step.method, step.path);
        let answer = cross(&seeded, &before, step, Some("bob")).await;
        assert_ne!(answer.status, StatusCode::UNAUTHORIZED, "{name}");
        let operators = step.template.starts_with("/admin") || step.template == "/metrics";
        assert_eq!(answer.status == StatusCode::FORBIDDEN && !name.contains("/transfer"), operators, "{name}");
        if answer.status.is_success() {
            answered += 1;
            if !step.method.is_safe() {
                // Bob has made things of his own under the same names, which would hide the next hole.
                seeded = self::seed::seeded(true).await;
                before = state(&seeded.world).await;
            }
        }
        // And as nobody at all, once for each route.
        if refused.insert((step.method.clone(), step.template.clone())) {
            let public = ["/health", "/api/health", "/ready", "/api/auth/capabilities"];
            let answer = cross(&seeded, &before, step, None).await;
            assert_eq!(answer.status != StatusCode::UNAUTHORIZED, public.contains(&&*step.template), "{name}");
        }
    }
    assert!(answered > 100, "the walk is no walk along closed doors: {answered}");
}

/// Where nobody is signed in the request's owner counts: whoever says to be Bob gets nothing of Alice's.
#[tokio::test]
async fn nothing_of_an_owner_reaches_whoever_names_another() {
    let steps = walk(Naming::Bob).await;
    let mut seeded = seeded(false).await;
    let mut before = state(&seeded.world).await;
    let mut answered = 0;
    for step in &steps {
        let answer = cross(&seeded, &before, step, None).await;
        if answer.status.is_success() {
            answered += 1;
            if !step.method.is_safe() {
                seeded = self::seed::seeded(false).await;
                before = state(&seeded.world).await;
            }
        }
    }
    assert!(answered > 100, "{answered}");
}

/// The same walk finds Alice's things with Alice's token, in every tier, so the tests above can fail.
#[tokio::test]
async fn the_walk_reaches_what_it_looks_for() {
    let mut seeded = seeded(true).await;
    let (mut reached, mut recalled) = (BTreeSet::new(), BTreeSet::new());
    for step in &walk(Naming::Anybody).await {
        let asked = seeded.world.model.asked().len();
        let answer = take(&seeded, step, Some("alice")).await;
        let told = prompts(&seeded, asked).contains(MARK);
        if answer.text.contains(MARK) || told {
            reached.insert(format!("{} {}", step.method, step.template));
        }
        if told && step.template == "/api/chat" {
            recalled.insert(step.asks());
        }
        if !step.method.is_safe() && answer.status.is_success() {
            seeded = self::seed::seeded(true).await;
        }
    }
    let expected = [
        "GET /api/conversations",
        "GET /api/conversations/{id}/messages",
        "GET /api/memory/search",
        "GET /api/memory/threads",
        "GET /api/memory/threads/{id}",
        "GET /api/memory/threads/{id}/feed",
        "GET /api/memory/threads/{id}/messages",
        "GET /api/memory/threads/{id}/working-memory",
        "GET /api/turns",
        "POST /api/chat",
        "POST /api/conversations",
        "POST /api/memory/threads/{id}/clone",
        "POST /api/memory/threads/{id}/transfer",
        "POST /api/turns/{id}/approve",
        "POST /api/turns/{id}/decline",
        "POST /v1/chat/completions",
    ];
    assert_eq!(reached.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    // The window, recall over her threads, and both scopes of working memory; `keeper` has a window alone.
    for asks in ["clerk in t-a", "finder in t-bob", "noter in t-bob", "former in t-a"] {
        assert!(recalled.contains(asks), "{asks} not in {recalled:?}");
    }
    for quiet in ["keeper in t-bob", "clerk in t-bob", "former in t-bob"] {
        assert!(!recalled.contains(quiet), "{quiet} in {recalled:?}");
    }
}

/// A token's threads stay its own, whatever it is asked to do with them.
#[tokio::test]
async fn a_token_gives_nothing_away_and_erases_only_its_own() {
    let Seeded { world, .. } = seeded(true).await;
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
    assert_eq!((&erased["threads"], &erased["messages"]), (&json!(5), &json!(7)));
}

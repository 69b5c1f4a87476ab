//! Every error a client can meet, with its status and code.

use std::sync::Arc;

use axum::body::Body;
use http::{Method, StatusCode};
use roster_engine::turn::Limits;
use roster_model::provider::ProviderErrorKind;
use roster_model::storage::StoreErrorKind;
use roster_storage::unavailable::UnavailableStore;
use serde_json::json;

use crate::bad::Bad;
use crate::chat::ask;
use crate::double::{Say, fail, words};
use crate::world::{World, ask as request, send};

#[tokio::test]
async fn agent_without_memory_touches_no_store() {
    let world = World::on(Arc::new(Bad(None)));
    world.post("/api/chat", &ask("echo", Some("c"), "hi")).await.frames();
    let body = json!({"model": "echo", "conversation_id": "c", "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(world.post("/v1/chat/completions", &body).await.status, StatusCode::OK);
    let memoryless = json!({"model": "clerk", "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(
        world.post("/v1/chat/completions", &memoryless).await.status,
        StatusCode::OK,
        "no conversation, no store"
    );
}

#[tokio::test]
async fn a_store_that_fails_fails_loudly_and_keeps_its_secrets() {
    for (kind, status, code) in [
        (StoreErrorKind::Unavailable, 503, "sessions_unavailable"),
        (StoreErrorKind::Full, 507, "storage_full"),
        (StoreErrorKind::Busy, 503, "busy"),
        (StoreErrorKind::Internal, 500, "internal"),
    ] {
        let world = World::on(Arc::new(Bad(Some(kind))));
        let answers = [
            world.post("/api/chat", &ask("clerk", Some("c"), "hi")).await,
            world.get("/api/conversations").await,
            world.get("/api/conversations/c/messages").await,
            world.delete("/api/conversations/c").await,
            world.post("/api/conversations", &json!({})).await,
            world.studio("/api/memory/threads").await,
            world.studio("/api/memory/threads/t").await,
        ];
        for answer in answers {
            assert_eq!(answer.plain_error(), (status, code.to_owned()));
            assert!(!answer.text.contains("secret"), "{}", answer.text);
            assert_eq!(!answer.header("retry-after").is_empty(), kind == StoreErrorKind::Busy);
        }
        let body = json!({"model": "clerk", "conversation_id": "c", "stream": true, "messages": [{"role": "user", "content": "hi"}]});
        let answer = world.post("/v1/chat/completions", &body).await;
        assert_eq!(answer.openai_error(), (status, code.to_owned(), None));
    }
}

/// TO-c3 as clients see it.
#[tokio::test]
async fn without_sessions_the_runtime_serves_degraded() {
    let world = World::on(Arc::new(UnavailableStore::new("damaged")));
    for answer in [world.get("/health").await, world.get("/api/health").await, world.studio("/health").await] {
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.json(), json!({"status": "degraded", "success": true, "problems": ["sessions_unavailable"]}));
    }
    world.post("/api/chat", &ask("echo", None, "hi")).await.frames();
    let refused = world.post("/api/chat", &ask("clerk", None, "hi")).await;
    assert_eq!(refused.plain_error(), (503, "sessions_unavailable".into()));
    assert!(world.model.asked().len() == 1, "the provider is not asked when the question cannot be stored");
}

#[tokio::test]
async fn every_kind_of_provider_failure_has_its_status() {
    use ProviderErrorKind as Kind;
    for (kind, status) in [
        (Kind::Connect, 502),
        (Kind::Timeout, 504),
        (Kind::Auth, 502),
        (Kind::RateLimited, 429),
        (Kind::Overloaded, 503),
        (Kind::Server, 502),
        (Kind::NotFound, 502),
        (Kind::BadRequest, 400),
        (Kind::ContextLength, 400),
        (Kind::ContentFilter, 400),
        (Kind::Protocol, 502),
        (Kind::Empty, 502),
    ] {
        let world = World::new();
        world.model.say([fail(kind)]);
        let body = json!({"model": "echo", "messages": [{"role": "user", "content": "hi"}]});
        let answer = world.post("/v1/chat/completions", &body).await;
        assert_eq!(answer.openai_error(), (status, kind.code().to_owned(), None));
    }
}

#[tokio::test]
async fn a_missing_key_is_told_before_anything_is_stored() {
    let world = World::new();
    world.model.lose_key();
    let answer = world.post("/api/chat", &ask("clerk", Some("c"), "hi")).await;
    assert_eq!(answer.plain_error(), (503, "provider_key_missing".into()));
    assert!(answer.json()["error"].as_str().expect("text").contains("`STUB_KEY`"));
    assert!(world.rows("shop", "c").await.is_empty());
}

#[tokio::test]
async fn agents_that_cannot_be_asked() {
    let world = World::new();
    for name in ["nope", "off", "Clerk"] {
        let answer = world.post("/api/chat", &ask(name, None, "hi")).await;
        assert_eq!(answer.json(), json!({"error": format!("unknown model: {name}"), "code": "model_not_found"}));
        assert_eq!(answer.status, StatusCode::NOT_FOUND);
    }
    let answer = world.post("/api/chat", &ask("broken", None, "hi")).await;
    assert_eq!(answer.plain_error(), (503, "agent_rejected".into()));
    assert_eq!(answer.json()["error"], "agent `broken` was rejected: unknown provider `nobody`");
    assert_eq!(answer.json()["agent"], "broken");
    let body = json!({"model": "broken", "messages": [{"role": "user", "content": "hi"}]});
    let answer = world.post("/v1/chat/completions", &body).await;
    assert_eq!(answer.openai_error(), (503, "agent_rejected".into(), Some("model".into())));
    let long = "x".repeat(100_000);
    assert!(world.post("/api/chat", &ask(&long, None, "hi")).await.text.len() < 1_000);
}

#[tokio::test]
async fn paths_and_methods_that_are_not_there() {
    let world = World::new();
    assert_eq!(world.get("/nope").await.plain_error(), (404, "not_found".into()));
    assert_eq!(world.get("/v1/nope").await.openai_error(), (404, "not_found".into(), None));
    assert_eq!(world.studio("/nope").await.plain_error(), (404, "not_found".into()));
    let wrong = world.get("/api/chat").await;
    assert_eq!(wrong.plain_error(), (405, "method_not_allowed".into()));
    assert_eq!(wrong.header("allow"), "POST");
    let wrong = send(&world.gateway, request(Method::PUT, "/api/conversations", Body::empty())).await;
    let mut allowed: Vec<&str> = wrong.header("allow").split(',').map(str::trim).collect();
    allowed.sort_unstable();
    assert_eq!((wrong.status.as_u16(), allowed), (405, vec!["GET", "HEAD", "POST"]));
    assert_eq!(world.get("/v1/chat/completions").await.openai_error().0, 405);
}

#[tokio::test]
async fn too_many_turns_and_a_stopping_runtime() {
    let world = World::with_limits(Limits { concurrent_turns: 0, ..Limits::default() });
    let answer = world.post("/api/chat", &ask("echo", None, "hi")).await;
    assert_eq!((answer.plain_error(), answer.header("retry-after")), ((503, "busy".into()), "1"));
    let world = World::new();
    world.app.services.draining.cancel();
    let answer = world.post("/api/chat", &ask("echo", None, "hi")).await;
    assert_eq!(answer.plain_error(), (503, "draining".into()));
    let ready = world.get("/ready").await;
    assert_eq!((ready.status.as_u16(), &ready.json()["status"]), (503, &json!("draining")));
}

#[tokio::test]
async fn ready_says_where_it_stands() {
    let world = World::new();
    assert_eq!(world.get("/ready").await.json(), json!({"status": "ready"}));
    world.not_ready();
    let answer = world.studio("/ready").await;
    assert_eq!((answer.status.as_u16(), &answer.json()["status"]), (503, &json!("starting")));
    assert_eq!(world.get("/health").await.json(), json!({"status": "ok", "success": true}));
}

#[tokio::test]
async fn a_crash_in_a_handler_ends_its_request_only() {
    let world = World::on(Arc::new(Bad(None)));
    let answer = world.get("/api/conversations").await;
    assert_eq!(answer.plain_error(), (500, "internal".into()));
    assert!(!answer.text.contains("touched"), "{}", answer.text);
    assert_eq!(world.get("/health").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_stopping_runtime_tells_its_running_turns() {
    let world = World::new();
    world.model.say([words("a"), Say::Wait(Arc::default())]);
    let stop = world.app.services.stop.clone();
    let body = ask("clerk", Some("c"), "hi");
    let asked = async {
        while world.model.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    };
    let (answer, ()) = tokio::join!(world.post("/api/chat", &body), asked);
    let frames = answer.frames();
    assert_eq!(frames.last().expect("done")["metadata"]["finishReason"], "interrupted");
}

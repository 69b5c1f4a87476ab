//! Who may call: tokens, scopes, hosts, origins.

use axum::body::Body;
use http::{Method, Request, StatusCode};
use roster_server::{Auth, Scope};
use serde_json::{Value, json};

use crate::world::{Answer, World, ask, bearer, grant, send};

fn guarded() -> World {
    let world = World::new();
    world.configure(|config| {
        config.auth = Auth::Tokens(vec![
            grant("alice", &[Scope::Chat]),
            grant("bob", &[Scope::Chat]),
            grant("ops", &[Scope::Studio]),
            grant("root", &[Scope::Admin]),
        ]);
    });
    world
}

fn with(mut request: Request<Body>, headers: &[(&'static str, &str)]) -> Request<Body> {
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().expect("legal"));
    }
    request
}

async fn chat(world: &World, token: &str, body: &Value) -> Answer {
    send(&world.gateway, bearer(ask(Method::POST, "/api/chat", body.to_string().into()), token)).await
}

async fn get(world: &World, token: &str, path: &str) -> Answer {
    send(&world.gateway, bearer(ask(Method::GET, path, Body::empty()), token)).await
}

/// TO-g2.
#[tokio::test]
async fn a_client_cannot_name_anothers_resource() {
    let world = guarded();
    let say = |text: &str| json!({"model": "clerk", "conversationId": "tA", "resource": "user:alice", "messages": [{"role": "user", "content": text}]});
    chat(&world, "alice", &say("ORCHID")).await.frames();
    for path in ["/api/conversations/tA/messages", "/api/conversations/none/messages"] {
        let answer = get(&world, "bob", &format!("{path}?resource=user:alice")).await;
        assert_eq!(answer.plain_error(), (404, "conversation_not_found".into()), "{path}");
    }
    let mastra = get(&world, "bob", "/api/memory/threads/tA?resourceId=user:alice").await;
    assert_eq!(mastra.plain_error(), (404, "thread_not_found".into()));
    let listed = get(&world, "bob", "/api/memory/threads?resourceId=user:alice").await.json();
    assert_eq!(listed["total"], 0);
    let list = get(&world, "bob", "/api/conversations?resource=user:alice").await.json();
    assert_eq!(list["conversations"], json!([]));
    let delete = ask(Method::DELETE, "/api/conversations/tA?resource=user:alice", Body::empty());
    assert_eq!(send(&world.gateway, bearer(delete, "bob")).await.status, StatusCode::NOT_FOUND);
    assert_eq!(world.model.asked().len(), 1);

    chat(&world, "bob", &say("mine")).await.frames();
    assert_eq!(world.model.prompt(), "system: Be brief. | user: mine");
    let openai = json!({"model": "clerk", "conversation_id": "tA", "resource": "user:alice",
        "messages": [{"role": "user", "content": "more"}]});
    let request = ask(Method::POST, "/v1/chat/completions", openai.to_string().into());
    assert_eq!(send(&world.gateway, bearer(request, "bob")).await.status, StatusCode::OK);
    assert!(!world.model.prompt().contains("ORCHID"));
    assert_eq!(world.rows("user:alice", "tA").await.len(), 2);
    assert_eq!(world.rows("user:bob", "tA").await.len(), 4);
}

#[tokio::test]
async fn scopes_open_their_listener() {
    let world = guarded();
    let status = |router: &axum::Router, token: &str, path: &str| {
        let request = bearer(ask(Method::GET, path, Body::empty()), token);
        let router = router.clone();
        async move { send(&router, request).await.status.as_u16() }
    };
    assert_eq!(status(&world.gateway, "alice", "/api/models").await, 200);
    assert_eq!(status(&world.gateway, "ops", "/api/models").await, 403);
    assert_eq!(status(&world.gateway, "root", "/api/models").await, 200);
    assert_eq!(status(&world.studio, "alice", "/api/memory/threads").await, 403);
    assert_eq!(status(&world.studio, "ops", "/api/memory/threads").await, 200);
    assert_eq!(status(&world.studio, "ops", "/admin/registry").await, 403);
    assert_eq!(status(&world.studio, "root", "/admin/registry").await, 200);
    assert_eq!(status(&world.studio, "ops", "/admin/agents/clerk/history").await, 403);
    assert_eq!(status(&world.studio, "root", "/admin/agents/clerk/history").await, 200);
    for (token, expected) in [("alice", 403), ("ops", 403), ("root", 200)] {
        assert_eq!(status(&world.gateway, token, "/metrics").await, expected, "{token}");
        assert_eq!(status(&world.studio, token, "/metrics").await, expected, "{token}");
    }
}

/// Routes of the gateway, and spellings that are none.
const GATEWAY: &[&str] = &[
    "/api/models",
    "/v1/models",
    "/v1/models/clerk",
    "/openapi.json",
    "/metrics",
    "/api/conversations",
    "/api/chat",
    "/api/conversations/c/messages",
    "/api/memory/threads",
    "/api/memory/threads/t",
    "/v1/chat/completions",
    "//api/models",
    "/api//models",
    "/api/models/",
    "/API/MODELS",
    "/./api/models",
    "/api/./models",
    "/health/../api/models",
    "/%61pi/models",
    "/api%2Fmodels",
    "/api/%6dodels",
    "/nowhere",
    "/",
];

/// The same of Studio's listener.
const STUDIO: &[&str] = &[
    "/admin/registry",
    "/admin/events",
    "/admin/reload",
    "/admin/agents/clerk/history",
    "/admin/agents/clerk/pin",
    "/metrics",
    "/api/memory/threads",
    "/admin",
    "/ADMIN/registry",
    "//admin/registry",
];

/// TO-g3: every route but the written list, in every spelling, with every header that was ever believed.
#[tokio::test]
async fn nothing_but_the_list_is_open() {
    let world = guarded();
    let tricks: &[&[(&'static str, &str)]] = &[
        &[],
        &[("x-mastra-dev-playground", "true"), ("x-mastra-client-type", "studio"), ("referer", "http://localhost/")],
        &[("authorization", "Bearer nobody")],
        &[("authorization", "Bearer ")],
        &[("authorization", "Basic YWxpY2U6eA==")],
        &[("x-forwarded-for", "127.0.0.1"), ("x-forwarded-host", "localhost")],
    ];
    for path in GATEWAY {
        for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::HEAD] {
            for trick in tricks {
                let answer = send(&world.gateway, with(ask(method.clone(), path, Body::empty()), trick)).await;
                assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{method} {path} {trick:?}");
                assert_eq!(answer.header("www-authenticate"), "Bearer");
            }
        }
    }
    for path in STUDIO {
        for method in [Method::GET, Method::POST] {
            let answer = send(&world.studio, ask(method, path, Body::empty())).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
        }
    }
    assert_eq!(world.app.registry.snapshot().generation, 1, "nobody reloaded");
    for path in ["/health", "/api/health", "/ready"] {
        assert_eq!(world.get(path).await.status, StatusCode::OK, "{path}");
        assert_eq!(world.studio(path).await.status, StatusCode::OK, "{path}");
    }
    assert_eq!(world.studio("/").await.status, StatusCode::OK);
    let error = world.get("/v1/models").await;
    assert_eq!(error.openai_error(), (401, "unauthorized".into(), None));
    assert!(world.model.asked().is_empty());
}

#[tokio::test]
async fn a_foreign_host_is_refused() {
    let world = World::new();
    for (host, status) in
        [("evil.test", 403), ("localhost.evil.test:8787", 403), ("localhost:8787", 200), ("[::1]:1", 200)]
    {
        let request = with(ask(Method::GET, "/health", Body::empty()), &[("host", host)]);
        assert_eq!(send(&world.gateway, request).await.status.as_u16(), status, "{host}");
    }
    let request = with(ask(Method::GET, "/v1/models", Body::empty()), &[("host", "evil.test")]);
    assert_eq!(send(&world.gateway, request).await.openai_error(), (403, "foreign_host".into(), None));
}

#[tokio::test]
async fn pages_of_loopback_may_call_and_others_not() {
    let world = World::new();
    let preflight = |origin: &str| {
        let request = ask(Method::OPTIONS, "/api/chat", Body::empty());
        with(request, &[("origin", origin), ("access-control-request-method", "POST")])
    };
    let fine = send(&world.gateway, preflight("http://localhost:3000")).await;
    assert_eq!(fine.status, StatusCode::NO_CONTENT);
    assert_eq!(fine.header("access-control-allow-origin"), "http://localhost:3000");
    let allowed = fine.header("access-control-allow-headers").to_lowercase();
    for name in
        ["content-type", "authorization", "x-mastra-client-type", "x-mastra-dev-playground", "x-conversation-id"]
    {
        assert!(allowed.contains(name), "{allowed}");
    }
    assert!(fine.headers.get("access-control-allow-credentials").is_none());
    let foreign = send(&world.gateway, preflight("https://evil.test")).await;
    assert_eq!(foreign.header("access-control-allow-origin"), "");

    let read = |origin: &str| with(ask(Method::GET, "/api/models", Body::empty()), &[("origin", origin)]);
    assert_eq!(
        send(&world.gateway, read("http://127.0.0.1:9")).await.header("access-control-allow-origin"),
        "http://127.0.0.1:9"
    );
    assert_eq!(send(&world.gateway, read("https://evil.test")).await.header("access-control-allow-origin"), "");

    let body = json!({"model": "clerk", "messages": [{"role": "user", "content": "hi"}]}).to_string();
    let post = with(
        ask(Method::POST, "/api/chat", body.into()),
        &[("origin", "https://evil.test"), ("content-type", "text/plain")],
    );
    assert_eq!(send(&world.gateway, post).await.plain_error(), (403, "origin_not_allowed".into()));
    assert!(world.model.asked().is_empty());

    world.configure(|config| config.gateway_cors = vec!["https://app.example".into(), "*".into()]);
    assert_eq!(
        send(&world.gateway, read("https://app.example")).await.header("access-control-allow-origin"),
        "https://app.example"
    );
    assert_eq!(
        send(&world.gateway, read("https://evil.test")).await.header("access-control-allow-origin"),
        "",
        "a star needs auth"
    );
    let studio =
        send(&world.studio, with(ask(Method::GET, "/health", Body::empty()), &[("origin", "https://app.example")]))
            .await;
    assert_eq!(studio.header("access-control-allow-origin"), "", "each listener has its own");
}

/// The stock Studio asks this before anything else.
#[tokio::test]
async fn whether_a_token_is_needed_is_public() {
    let world = World::new();
    let path = "/api/auth/capabilities";
    assert_eq!(world.get(path).await.json(), serde_json::json!({"enabled": false, "login": null}));
    let world = guarded();
    for answer in [world.get(path).await, world.studio(path).await] {
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.json(), serde_json::json!({"enabled": true, "login": null}));
    }
}

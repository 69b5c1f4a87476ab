//! `GET /admin/events`.

use std::time::Duration;

use axum::body::Body;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use roster_engine::definition::Problem;
use roster_server::{Auth, Scope};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::operator::KEPT;
use crate::world::{World, ask, bearer, grant};

const PATH: &str = "/admin/events";

struct Reader(Body);

impl Reader {
    async fn new(world: &World) -> Self {
        Self::with(world, "nobody").await
    }

    async fn with(world: &World, token: &str) -> Self {
        let request = bearer(ask(Method::GET, PATH, Body::empty()), token);
        let response = world.studio.clone().oneshot(request).await.expect("infallible");
        assert_eq!(response.status(), StatusCode::OK);
        for (name, value) in
            [("content-type", "text/event-stream"), ("cache-control", "no-cache"), ("x-accel-buffering", "no")]
        {
            assert_eq!(response.headers()[name], value);
        }
        Self(response.into_body())
    }

    /// The next piece as it is sent; `None` when the stream has ended.
    async fn piece(&mut self) -> Option<String> {
        let bytes = self.0.frame().await?.expect("infallible").into_data().expect("data");
        Some(String::from_utf8(bytes.to_vec()).expect("UTF-8"))
    }

    /// The next event: its name and its data.
    async fn event(&mut self) -> (String, Value) {
        let piece = self.piece().await.expect("an event");
        let frame = piece.strip_prefix("event: ").and_then(|frame| frame.strip_suffix("\n\n")).expect("one frame");
        let (name, data) = frame.split_once("\ndata: ").expect("data");
        (name.to_owned(), serde_json::from_str(data).expect("JSON"))
    }
}

#[tokio::test]
async fn what_happens_is_told_after_what_is() {
    let world = World::new();
    let mut reader = Reader::new(&world).await;
    assert_eq!(reader.event().await, ("registry".to_owned(), json!({"generation": 1})));
    world.operator.change("echo", |line| line.gone = true);
    world.operator.publish();
    let (name, published) = reader.event().await;
    assert_eq!(name, "published");
    assert_eq!((&published["type"], &published["generation"]), (&json!("published"), &json!(2)));
    assert_eq!((&published["trigger"], &published["took_ms"]), (&json!("request"), &json!(1)));
    assert_eq!(published["changes"].as_array().expect("changes").len(), 1);
    assert_eq!(
        (&published["changes"][0]["agent"], &published["changes"][0]["kind"]),
        (&json!("echo"), &json!("removed"))
    );
    world.operator.tell_problems(vec![Problem::error("syntax", "agents/x.toml", "no TOML\nat all")]);
    let (name, problems) = reader.event().await;
    assert_eq!(name, "problems");
    assert_eq!(problems["problems"][0]["message"], "no TOML\nat all");
}

/// Who looks between two publishes sees the first in `registry` and is told the second.
#[tokio::test]
async fn nothing_falls_between_looking_and_listening() {
    let world = World::new();
    world.operator.publish();
    let mut reader = Reader::new(&world).await;
    world.operator.publish();
    assert_eq!(reader.event().await.1["generation"], 2);
    assert_eq!(reader.event().await.1["generation"], 3);
}

#[tokio::test]
async fn a_slow_reader_is_told_how_much_it_lost() {
    let world = World::new();
    let mut reader = Reader::new(&world).await;
    reader.event().await;
    for _ in 0..KEPT + 3 {
        world.operator.publish();
    }
    assert_eq!(reader.event().await, ("lost".to_owned(), json!({"count": 3})));
    for generation in 5..=8 {
        let (name, event) = reader.event().await;
        assert_eq!((name.as_str(), &event["generation"]), ("published", &json!(generation)));
    }
}

#[tokio::test(start_paused = true)]
async fn silence_is_filled_with_comments() {
    let world = World::new();
    let mut reader = Reader::new(&world).await;
    reader.event().await;
    for _ in 0..2 {
        let begin = tokio::time::Instant::now();
        assert_eq!(reader.piece().await.as_deref(), Some(": keep-alive\n\n"));
        assert_eq!(begin.elapsed(), Duration::from_secs(15));
    }
}

#[tokio::test]
async fn the_stream_ends_when_the_runtime_stops_and_leaves_nothing_behind() {
    let world = World::new();
    let mut reader = Reader::new(&world).await;
    let left = Reader::new(&world).await;
    assert_eq!(world.operator.readers(), 2);
    drop(left);
    assert_eq!(world.operator.readers(), 1);
    reader.event().await;
    world.app.services.draining.cancel();
    assert_eq!(reader.piece().await, None);
    assert_eq!(world.operator.readers(), 0);
}

fn admins(world: &World, tokens: &[&str]) {
    let grants = tokens.iter().map(|token| grant(token, &[Scope::Admin])).collect();
    world.configure(|config| config.auth = Auth::Tokens(grants));
}

#[tokio::test]
async fn a_withdrawn_token_hears_nothing_more() {
    let world = World::new();
    admins(&world, &["old", "new"]);
    let (mut old, mut new) = (Reader::with(&world, "old").await, Reader::with(&world, "new").await);
    old.event().await;
    new.event().await;
    admins(&world, &["new"]);
    world.operator.publish();
    assert_eq!(old.piece().await, None);
    assert_eq!(new.event().await.0, "published");
}

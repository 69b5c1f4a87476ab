//! `GET /admin/events`: what happens to the registry, as it happens.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, stream};
use http::HeaderMap;
use roster_engine::registry::AdminEvent;
use serde::Serialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until};

use super::{ADMIN, control};
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::identity::identify;
use crate::http::sse::{Frames, KEEP_ALIVE, respond};

/// The first frame: what is served at the moment the stream begins.
#[derive(Serialize)]
struct Now {
    generation: u64,
}

/// So many events went by unread: ask for the registry.
#[derive(Serialize)]
struct Lost {
    count: u64,
}

/// One reader.
struct Reader {
    app: Arc<App>,
    /// Those of the request: who may not read any more is told nothing more.
    headers: HeaderMap,
    events: Receiver<AdminEvent>,
    /// The first frame, until it is sent.
    first: Option<Bytes>,
}

/// Begins with `registry`, goes on with `published`, `problems` and `lost`, ends when the runtime stops.
pub(super) async fn events(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, ApiError> {
    // Listen first, look then: nothing falls between.
    let events = control::control(&app)?.events();
    let generation = app.registry.snapshot().generation;
    let first = Some(framed(|frames| frames.event("registry", &Now { generation })));
    let reader = Reader { app, headers, events, first };
    Ok(respond(Body::from_stream(frames(reader))))
}

fn frames(reader: Reader) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(reader, |mut reader| async move { reader.next().await.map(|bytes| (Ok(bytes), reader)) })
}

fn framed(write: impl FnOnce(&mut Frames)) -> Bytes {
    let mut frames = Frames::default();
    write(&mut frames);
    frames.into_bytes()
}

impl Reader {
    /// The next frame; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let draining = self.app.services.draining.clone();
        let bytes = tokio::select! {
            biased;
            () = draining.cancelled() => return None,
            received = self.events.recv() => told(received)?,
            () = sleep_until(Instant::now() + KEEP_ALIVE) => framed(Frames::keep_alive),
        };
        self.may_read().then_some(bytes)
    }

    /// Tokens may be withdrawn while the stream is open.
    fn may_read(&self) -> bool {
        identify(&self.app.config.load().auth, ADMIN, &self.headers).is_ok()
    }
}

fn told(received: Result<AdminEvent, RecvError>) -> Option<Bytes> {
    match received {
        Ok(event) => Some(framed(|frames| frames.event(name(&event), &event))),
        Err(RecvError::Lagged(count)) => Some(framed(|frames| frames.event("lost", &Lost { count }))),
        Err(RecvError::Closed) => None,
    }
}

fn name(event: &AdminEvent) -> &'static str {
    match event {
        AdminEvent::Published { .. } => "published",
        AdminEvent::Problems { .. } => "problems",
    }
}

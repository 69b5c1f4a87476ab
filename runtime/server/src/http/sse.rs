//! Server-sent events: a turn's events, encoded as they come, each frame serialised once.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use http_body::Frame;
use roster_engine::turn::{TurnEvent, TurnStream};
use serde::Serialize;
use tokio::time::{Instant, Sleep};

/// A comment goes out after this much silence, so that nobody between takes the connection for dead.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);
const KEEP_ALIVE_COMMENT: &[u8] = b": keep-alive\n\n";
/// Events that are ready together leave in one piece, up to about this many bytes.
const PIECE: usize = 16 * 1024;

/// Collects frames.
#[derive(Default)]
pub(crate) struct Frames(BytesMut);

impl Frames {
    /// `data: <json>` and an empty line. JSON never holds a raw line end.
    pub(crate) fn json(&mut self, frame: &impl Serialize) {
        let begin = self.0.len();
        self.0.put_slice(b"data: ");
        if let Err(error) = serde_json::to_writer((&mut self.0).writer(), frame) {
            tracing::error!(%error, "a frame cannot be written as JSON");
            self.0.truncate(begin);
            return;
        }
        self.0.put_slice(b"\n\n");
    }

    /// `event: <name>` and its data: readers sort such frames by name.
    pub(crate) fn event(&mut self, name: &'static str, frame: &impl Serialize) {
        let begin = self.0.len();
        self.0.put_slice(b"event: ");
        self.0.put_slice(name.as_bytes());
        self.0.put_slice(b"\n");
        let before_data = self.0.len();
        self.json(frame);
        if self.0.len() == before_data {
            self.0.truncate(begin);
        }
    }

    /// A comment: readers pass it over, and everybody between sees that the connection lives.
    pub(crate) fn keep_alive(&mut self) {
        self.0.put_slice(KEEP_ALIVE_COMMENT);
    }

    /// What was collected.
    pub(crate) fn into_bytes(self) -> Bytes {
        self.0.freeze()
    }

    /// `data: [DONE]`.
    pub(crate) fn done_mark(&mut self) {
        self.0.put_slice(b"data: [DONE]\n\n");
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

/// A door's way of telling events.
pub(crate) trait Encode: Send + Unpin + 'static {
    /// Writes an event's frames, for the last event those of the end as well.
    fn event(&mut self, event: TurnEvent, out: &mut Frames);
    /// Writes an honest end for a turn whose last event never came.
    fn broken_off(&mut self, out: &mut Frames);
}

/// The answer's body. Dropping it tells the turn that the client left.
struct TurnBody<E> {
    /// Gone after the last event.
    stream: Option<TurnStream>,
    encoder: E,
    frames: Frames,
    keep_alive: Pin<Box<Sleep>>,
}

/// An event stream of a turn; `first` are events already taken from it.
pub(crate) fn stream<E: Encode>(turn: TurnStream, mut encoder: E, first: Vec<TurnEvent>) -> Response {
    let mut frames = Frames::default();
    let mut ended = false;
    for event in first {
        ended |= is_last(&event);
        encoder.event(event, &mut frames);
    }
    let keep_alive = Box::pin(tokio::time::sleep(KEEP_ALIVE));
    let body = TurnBody { stream: (!ended).then_some(turn), encoder, frames, keep_alive };
    respond(Body::new(body))
}

/// A body of frames as an answer that nobody between keeps or holds back.
pub(crate) fn respond(frames: Body) -> Response {
    let mut response = Response::new(frames);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

fn is_last(event: &TurnEvent) -> bool {
    matches!(event, TurnEvent::Finished { .. } | TurnEvent::Failed(_))
}

impl<E: Encode> TurnBody<E> {
    /// Takes every event that is ready. True when there is something to send or nothing more to come.
    fn take_ready(&mut self, context: &mut Context<'_>) -> bool {
        while let Some(stream) = &mut self.stream {
            if self.frames.0.len() >= PIECE {
                return true;
            }
            match stream.poll_next(context) {
                Poll::Pending => break,
                Poll::Ready(Some(event)) => {
                    let last = is_last(&event);
                    self.encoder.event(event, &mut self.frames);
                    if last {
                        self.stream = None;
                    }
                }
                Poll::Ready(None) => {
                    self.encoder.broken_off(&mut self.frames);
                    self.stream = None;
                }
            }
        }
        !self.frames.0.is_empty() || self.stream.is_none()
    }
}

impl<E: Encode> http_body::Body for TurnBody<E> {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.take_ready(context) {
            if self.frames.0.is_empty() {
                return Poll::Ready(None);
            }
            self.keep_alive.as_mut().reset(Instant::now() + KEEP_ALIVE);
            let bytes = self.frames.0.split().freeze();
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        if self.keep_alive.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        let next = Instant::now() + KEEP_ALIVE;
        self.keep_alive.as_mut().reset(next);
        // Registers the new deadline.
        let _ = self.keep_alive.as_mut().poll(context);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(KEEP_ALIVE_COMMENT)))))
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_none() && self.frames.0.is_empty()
    }
}

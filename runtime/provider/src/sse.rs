//! Events of an answer's body, read through the `sse-stream` library.
//!
//! The library decodes fields, line ends and cut characters. What it leaves to its user is added here: an event whose
//! last blank line is missing still counts, a silent connection times out, and an event may not grow without end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{BoxStream, unfold};
use futures_util::{Stream, StreamExt};
use roster_model::provider::{ProviderError, ProviderErrorKind};
use sse_stream::{Error as SseError, SseByteStream};

use crate::client::innermost;

/// Most bytes read without one whole event, and of an answer that is no stream.
pub(crate) const MAX_BYTES: usize = 16 * 1024 * 1024;

/// An event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its type, where it has one.
    pub(crate) name: Option<String>,
    /// Its data, lines joined; empty when there is none.
    pub(crate) data: String,
}

/// Why no more bytes come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyError {
    /// The connection broke.
    #[error("the connection broke before the end of the answer")]
    Broken,
    /// Nothing came for too long.
    #[error("nothing came for {} s", .0.as_secs_f64())]
    Idle(Duration),
    /// Too much without an end.
    #[error("an event of the answer is larger than {MAX_BYTES} bytes")]
    TooLarge,
}

impl From<BodyError> for ProviderError {
    fn from(error: BodyError) -> Self {
        let kind = match error {
            BodyError::Broken => ProviderErrorKind::Truncated,
            BodyError::Idle(_) => ProviderErrorKind::Timeout,
            BodyError::TooLarge => ProviderErrorKind::Protocol,
        };
        Self::new(kind, error.to_string())
    }
}

/// The bytes of a body, piece by piece.
pub(crate) type Chunks = BoxStream<'static, Result<Bytes, BodyError>>;

/// Watches the silence between pieces.
pub(crate) fn within_idle<S, E>(body: S, idle: Duration) -> Chunks
where
    S: Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
    E: std::error::Error + Send,
{
    unfold(Some(body), move |body| async move {
        let mut body = body?;
        match tokio::time::timeout(idle, body.next()).await {
            Ok(Some(Ok(bytes))) => Some((Ok(bytes), Some(body))),
            Ok(Some(Err(error))) => {
                tracing::debug!(reason = innermost(&error), "the body of an answer broke off");
                Some((Err(BodyError::Broken), None))
            }
            Ok(None) => None,
            Err(_) => Some((Err(BodyError::Idle(idle)), None)),
        }
    })
    .fuse()
    .boxed()
}

/// Reads events from the bytes of a body.
pub(crate) struct Events {
    events: SseByteStream<Chunks>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    bytes_since_event: AtomicUsize,
}

impl Events {
    pub(crate) fn new(body: Chunks) -> Self {
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let counted = body.map(move |chunk| {
            let chunk = chunk?;
            let before = seen.bytes_since_event.fetch_add(chunk.len(), Ordering::Relaxed);
            if before + chunk.len() > MAX_BYTES { Err(BodyError::TooLarge) } else { Ok(chunk) }
        });
        let seen = Arc::clone(&shared);
        let end = futures_util::stream::once(async move {
            seen.ended.store(true, Ordering::Relaxed);
            // Ends the event that the body left open, if there is one.
            Ok(Bytes::from_static(b"\n\n"))
        });
        Self { events: SseByteStream::new(counted.chain(end).boxed()), shared }
    }

    /// The next event; `None` at the body's end.
    pub(crate) async fn next(&mut self) -> Option<Result<Event, ProviderError>> {
        let event = self.events.next().await?;
        self.shared.bytes_since_event.store(0, Ordering::Relaxed);
        Some(match event {
            Ok(event) => Ok(Event { name: event.event, data: event.data.unwrap_or_default() }),
            Err(SseError::Body(error)) => match error.downcast_ref::<BodyError>() {
                Some(error) => Err((*error).into()),
                None => Err(BodyError::Broken.into()),
            },
            Err(error) => Err(ProviderError::new(
                ProviderErrorKind::Protocol,
                format!("the answer is no readable stream of events: {error}"),
            )),
        })
    }

    /// True once the body has come to a clean end; an event read then may be a cut one.
    pub(crate) fn at_end(&self) -> bool {
        self.shared.ended.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;

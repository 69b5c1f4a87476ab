//! An answer being read.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, Stream, StreamExt};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use roster_model::provider::{Delta, ProviderError, ProviderErrorKind};
use tokio::time::{Instant, timeout_at};

use super::wire::{Deltas, Reader};
use crate::sse::{BodyError, Chunks, Event, Events, MAX_BYTES, within_idle};

/// After the model said why it stopped, tokens may still be told; the wait for them is short.
const GRACE: Duration = Duration::from_secs(5);

/// An answer whose head is there.
pub(super) struct Answer {
    body: Body,
    reader: Box<dyn Reader>,
    deltas: Deltas,
    /// When the whole call must be over.
    deadline: Option<Instant>,
    /// When to stop waiting for tokens, once the model has stopped.
    grace: Option<Instant>,
    ended: bool,
}

enum Body {
    Events(Events),
    Whole(Chunks),
}

/// What the first bytes of a body look like.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    Events,
    Json,
    Html,
}

impl Answer {
    /// Looks at the head, and where that does not tell, at the first bytes.
    pub(super) async fn open(
        response: Response,
        reader: Box<dyn Reader>,
        idle: Duration,
        deadline: Option<Instant>,
    ) -> Result<Self, ProviderError> {
        let is_json =
            response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        let mut chunks = within_idle(response.bytes_stream(), idle);
        let body = if is_json {
            Body::Whole(chunks)
        } else {
            // A content type is often missing or wrong; the first byte is not.
            let first = chunks.next().await.transpose()?.unwrap_or_default();
            let look = look(&first);
            let all = futures_util::stream::once(std::future::ready(Ok(first))).chain(chunks).boxed();
            match look {
                Look::Events => Body::Events(Events::new(all)),
                Look::Json => Body::Whole(all),
                Look::Html => return Err(html()),
            }
        };
        Ok(Self { body, reader, deltas: Deltas::new(), deadline, grace: None, ended: false })
    }

    /// Reads until there is something to hand on.
    ///
    /// # Errors
    /// Whatever stands in its way; it may be tried again.
    pub(super) async fn until_first_delta(&mut self) -> Result<(), ProviderError> {
        while self.deltas.is_empty() && !self.ended {
            self.advance().await?;
        }
        Ok(())
    }

    /// The deltas. After an error nothing more comes.
    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Delta, ProviderError>> + Send {
        futures_util::stream::unfold(self, |mut answer| async move {
            let next = answer.next().await?;
            Some((next, answer))
        })
    }

    async fn next(&mut self) -> Option<Result<Delta, ProviderError>> {
        loop {
            if let Some(delta) = self.deltas.pop_front() {
                return Some(Ok(delta));
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.advance().await {
                self.ended = true;
                // What stood in the faulty event itself is not trusted.
                self.deltas.clear();
                return Some(Err(error));
            }
        }
    }

    /// Takes one step; any error carries the tokens told so far.
    async fn advance(&mut self) -> Result<(), ProviderError> {
        let step = match &mut self.body {
            Body::Events(_) => self.read_event().await,
            Body::Whole(_) => self.read_whole().await,
        };
        step.map_err(|error| ProviderError { usage: self.reader.usage(), ..error })
    }

    async fn read_event(&mut self) -> Result<(), ProviderError> {
        let Body::Events(events) = &mut self.body else { return Ok(()) };
        let limit = [self.deadline, self.grace].into_iter().flatten().min();
        let next = match limit {
            None => Ok(events.next().await),
            Some(limit) => timeout_at(limit, events.next()).await,
        };
        match next {
            Ok(Some(Ok(event))) => {
                let at_end = events.at_end();
                self.take(&event, at_end)
            }
            // Once the model has stopped, a broken connection takes nothing from its answer.
            Ok(None) => self.finish(),
            Ok(Some(Err(_))) | Err(_) if self.reader.is_complete() => self.finish(),
            Ok(Some(Err(error))) => Err(error),
            Err(_) => Err(out_of_time()),
        }
    }

    fn take(&mut self, event: &Event, at_end: bool) -> Result<(), ProviderError> {
        match self.reader.event(event, &mut self.deltas) {
            Err(error) if at_end && error.kind == ProviderErrorKind::Protocol => {
                return if self.reader.is_complete() { self.finish() } else { Err(broken_off()) };
            }
            result => result?,
        }
        if self.reader.is_done() {
            self.look_for_end();
            return self.finish();
        }
        // Some servers say with every piece why they will have stopped: what goes on speaking has more time.
        if self.reader.is_complete() && (self.grace.is_none() || !self.deltas.is_empty()) {
            self.grace = Some(Instant::now() + GRACE);
        }
        Ok(())
    }

    /// Takes the body's end if it is there already, so that the connection can be used again.
    fn look_for_end(&mut self) {
        if let Body::Events(events) = &mut self.body {
            drop(events.next().now_or_never());
        }
    }

    async fn read_whole(&mut self) -> Result<(), ProviderError> {
        let Body::Whole(chunks) = &mut self.body else { return Ok(()) };
        let body = match self.deadline {
            None => collect(chunks).await?,
            Some(deadline) => timeout_at(deadline, collect(chunks)).await.map_err(|_| out_of_time())??,
        };
        if is_html(&body) {
            return Err(html());
        }
        self.reader.whole(&body, &mut self.deltas)?;
        self.finish()
    }

    fn finish(&mut self) -> Result<(), ProviderError> {
        self.reader.end(&mut self.deltas)?;
        self.ended = true;
        Ok(())
    }
}

/// The whole body.
///
/// # Errors
/// When it breaks off, pauses too long or is too large.
pub(crate) async fn collect(chunks: &mut Chunks) -> Result<Bytes, BodyError> {
    let mut body = BytesMut::new();
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk?);
        if body.len() > MAX_BYTES {
            return Err(BodyError::TooLarge);
        }
    }
    Ok(body.freeze())
}

fn look(first: &[u8]) -> Look {
    let first = first.strip_prefix("\u{feff}".as_bytes()).unwrap_or(first);
    match first.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => Look::Json,
        Some(b'<') => Look::Html,
        _ => Look::Events,
    }
}

/// Whether a body is a page for people.
pub(crate) fn is_html(body: &[u8]) -> bool {
    matches!(look(body), Look::Html)
}

/// A page where an answer should be: nothing speaks the dialect at this address, and the next attempt would find the
/// same. `NotFound`, so that there is none.
pub(crate) fn html() -> ProviderError {
    ProviderError::new(ProviderErrorKind::NotFound, "it answered with a web page; is `base_url` right?")
}

fn broken_off() -> ProviderError {
    ProviderError::new(ProviderErrorKind::Truncated, "the answer broke off before its end")
}

fn out_of_time() -> ProviderError {
    ProviderError::new(ProviderErrorKind::Timeout, "the answer was not complete within the call's `timeout`")
}

/// The deltas of a response as it stands; for tests of dialects.
#[cfg(test)]
pub(crate) async fn answer_of(
    response: Response,
    reader: Box<dyn Reader>,
    idle: Duration,
) -> Result<impl Stream<Item = Result<Delta, ProviderError>> + Send, ProviderError> {
    Ok(Answer::open(response, reader, idle, None).await?.into_stream())
}

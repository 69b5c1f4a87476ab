//! A connection whose peer takes nothing ends: a client that asks and never reads would hold its answer's memory, and
//! its place, for as long as it likes.

use std::future::Future;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A stream whose writes fail when not a byte was taken for `limit`. Silence with nothing to write is no stall.
pub(super) struct Unstalled<S> {
    stream: S,
    limit: Duration,
    timer: Pin<Box<Sleep>>,
    /// True while a write waits for the peer.
    waiting: bool,
}

impl<S> Unstalled<S> {
    pub(super) fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, timer: Box::pin(tokio::time::sleep(limit)), waiting: false }
    }

    /// Passes on what a write came to; one that has waited too long has failed.
    fn watched<T>(&mut self, written: Poll<Result<T>>, context: &mut Context<'_>) -> Poll<Result<T>> {
        if written.is_ready() {
            self.waiting = false;
            return written;
        }
        if !self.waiting {
            self.waiting = true;
            self.timer.as_mut().reset(Instant::now() + self.limit);
        }
        match self.timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the peer takes nothing"))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Unstalled<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Unstalled<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watched(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.watched(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watched(shut, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watched(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_ends_the_write() {
        let (ours, _theirs) = tokio::io::duplex(4);
        let began = Instant::now();
        let error = Unstalled::new(ours, LIMIT).write_all(b"hello, world").await.expect_err("stalled");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), LIMIT.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_peer_and_a_long_silence_are_no_stall() {
        let (ours, mut theirs) = tokio::io::duplex(4);
        let mut ours = Unstalled::new(ours, LIMIT);
        tokio::time::sleep(LIMIT * 10).await;
        let reading = async {
            let mut all = Vec::new();
            for _ in 0..6 {
                tokio::time::sleep(LIMIT / 2).await;
                let mut piece = [0; 2];
                theirs.read_exact(&mut piece).await.expect("a piece");
                all.extend(piece);
            }
            all
        };
        let (written, read) = tokio::join!(ours.write_all(b"hello, world"), reading);
        written.expect("taken bit by bit");
        assert_eq!(read, b"hello, world");
    }
}

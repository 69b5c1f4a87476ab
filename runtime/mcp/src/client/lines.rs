//! The lines that a child writes, looked at on their way to the transport: it drops one that is too long, and tells nobody.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use super::server::Server;

/// The longest message read, in bytes with its line end. More is dropped by the transport.
pub(super) const LONGEST_LINE: usize = 8 * 1024 * 1024;

/// A reader that tells the server's calls of a line that is too long, once a line.
pub(super) struct Lines<R> {
    inner: R,
    server: Arc<Server>,
    /// Of the line under way.
    length: usize,
}

impl<R> Lines<R> {
    pub(super) fn new(inner: R, server: Arc<Server>) -> Self {
        Self { inner, server, length: 0 }
    }

    fn seen(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let before = self.length;
            self.length = before.saturating_add(piece.len());
            if before <= LONGEST_LINE && self.length > LONGEST_LINE {
                self.server.oversized.send_modify(|count| *count += 1);
            }
            if piece.ends_with(b"\n") {
                self.length = 0;
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        this.seen(buffer.filled().get(before..).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

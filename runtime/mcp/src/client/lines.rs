//! The lines that a child writes, looked at on their way to the transport: it drops one that is too long or that is a
//! broken message, and tells nobody.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use super::server::Server;

/// The longest message read, in bytes with its line end. More is dropped by the transport.
pub(super) const LONGEST_LINE: usize = 8 * 1024 * 1024;

/// Why a message was not read; it follows the name of the server.
pub(super) const TOO_LONG: &str = "sent a message larger than 8 MiB, which is not read";
const BROKEN: &str = "sent a message that is no JSON";

/// A reader that tells the server's calls of a line that cannot be read, once a line.
pub(super) struct Lines<R> {
    inner: R,
    server: Arc<Server>,
    /// Of the line under way.
    length: usize,
    /// The line under way, as long as it may be a message.
    line: Vec<u8>,
}

impl<R> Lines<R> {
    pub(super) fn new(inner: R, server: Arc<Server>) -> Self {
        Self { inner, server, length: 0, line: Vec::new() }
    }

    fn seen(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let before = self.length;
            self.length = before.saturating_add(piece.len());
            if before <= LONGEST_LINE && self.length > LONGEST_LINE {
                self.line = Vec::new();
                self.server.unread.send_replace(TOO_LONG);
            }
            // Whatever else a program writes is passed over.
            if self.length <= LONGEST_LINE && (before == 0 && piece.starts_with(b"{") || !self.line.is_empty()) {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                self.length = 0;
                if is_broken(&self.line) {
                    self.server.unread.send_replace(BROKEN);
                }
                // Room for the usual line is kept, that of a large one is given back.
                self.line.clear();
                self.line.shrink_to(MOST_KEPT);
            }
        }
    }
}

/// Bytes of room that are kept from line to line.
const MOST_KEPT: usize = 64 * 1024;
/// So far in a message's beginning its mark is looked for.
const BEGINNING: usize = 256;

/// Meant as a message of the protocol, and none: nobody can tell whose answer it was.
fn is_broken(line: &[u8]) -> bool {
    const MARK: &[u8] = b"\"jsonrpc\"";
    let beginning = &line[..line.len().min(BEGINNING)];
    beginning.windows(MARK.len()).any(|window| window == MARK)
        // Passing over a text would not look at its letters.
        && serde_json::from_slice::<serde_json::Value>(line).is_err()
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

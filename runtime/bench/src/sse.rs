//! Reading server-sent events, as far as the doors measured here write them.

/// Puts the `data` of events together from pieces cut anywhere. Keeps its buffers from event to event.
#[derive(Debug, Default)]
pub struct SseReader {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
}

impl SseReader {
    /// Takes the next piece and hands each event it completes to `event`, in order.
    ///
    /// # Errors
    /// The first failure of `event`; what follows in the piece is then not read.
    pub fn push<E>(&mut self, mut piece: &[u8], mut event: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&piece[..end]);
            piece = &piece[end + 1..];
            self.finish_line(&mut event)?;
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }

    /// Whether an event was begun that has not ended.
    #[must_use]
    pub fn is_in_event(&self) -> bool {
        self.has_data || !self.line.is_empty()
    }

    fn finish_line<E>(&mut self, event: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        if let Some(data) = line.strip_prefix(b"data:") {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            self.has_data = true;
        }
        let ends = line.is_empty() && self.has_data;
        self.line.clear();
        if !ends {
            return Ok(());
        }
        let done = event(&self.data);
        self.data.clear();
        self.has_data = false;
        done
    }
}

#[cfg(test)]
mod tests;

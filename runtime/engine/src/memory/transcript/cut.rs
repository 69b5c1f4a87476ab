//! Results of tools above the cap: stored whole, fed to a model as their beginning and end.

use std::borrow::Cow;
use std::io::Write;

use roster_model::message::{Part, ToolResult};
use serde_json::Value;

/// How many bytes of one tool's result a model is fed, the note about the rest included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultCap {
    most: usize,
    stored: bool,
}

/// What the note may take at most.
const NOTE: usize = 256;

/// A result as a model is fed it.
#[derive(Debug, Clone, PartialEq)]
pub struct FedResult<'a> {
    /// Its text: the words, or the JSON of what is no text.
    pub text: Cow<'a, str>,
    /// The bytes of the whole, where `text` is not the whole.
    pub cut_from: Option<usize>,
}

impl ResultCap {
    /// The least that can be asked for: the note has to fit.
    pub const LEAST: usize = 1000;
    /// What is fed where nothing else is asked for.
    pub const DEFAULT: usize = 64 * 1024;

    /// A cap of so many bytes; `stored`: the whole is kept, and the model may be told so.
    #[must_use]
    pub fn new(most: usize, stored: bool) -> Self {
        Self { most: most.max(Self::LEAST), stored }
    }

    /// The bytes.
    #[must_use]
    pub fn most(self) -> usize {
        self.most
    }

    /// How a model is fed this output. What is fed is never longer than the cap, so what was cut is not cut again. Takes
    /// memory for the cap alone, however large the output is.
    #[must_use]
    pub fn fed(self, output: &Value) -> FedResult<'_> {
        let (head, tail) = self.room();
        match output {
            Value::String(text) if text.len() <= self.most => FedResult { text: text.into(), cut_from: None },
            Value::String(text) => {
                let bytes = text.as_bytes();
                self.joined(&bytes[..head], &bytes[bytes.len() - tail..], bytes.len())
            }
            other => {
                let mut ends = Ends { most: self.most, tail_most: tail, ..Ends::default() };
                // Neither a value nor memory can refuse to be written.
                let _ = serde_json::to_writer(&mut ends, other);
                if ends.bytes <= self.most {
                    let text = String::from_utf8_lossy(&ends.head).into_owned();
                    return FedResult { text: text.into(), cut_from: None };
                }
                self.joined(&ends.head[..head], &ends.last(), ends.bytes)
            }
        }
    }

    /// The result with its output as it is fed.
    #[must_use]
    pub fn result(self, result: &ToolResult) -> ToolResult {
        let fed = self.fed(&result.output);
        let output = match fed.cut_from {
            Some(_) => Value::String(fed.text.into_owned()),
            None => result.output.clone(),
        };
        let (call_id, name) = (result.call_id.clone(), result.name.clone());
        ToolResult { call_id, name, output, is_error: result.is_error, duration_ms: result.duration_ms }
    }

    /// Cuts the results among these parts in place: what is not fed is not held in memory.
    pub fn cut(self, parts: &mut [Part]) {
        for part in parts {
            if let Part::ToolResult(result) = part {
                let fed = self.fed(&result.output);
                if fed.cut_from.is_some() {
                    result.output = Value::String(fed.text.into_owned());
                }
            }
        }
    }

    /// Bytes of the beginning, and of the smaller end.
    fn room(self) -> (usize, usize) {
        let room = self.most - NOTE;
        (room - room / 4, room / 4)
    }

    fn joined<'a>(self, head: &[u8], tail: &[u8], bytes: usize) -> FedResult<'a> {
        let (head, tail) = (whole_head(head), whole_tail(tail));
        let shown = head.len() + tail.len();
        let kept = if self.stored { " The whole is stored." } else { "" };
        let text = format!(
            "{head}\n\n[This result is too long to be shown whole: {shown} of {bytes} bytes, its beginning above and its \
             end below.{kept} Ask for less at once to see more of it.]\n\n{tail}"
        );
        FedResult { text: text.into(), cut_from: Some(bytes) }
    }
}

impl Default for ResultCap {
    fn default() -> Self {
        Self::new(Self::DEFAULT, true)
    }
}

/// Up to the last whole character.
fn whole_head(bytes: &[u8]) -> Cow<'_, str> {
    let whole = std::str::from_utf8(bytes).map_or_else(|fault| fault.valid_up_to(), str::len);
    String::from_utf8_lossy(&bytes[..whole])
}

/// From the first whole character on.
fn whole_tail(bytes: &[u8]) -> Cow<'_, str> {
    let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    String::from_utf8_lossy(&bytes[bytes.iter().take_while(is_inside).count()..])
}

/// The beginning and the end of what is written, and how much it is.
#[derive(Default)]
struct Ends {
    most: usize,
    tail_most: usize,
    head: Vec<u8>,
    /// The newest bytes after the head, at most twice as many as are wanted.
    tail: Vec<u8>,
    bytes: usize,
}

impl Ends {
    /// The last bytes that are wanted.
    fn last(&self) -> Vec<u8> {
        let of_tail = &self.tail[self.tail.len().saturating_sub(self.tail_most)..];
        let missing = self.tail_most - of_tail.len();
        [&self.head[self.head.len() - missing..], of_tail].concat()
    }
}

impl Write for Ends {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes += bytes.len();
        let (head, rest) = bytes.split_at(bytes.len().min(self.most - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(&rest[rest.len().saturating_sub(self.tail_most)..]);
        if self.tail.len() > 2 * self.tail_most {
            self.tail.drain(..self.tail.len() - self.tail_most);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Keeps the tool calls of one answer apart.
//!
//! Servers number parallel calls 0, 0, 0, or not at all; some give no id, some give it in every piece, some repeat the
//! name. A piece therefore finds its call by what it has: the id, else the number, else the newest call. It begins a
//! new call when nothing fits, when it names another function, or when it names a function and brings more text though
//! the call's arguments are already a whole JSON text.

mod places;
#[cfg(test)]
mod tests;

use roster_model::provider::{Delta, ProviderError, ProviderErrorKind};

use crate::call::{Deltas, MAX_CALLS, too_many_calls};

use places::Places;

/// A piece of a call, brought to one form.
#[derive(Debug, Default)]
pub(super) struct Piece {
    /// The number on the wire, if there is one.
    pub(super) number: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: String,
}

/// The calls so far; a call's place is the index handed on.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    places: Places,
}

#[derive(Debug, Default)]
struct Call {
    number: Option<u64>,
    id: Option<String>,
    /// Not yet told; until then the call is not handed on and its arguments wait.
    name: Option<String>,
    waiting: String,
    json: JsonEnd,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes a piece of a stream.
    ///
    /// # Errors
    /// `Protocol` when there are too many calls.
    pub(super) fn take(&mut self, piece: Piece, deltas: &mut Deltas) -> Result<(), ProviderError> {
        let index = self.find(&piece).unwrap_or(self.calls.len());
        self.put(index, piece, deltas)
    }

    /// Takes a whole call.
    ///
    /// # Errors
    /// `Protocol` when there are too many calls.
    pub(super) fn take_whole(&mut self, piece: Piece, deltas: &mut Deltas) -> Result<(), ProviderError> {
        self.put(self.calls.len(), piece, deltas)
    }

    /// # Errors
    /// `Protocol` when a call never got a name.
    pub(super) fn check(&self) -> Result<(), ProviderError> {
        if self.calls.iter().all(|call| call.name.is_some()) {
            return Ok(());
        }
        Err(ProviderError::new(ProviderErrorKind::Protocol, "the answer holds a tool call without a name"))
    }

    /// The call this piece goes on with.
    fn find(&self, piece: &Piece) -> Option<usize> {
        let index = self.places.of(piece)?;
        let call = &self.calls[index];
        let begins_another = match (&piece.name, &call.name) {
            (Some(new), Some(old)) => new != old || (call.json.is_whole() && !piece.arguments.trim().is_empty()),
            _ => false,
        };
        (!begins_another).then_some(index)
    }

    fn put(&mut self, index: usize, piece: Piece, deltas: &mut Deltas) -> Result<(), ProviderError> {
        if index == self.calls.len() {
            self.begin(&piece)?;
        }
        let call = &mut self.calls[index];
        if let (None, Some(id)) = (&call.id, piece.id) {
            self.places.name(index, call.number, &id);
            call.id = Some(id);
        }
        call.json.read(&piece.arguments);
        call.waiting.push_str(&piece.arguments);
        if let (None, Some(name)) = (&call.name, piece.name) {
            call.name = Some(name.clone());
            deltas.push_back(Delta::ToolCall { index, id: call.id.clone(), name });
        }
        if call.name.is_some() && !call.waiting.is_empty() {
            deltas.push_back(Delta::ToolArguments { index, fragment: std::mem::take(&mut call.waiting) });
        }
        Ok(())
    }

    fn begin(&mut self, piece: &Piece) -> Result<(), ProviderError> {
        if self.calls.len() == MAX_CALLS {
            return Err(too_many_calls());
        }
        self.places.begin(piece.number, piece.id.as_deref());
        self.calls.push(Call { number: piece.number, id: piece.id.clone(), ..Call::default() });
        Ok(())
    }
}

/// Follows JSON text piece by piece, just closely enough to know when its outermost braces have closed.
#[derive(Debug, Default)]
struct JsonEnd {
    depth: usize,
    in_string: bool,
    escaped: bool,
    closed: bool,
}

impl JsonEnd {
    fn is_whole(&self) -> bool {
        self.closed
    }

    fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            self.step(byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.closed |= self.depth == 0;
            }
            _ => {}
        }
    }
}

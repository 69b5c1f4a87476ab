//! What a dialect brings to a call.

use std::collections::VecDeque;

use reqwest::Url;
use roster_model::provider::{Completion, Delta, ProviderError, Usage};

use crate::sse::Event;

/// Deltas read and not yet handed on.
pub(crate) type Deltas = VecDeque<Delta>;

/// A dialect: how a completion is written, and who reads the answer.
pub(crate) trait Wire: Send + Sync + 'static {
    /// Where this model is asked.
    fn url(&self, base: &Url, model: &str) -> Url;
    /// The body of the request.
    ///
    /// # Errors
    /// `BadRequest` for what the dialect cannot say.
    fn encode(&self, completion: &Completion) -> Result<Vec<u8>, ProviderError>;
    /// A reader for one answer.
    fn reader(&self) -> Box<dyn Reader>;
}

/// Reads one answer, as a stream or whole.
pub(crate) trait Reader: Send {
    /// Reads an event of a stream.
    ///
    /// # Errors
    /// What the provider reports in the stream, or `Protocol` for what cannot be read.
    fn event(&mut self, event: &Event, deltas: &mut Deltas) -> Result<(), ProviderError>;
    /// Reads an answer that came as one body.
    ///
    /// # Errors
    /// As for events.
    fn whole(&mut self, body: &[u8], deltas: &mut Deltas) -> Result<(), ProviderError>;
    /// Called once when nothing more comes and no error was met: puts `Delta::End`.
    ///
    /// # Errors
    /// `Truncated` when the answer is not complete, `Empty` when nothing is in it.
    fn end(&mut self, deltas: &mut Deltas) -> Result<(), ProviderError>;
    /// True once the model has said why it stopped: from here on nothing that is lost matters.
    fn is_complete(&self) -> bool;
    /// True once the stream's own end mark was read.
    fn is_done(&self) -> bool;
    /// The tokens told so far.
    fn usage(&self) -> Usage;
}

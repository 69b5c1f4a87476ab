//! Anthropic's messages.
//!
//! [`request`] writes the body, [`thinking`] decides how a model is asked to think, [`stream`] reads the answer block by
//! block, [`wire`] says how answers look. Signed and redacted thinking is stored and sent back in its place.

mod request;
mod stream;
#[cfg(test)]
mod tests;
mod thinking;
mod wire;

use reqwest::Url;
use roster_model::provider::{Completion, ProviderError};

use crate::call::{Reader, Wire};
use crate::endpoint::below;

/// The name under which thinking is stored.
const NAME: &str = "anthropic";

/// The dialect.
pub(crate) struct Anthropic {
    stream: bool,
}

impl Anthropic {
    /// Asks for streams, or for whole answers.
    pub(crate) fn new(stream: bool) -> Self {
        Self { stream }
    }
}

impl Wire for Anthropic {
    fn url(&self, base: &Url, _model: &str) -> Url {
        below(base, "/messages")
    }

    fn encode(&self, completion: &Completion) -> Result<Vec<u8>, ProviderError> {
        request::encode(completion, self.stream)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(stream::MessageReader::default())
    }
}

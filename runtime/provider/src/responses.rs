//! OpenAI's responses.
//!
//! [`request`] writes the body, [`stream`] reads the answer item by item, [`wire`] says how answers look. Nothing is kept
//! at the provider (`store` is false): reasoning comes encrypted, is stored here and sent back in its place.

mod request;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

use reqwest::Url;
use roster_model::provider::{Completion, ProviderError};

use crate::call::{Reader, Wire};
use crate::endpoint::below;

/// The name under which reasoning is stored.
const NAME: &str = "openai-responses";

/// The dialect.
pub(crate) struct Responses {
    stream: bool,
}

impl Responses {
    /// Asks for streams, or for whole answers.
    pub(crate) fn new(stream: bool) -> Self {
        Self { stream }
    }
}

impl Wire for Responses {
    fn url(&self, base: &Url, _model: &str) -> Url {
        below(base, "/responses")
    }

    fn encode(&self, completion: &Completion) -> Result<Vec<u8>, ProviderError> {
        request::encode(completion, self.stream)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(stream::ResponseReader::default())
    }
}

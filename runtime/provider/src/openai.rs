//! Chat completions, the dialect most servers speak.
//!
//! [`request`] writes the body from typed structs, [`stream`] reads the answer, [`calls`] keeps parallel tool calls
//! apart, [`wire`] says how answers look, leniently: servers leave out, null and misplace nearly everything.

mod calls;
mod request;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

use reqwest::Url;
use roster_model::provider::{Completion, ProviderError};

use crate::call::{Reader, Wire};
use crate::endpoint::below;

/// The dialect.
pub(crate) struct OpenAi {
    stream: bool,
}

impl OpenAi {
    /// Asks for streams, or for whole answers.
    pub(crate) fn new(stream: bool) -> Self {
        Self { stream }
    }
}

impl Wire for OpenAi {
    fn url(&self, base: &Url, _model: &str) -> Url {
        below(base, "/chat/completions")
    }

    fn encode(&self, completion: &Completion) -> Result<Vec<u8>, ProviderError> {
        request::encode(completion, self.stream)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(stream::ChatReader::default())
    }
}

//! Gemini's contents.
//!
//! The model stands in the address. [`request`] writes the body, [`stream`] reads the answer, [`wire`] says how answers
//! look. A stream has no end mark: it ends with its body, after a finish reason. Thought signatures hang on calls and
//! texts; they are stored and sent back on the same ones.

mod request;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

use reqwest::Url;
use roster_model::provider::{Completion, ProviderError};

use crate::call::{Reader, Wire};
use crate::endpoint::below;

/// The name under which signatures are stored.
const NAME: &str = "gemini";

/// The dialect.
pub(crate) struct Gemini {
    stream: bool,
}

impl Gemini {
    /// Asks for streams, or for whole answers.
    pub(crate) fn new(stream: bool) -> Self {
        Self { stream }
    }
}

impl Wire for Gemini {
    fn url(&self, base: &Url, model: &str) -> Url {
        // `models/x` and `tunedModels/x` are whole names, `x` is one of the provider's models.
        let folder = if model.contains('/') { "" } else { "models/" };
        let method = if self.stream { "streamGenerateContent" } else { "generateContent" };
        let mut url = below(base, &format!("/{folder}{model}:{method}"));
        if self.stream {
            url.query_pairs_mut().append_pair("alt", "sse");
        }
        url
    }

    fn encode(&self, completion: &Completion) -> Result<Vec<u8>, ProviderError> {
        request::encode(completion)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(stream::ContentReader::default())
    }
}

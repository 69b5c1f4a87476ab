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

use roster_model::provider::{Completion, ProviderError};

use crate::call::{Reader, Wire};

/// The dialect.
pub(crate) struct OpenAi {
    stream: bool,
}

impl OpenAi {
    /// What stands after the base address.
    pub(crate) const PATH: &'static str = "/chat/completions";

    /// Asks for streams, or for whole answers.
    pub(crate) fn new(stream: bool) -> Self {
        Self { stream }
    }
}

impl Wire for OpenAi {
    fn encode(&self, completion: &Completion) -> Result<Vec<u8>, ProviderError> {
        request::encode(completion, self.stream)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(stream::ChatReader::default())
    }
}
